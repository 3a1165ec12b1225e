"""Which parts of two traces are set side by side: device by device, phase by phase, steps or whole recordings."""

from __future__ import annotations

from dataclasses import dataclass, replace

import polars as pl

from trace_budget.analysis.health import with_warnings
from trace_budget.analysis.layers import find_layers
from trace_budget.analysis.overlap import find_overlap
from trace_budget.analysis.readings.cycles import SEVERAL
from trace_budget.analysis.steps import find_steps
from trace_budget.comparison.recording import no_layers, recording
from trace_budget.errors import NotInTraceError
from trace_budget.schema.findings import Findings, Overlap, Steps
from trace_budget.schema.options import Scope
from trace_budget.schema.trace import Caveat, Trace
from trace_budget.text import cut_middle

MOST_SHOWN = 70
BASES = ("auto", "step", "recording")
Devices = tuple[int | None, int | None]


@dataclass(frozen=True, slots=True)
class Pair:
    """One device and phase of both runs. `basis` is step, or recording where nothing marks the same work in both."""

    devices: Devices
    phase: str
    basis: str
    before: Findings
    after: Findings
    caveats: tuple[Caveat, ...]


def paired(before: Trace, after: Trace, scope: Scope, basis: str = "auto") -> list[Pair]:
    """All pairs, the main phase of each device first; NotInTraceError when the runs share no device or no phase."""
    overlaps = find_overlap(before), find_overlap(after)
    out: list[Pair] = []
    for devices in _devices(before, after, scope):
        out += _of_device((before, after), overlaps, devices, scope, basis)
    return out


def _devices(before: Trace, after: Trace, scope: Scope) -> list[Devices]:
    """Devices of the same number, else in their order."""
    if scope.device is not None:
        return [(scope.device, scope.device)]
    first, second = (_working(trace) for trace in (before, after))
    shared = [d for d in first if d in second]
    if shared:
        return [(d, d) for d in shared]
    return list(zip(first, second, strict=False))


def _working(trace: Trace) -> list[int | None]:
    """The devices that run kernels (or anything, where there are none), by number."""
    kernels = trace.gpu_ops.filter(pl.col("kind") == "kernel")
    rows = trace.gpu_ops if kernels.is_empty() else kernels
    return sorted(rows["device"].unique().to_list(), key=lambda d: -1 if d is None else int(d))


def _of_device(
    traces: tuple[Trace, Trace], overlaps: tuple[Overlap, Overlap], devices: Devices, scope: Scope, basis: str
) -> list[Pair]:
    whole = tuple(
        Findings(trace, recording(trace, device), no_layers(trace), overlap)
        for trace, device, overlap in zip(traces, devices, overlaps, strict=True)
    )
    if basis == "recording":
        return [Pair(devices, "other", "recording", whole[0], whole[1], ())]
    scopes = [replace(scope, device=device) for device in devices]
    first = find_steps(traces[0], scopes[0])
    whole_steps = scope.phase is not None or _joined(first)
    main = scopes[1] if whole_steps else _same_phase(traces[1], scopes[1], first.phase)
    second = find_steps(traces[1], main)
    if basis == "auto" and not _comparable(first, second):
        return [Pair(devices, "other", "recording", whole[0], whole[1], (_unlike(first, second),))]
    pairs = []
    if scope.phase is None and _joined(first) and _joined(second) and first.phase == second.phase:
        joined = [
            Findings(trace, with_warnings(trace, steps), find_layers(trace, steps, one), overlap)
            for trace, steps, one, overlap in zip(traces, (first, second), scopes, overlaps, strict=True)
        ]
        return [Pair(devices, first.phase, "step", joined[0], joined[1], _loads(first, second))]
    for phase in _phases(first, second):
        found = [_found(t, replace(s, phase=phase), o) for t, s, o in zip(traces, scopes, overlaps, strict=True)]
        if found[0] is not None and found[1] is not None:
            pairs.append(Pair(devices, phase, "step", found[0], found[1], _loads(found[0].steps, found[1].steps)))
    if not pairs:
        raise NotInTraceError(
            "the two runs share no phase", where=traces[1].path, expected=f"steps of phase {first.phase}",
            found=second.phase, advice="Record both at the same work, or --basis recording.",
        )  # fmt: skip
    return pairs


def _joined(steps: Steps) -> bool:
    """Whether several marked pieces make one step: then a phase alone is no step."""
    return steps.level == "cycle" or steps.method.endswith(SEVERAL)


def _same_phase(trace: Trace, scope: Scope, phase: str) -> Scope:
    """The scope narrowed to the phase of the other run, where this one has it."""
    try:
        find_steps(trace, replace(scope, phase=phase))
    except NotInTraceError:
        return scope
    return replace(scope, phase=phase)


def _found(trace: Trace, scope: Scope, overlap: Overlap) -> Findings | None:
    """What is found of one phase; None when none of its steps counts."""
    try:
        steps = with_warnings(trace, find_steps(trace, scope))
    except NotInTraceError:
        return None
    return Findings(trace, steps, find_layers(trace, steps, scope), overlap)


def _phases(first: Steps, second: Steps) -> list[str]:
    """Phases both runs have, the main one first."""
    shared = set(first.frame["phase"]) & set(second.frame["phase"])
    return sorted(shared, key=lambda phase: (phase != first.phase, phase))


def _comparable(first: Steps, second: Steps) -> bool:
    """Whether a step is the same piece of work in both: annotated or one graph launch each, or cut by the same mark."""
    return first.method == second.method or (_marked(first) and _marked(second))


def _marked(steps: Steps) -> bool:
    return steps.confidence == "high" or "annotation" in steps.method


def _unlike(first: Steps, second: Steps) -> Caveat:
    marks = [f"{cut_middle(steps.method, MOST_SHOWN)}: {steps.frame.height} steps" for steps in (first, second)]
    text = (
        f"steps are cut by different marks ({marks[0]}; {marks[1]}), so a step need not be the same work in both: whole"
        " recordings are compared, which may hold different amounts of work"
    )
    return Caveat("steps_not_comparable", text, 1, "warning")


def _loads(first: Steps, second: Steps) -> tuple[Caveat, ...]:
    """Another batch size is another workload."""
    rows = [steps.frame.filter(pl.col("used"))["batch_size"].drop_nulls() for steps in (first, second)]
    sizes = [str(sorted(set(values.to_list()))) for values in rows]
    if rows[0].is_empty() or rows[1].is_empty() or rows[0].median() == rows[1].median():
        return ()
    text = f"the runs hold other batch sizes ({sizes[0]} before, {sizes[1]} after): not the same work"
    return (Caveat("loads_differ", text, 1, "warning"),)
