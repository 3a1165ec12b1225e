"""Small decode runs that differ in layers, steps, ranks and times, and their Kineto text: what `many` is made of."""

from __future__ import annotations

import json
from dataclasses import dataclass

from sample_traces.make import run_description as described
from sample_traces.make.run_description import Call, Marker, Op, Run

STEP_NS = 1_000_000
_CATEGORY = {"kernel": "kernel", "memcpy": "gpu_memcpy"}


@dataclass(frozen=True)
class Shape:
    """What tells one run from the next. Ranks of one job have consecutive numbers."""

    number: int
    layers: int
    steps: int
    rank: int = 0
    world: int = 1


def decode_run(shape: Shape, batch: int) -> Run:
    """`steps` decode steps of `layers` layers, one graph launch each; times follow from the number."""
    ops: list[Op] = []
    calls: list[Call] = []
    markers: list[Marker] = []
    for step in range(shape.steps):
        base = described.T0_NS + shape.number * 10_000_000_019 + step * STEP_NS
        copy_id, graph_id, sync_id = (10 * (step + 1) + offset for offset in (1, 2, 3))
        marker = f"execute_context_0(0)_generation_{batch}({batch})"
        markers.append(Marker(marker, base, base + 90_000, step))
        calls.append(Call(copy_id, "memcpy", base + 5_003, base + 9_001, step))
        calls.append(Call(graph_id, "graph_launch", base + 12_007, base + 61_009, step))
        end = _device_step(ops, shape, step, base, (copy_id, graph_id))
        calls.append(Call(sync_id, "sync", base + 65_011, end + 2_003, step))
    return Run(tuple(ops), tuple(calls), tuple(markers))


def _device_step(ops: list[Op], shape: Shape, step: int, base: int, ids: tuple[int, int]) -> int:
    start = base + 130_001
    ops.append(Op("memcpy", "HtoD", start, start + 1_999, ids[0], step, bytes=described.COPY_BYTES))
    start += 4_000
    for node, kernel in enumerate((*described.LAYER_KERNELS * shape.layers, described.HEAD_KERNEL), start=1):
        grown = 7 * step + 13 * (shape.number % 50) if kernel.name == "paged_attention_kernel" else 0
        end = start + kernel.duration_ns + grown
        ops.append(Op("kernel", kernel.name, start, end, ids[1], step, kernel, node))
        start = end
    return start


def kineto(run: Run, shape: Shape) -> str:
    """The run as PyTorch's profiler prints it, on an H100, with its rank."""
    job = {"backend": "nccl", "rank": shape.rank, "world_size": shape.world}
    head = {
        "schemaVersion": 1,
        "deviceProperties": [{"id": 0, "name": described.DEVICE_NAMES["cuda"]}],
        "distributedInfo": job,
        "cuda_runtime_version": 12090,
        "baseTimeNanoseconds": 0,
    }
    body = ",\n".join(_events(run))
    return json.dumps(head)[:-1] + ', "traceEvents": [\n' + body + "\n]}\n"


def _events(run: Run) -> list[str]:
    names = described.API_NAMES["cuda"]
    pid, tid = described.PID, described.TID
    lines = [_line("user_annotation", m.name, pid, tid, m.start_ns, m.end_ns, {}) for m in run.markers]
    lines += [
        _line("cuda_runtime", names[c.kind], pid, tid, c.start_ns, c.end_ns, {"correlation": c.correlation})
        for c in run.calls
    ]
    for op in run.ops:
        args = {"device": 0, "stream": described.STREAM, "correlation": op.correlation}
        lines.append(_line(_CATEGORY[op.kind], op.name, 0, described.STREAM, op.start_ns, op.end_ns, args))
    return lines


def _line(category: str, name: str, pid: int, tid: int, start_ns: int, end_ns: int, args: dict[str, int]) -> str:
    fields = {"ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid, "args": args}
    return f'{json.dumps(fields)[:-1]}, "ts": {_us(start_ns)}, "dur": {_us(end_ns - start_ns)}}}'


def _us(ns: int) -> str:
    return f"{ns // 1000}.{ns % 1000:03d}"
