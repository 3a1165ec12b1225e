"""The truth beside a sample: steps, layers, calls and times, from the program that made it, never from the file."""

from __future__ import annotations

import json
from collections.abc import Iterable
from statistics import median

from sample_traces.make.timeline import GpuOp, Step, Timeline


def truth(timeline: Timeline, case: str, **facts: object) -> dict[str, object]:
    """Every figure a reader of the sample must find; times in ns, warm-up steps in `steps` but not in `kernels`."""
    measured = [step for step in timeline.steps if not step.warm_up]
    phases = list(dict.fromkeys(step.phase for step in measured))
    return {
        "case": case,
        "device": timeline.device.name,
        "layers": timeline.layers,
        "complete": True,
        **facts,
        "gpu_ops": len(timeline.ops),
        "kernels_recorded": sum(op.kind == "kernel" for op in timeline.ops),
        "annotation_cpu_ns": [r.end_ns - r.start_ns for r in timeline.ranges if r.category == "user_annotation"],
        "steps": [_step_row(timeline, step) for step in timeline.steps],
        "medians": [_medians(timeline, phase) for phase in phases],
        "kernels": [row for phase in phases for row in _kernel_rows(timeline, phase)],
    }


def as_text(document: dict[str, object]) -> str:
    """The truth as JSON: one value a line, one table row a line."""
    lines = []
    for key, value in document.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            rows = ",\n".join(f"  {json.dumps(row)}" for row in value)
            lines.append(f" {json.dumps(key)}: [\n{rows}\n ]")
        else:
            lines.append(f" {json.dumps(key)}: {json.dumps(value)}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def busy_ns(ops: Iterable[GpuOp]) -> int:
    """Time during which at least one op runs."""
    total, reach = 0, None
    for op in sorted(ops, key=lambda op: op.start_ns):
        begin = op.start_ns if reach is None else max(op.start_ns, reach)
        total += max(0, op.end_ns - begin)
        reach = op.end_ns if reach is None else max(reach, op.end_ns)
    return total


def exposed_ns(op: GpuOp, others: Iterable[GpuOp]) -> int:
    """The part of an op during which no other op runs."""
    near = [o for o in others if o is not op and o.start_ns < op.end_ns and o.end_ns > op.start_ns]
    clipped = sorted((max(o.start_ns, op.start_ns), min(o.end_ns, op.end_ns)) for o in near)
    left, covered = op.start_ns, 0
    for start, end in clipped:
        covered += max(0, end - max(start, left))
        left = max(left, end)
    return op.end_ns - op.start_ns - covered


def _ops_of(timeline: Timeline, step: Step) -> list[GpuOp]:
    return [op for op in timeline.ops if op.step == step.index]


def _step_row(timeline: Timeline, step: Step) -> dict[str, object]:
    ops = _ops_of(timeline, step)
    start = min(op.start_ns for op in ops)
    following = [op.start_ns for op in timeline.ops if op.step == step.index + 1]
    return {
        "step_index": step.index,
        "phase": step.phase,
        "annotation": step.annotation,
        "warm_up": step.warm_up,
        "gpu_ops": len(ops),
        "kernels": sum(op.kind == "kernel" for op in ops),
        "window_ns": max(op.end_ns for op in ops) - start,
        "busy_ns": busy_ns(ops),
        "interval_ns": min(following) - start if following else None,
    }


def _medians(timeline: Timeline, phase: str) -> dict[str, object]:
    """Median window and interval of the measured steps of a phase; the interval of a step needs a next step."""
    rows = [_step_row(timeline, step) for step in timeline.steps if step.phase == phase and not step.warm_up]
    intervals = [row["interval_ns"] for row in rows if row["interval_ns"] is not None]
    return {
        "phase": phase,
        "steps": len(rows),
        "window_ns": median(row["window_ns"] for row in rows),
        "busy_ns": median(row["busy_ns"] for row in rows),
        "interval_ns": median(intervals) if intervals else None,
    }


def _kernel_rows(timeline: Timeline, phase: str) -> list[dict[str, object]]:
    steps = [step for step in timeline.steps if step.phase == phase and not step.warm_up]
    calls: dict[str, list[tuple[GpuOp, int]]] = {}
    for step in steps:
        ops = _ops_of(timeline, step)
        for op in ops:
            if op.kind == "kernel":
                calls.setdefault(op.name, []).append((op, exposed_ns(op, ops)))
    return [_kernel_row(name, phase, len(steps), found) for name, found in calls.items()]


def _kernel_row(name: str, phase: str, steps: int, found: list[tuple[GpuOp, int]]) -> dict[str, object]:
    durations = [op.end_ns - op.start_ns for op, _ in found]
    per_step = len(found) / steps
    return {
        "name": name,
        "phase": phase,
        "calls": len(found),
        "calls_per_step": int(per_step) if per_step.is_integer() else per_step,
        "layers_hit": len({op.layer for op, _ in found if op.layer is not None}),
        "steps_hit": len({op.step for op, _ in found}),
        "total_ns": sum(durations),
        "median_ns": median(durations),
        "min_ns": min(durations),
        "max_ns": max(durations),
        "exposed_ns": sum(exposed for _, exposed in found),
        "streams": sorted({op.stream for op, _ in found}),
    }
