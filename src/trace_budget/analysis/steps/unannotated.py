"""Steps from the kernels alone: a once-per-step kernel, else idle gaps, else the whole trace."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl

from trace_budget.analysis.layers.tandem import best_run
from trace_budget.analysis.steps.annotated import FoundSteps
from trace_budget.analysis.steps.outer import closed_once, coarser, nearest, stands_apart, two_passes
from trace_budget.analysis.steps.unnamed import unnamed_steps
from trace_budget.schema.findings import Int32Array, Int64Array
from trace_budget.schema.trace import Caveat, Trace

MIN_STEPS = 2
REGULAR = 0.8  # share of equal distances that makes a kernel a delimiter
BURST_GAP = 10.0  # an idle gap this many times the usual one ends a burst
BURST_GAP_MIN_NS = 20_000
MULTIPLES = (2, 3, 4)  # a kernel that runs every second, third or fourth step is no delimiter
SAME_DISTANCE = 0.02  # or one kernel
IN_LAYERS = 0.4  # share of a step inside one repetition: nearly all when decoding, forward or backward when training
MAYBE_LAYERS = Caveat(
    "steps_maybe_layers",
    "the repetition taken for steps holds no layers, or hardly any: it may be the layers of one step; annotations"
    " would tell",
    1,
    "warning",
)


def by_delimiter(trace: Trace, in_scope: np.ndarray) -> FoundSteps | None:
    """Steps from kernels that run once a step: the largest regular distance between two calls of one name.

    Where other kernels run once in several such units, or once in the whole trace, at its ends, the units are the
    layers of longer passes, unless the device idles before each of them.
    """
    order = _timed(trace, in_scope)
    if order.size < 2 * MIN_STEPS:
        return None
    codes = trace.gpu_ops["name"].to_physical().to_numpy()[order].astype(np.int64)
    distance = _outer_distance(codes) or two_passes(codes)
    if distance is None:
        return None
    idle_before = _idle_before(trace, in_scope, order)
    first, period = _firsts(codes, idle_before, distance)
    if not stands_apart(idle_before, first, period):
        longer = coarser(codes, period, first.size) or two_passes(codes)
        if longer is not None and longer[1] > period:
            first, period = _firsts(codes, idle_before, distance := longer)
        elif first.size > MIN_STEPS and any(closed_once(codes)):
            return _one_pass(trace, in_scope, codes)
    step = np.searchsorted(first, np.arange(order.size), side="right") - 1
    step = np.where(np.arange(order.size) < first[-1] + period, step, -1)
    op_step = np.full(trace.gpu_ops.height, -1, dtype=np.int32)
    op_step[order] = step
    text = str(trace.gpu_ops["name"][int(order[np.flatnonzero(codes == distance[0])[0]])])
    op_step = with_copies(trace, in_scope, op_step, order)
    found = unnamed_steps(first.size, op_step, f"once-per-step kernel {text}", "medium")
    usual = int(first[first.size // 2])  # the first step is often a warm-up
    layers = best_run(codes[usual : usual + period])
    if layers is not None and layers.stop - layers.first >= IN_LAYERS * period:
        return found
    return replace(found, confidence="low", caveats=(MAYBE_LAYERS,))


def _firsts(codes: Int64Array, idle_before: Int64Array, distance: tuple[int, int]) -> tuple[Int64Array, int]:
    """Where the units of a delimiter begin, and how long they are."""
    name, period = distance
    return _best_rotation(idle_before, np.flatnonzero(codes == name), period), period


def _one_pass(trace: Trace, in_scope: np.ndarray, codes: Int64Array) -> FoundSteps:
    """The whole trace as one pass: what runs once stands at its ends, what repeats are its layers."""
    begin, end = closed_once(codes)
    where = "both ends" if begin and end else "the begin" if begin else "the end"
    text = (
        f"a kernel that runs once stands at {where} of the trace, and nothing separates what repeats inside: it is"
        " taken for one pass of a model, the repetition for its layers"
    )
    op_step = np.where(in_scope, 0, -1).astype(np.int32)
    found = unnamed_steps(1, op_step, "whole trace as one pass", "medium")
    return replace(found, level="pass", caveats=(Caveat("one_pass", text, 1, "warning"),))


def with_copies(trace: Trace, in_scope: np.ndarray, op_step: Int32Array, kernels: Int64Array) -> Int32Array:
    """Copies and fills belong to the step of the kernel they stand closest to."""
    ops = trace.gpu_ops
    timed = in_scope & ops["end_ns"].is_not_null().to_numpy() & (ops["kind"] != "kernel").to_numpy()
    others = np.flatnonzero(timed)
    if others.size == 0 or kernels.size == 0:
        return op_step
    out = op_step.copy()
    out[others] = op_step[kernels[nearest(ops["start_ns"], ops["end_ns"], kernels, others)]]
    return out


def _idle_before(trace: Trace, in_scope: np.ndarray, order: Int64Array) -> Int64Array:
    """How long the device did nothing, copies and fills included, before each of these kernels."""
    ends = trace.gpu_ops["end_ns"].fill_null(0).to_numpy()
    latest = np.maximum.accumulate(np.where(in_scope, ends, 0))
    before = np.concatenate(([0], latest[:-1]))[order]
    idle: Int64Array = np.maximum(trace.gpu_ops["start_ns"].to_numpy()[order] - before, 0).astype(np.int64)
    idle[:1] = 0
    return idle


def _outer_distance(codes: Int64Array) -> tuple[int, int] | None:
    """(name, distance) of the kernel with the largest regular distance that covers at least half of the sequence."""
    order = np.argsort(codes, kind="stable")
    same = codes[order][1:] == codes[order][:-1]
    frame = pl.DataFrame({"name": codes[order][1:][same], "distance": np.diff(order)[same]})
    usual = pl.col("distance").mode().max()
    gap = (pl.col("distance") - usual).abs()
    names = frame.group_by("name").agg(
        pl.len().alias("gaps"),
        usual.alias("usual"),
        (gap <= pl.max_horizontal(SAME_DISTANCE * usual, 1.0)).mean().alias("regular"),
        gap.mean().alias("off"),
    )
    fit = names.filter(
        (pl.col("regular") >= REGULAR)
        & (pl.col("gaps") >= MIN_STEPS)
        & (pl.col("usual") > 1)
        & (pl.col("usual") * pl.col("gaps") >= 0.5 * codes.size)
    ).sort("usual", "off", "name", descending=[True, False, False])
    return None if fit.is_empty() else _once_a_step(codes, fit)


def _once_a_step(codes: Int64Array, fit: pl.DataFrame) -> tuple[int, int]:
    """The largest distance, unless more names run two to four times within it and layers repeat in between.

    A kernel of every second step is distinguished from the head of a model of two layers by what repeats inside.
    """
    usual = fit["usual"].to_numpy()
    best, votes = 0, int(np.count_nonzero(_near(usual, usual[0])))
    for times in MULTIPLES:
        inside = np.flatnonzero(_near(usual, usual[0] / times))
        if inside.size <= votes:
            continue
        mark = int(np.flatnonzero(codes == fit["name"][int(inside[0])])[0])
        if best_run(codes[mark : mark + int(usual[inside[0]])]) is not None:
            best, votes = int(inside[0]), int(inside.size)
    return int(fit["name"][best]), int(usual[best])


def _near(values: Int64Array, value: float) -> np.ndarray:
    near: np.ndarray = np.abs(values - value) <= max(SAME_DISTANCE * value, 1.0)
    return near


def _best_rotation(idle_before: Int64Array, marks: Int64Array, period: int) -> Int64Array:
    """Shift the marks back to where the device is usually idle longest: there one step ends and the next begins."""
    shifts = np.arange(min(period, int(marks[0]) + period))
    places = marks[:, None] - shifts[None, :]
    idle = np.where(places >= 0, idle_before[np.maximum(places, 0)], 0)
    usual = np.median(idle[1:] if marks.size > MIN_STEPS else idle, axis=0)
    # Without any idle time the delimiter closes its step, as a sampler does.
    best = int(np.argmax(usual)) if usual.max() > 0 else -1
    lead = int(marks[0])
    if lead < shifts.size and marks.size * period == idle_before.size and _recurs(usual, best):
        best = lead  # the passes fill the trace, and what idle time there is comes in every layer
    first: Int64Array = marks - best
    return first[first >= 0]


def _recurs(usual: np.ndarray, best: int) -> bool:
    """Whether the device idles about as long at other places of the step, too."""
    return best < 0 or int(np.count_nonzero(usual >= 0.5 * usual[best])) > 2


def by_idle_gaps(trace: Trace, in_scope: np.ndarray) -> FoundSteps | None:
    """Steps as bursts between idle gaps far above the usual one."""
    order = _timed(trace, in_scope)
    if order.size < 2 * MIN_STEPS:
        return None
    starts = trace.gpu_ops["start_ns"].to_numpy()[order]
    ends = np.maximum.accumulate(trace.gpu_ops["end_ns"].to_numpy()[order])
    gap = np.maximum(starts[1:] - ends[:-1], 0)
    usual = float(np.median(gap))
    cut = gap > max(BURST_GAP * usual, BURST_GAP_MIN_NS)
    if int(cut.sum()) + 1 < MIN_STEPS or cut.mean() > 0.25:
        return None
    burst = np.concatenate(([0], np.cumsum(cut)))
    sizes = np.bincount(burst)
    # Bursts of every size are pauses of a program, not steps.
    alike = np.mean(np.abs(sizes - np.median(sizes)) <= 0.1 * np.median(sizes))
    if np.median(sizes) < MIN_STEPS or alike < 0.5:
        return None
    op_step = np.full(trace.gpu_ops.height, -1, dtype=np.int32)
    op_step[order] = burst
    op_step = with_copies(trace, in_scope, op_step, order)
    return unnamed_steps(int(cut.sum()) + 1, op_step, "idle gaps", "low")


def whole_trace(in_scope: np.ndarray, stated: bool) -> FoundSteps:
    """No step structure found: the whole trace as one window; `stated` when the user says that this is a step."""
    text = "no step structure was found: figures per step are figures of the whole trace"
    found = unnamed_steps(1, np.where(in_scope, 0, -1).astype(np.int32), "whole trace", "low")
    if stated:
        return replace(found, caveats=(Caveat("step_stated", f"{text}, which --steps says is one step", 1, "warning"),))
    return replace(
        found, caveats=(Caveat("steps_unknown", f"{text} (--steps 0 says that it is one step)", 1, "error"),)
    )


def _timed(trace: Trace, in_scope: np.ndarray) -> Int64Array:
    """Kernels in scope with usable times, in time order."""
    ops = trace.gpu_ops
    usable = in_scope & ops["end_ns"].is_not_null().to_numpy() & (ops["kind"] == "kernel").to_numpy()
    return np.flatnonzero(usable)
