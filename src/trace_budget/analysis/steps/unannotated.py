"""Steps without annotations: graph launches, a once-per-step kernel, idle gaps, in this order of trust."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import polars as pl

from trace_budget.analysis.steps.annotated import Found
from trace_budget.analysis.steps.grammar import Parsed
from trace_budget.schema.findings import Int32Array, Int64Array
from trace_budget.schema.trace import Trace

UNKNOWN = Parsed("none", "other", None, generic=True)
MIN_STEPS = 2
REGULAR = 0.8  # share of equal distances that makes a kernel a delimiter
BURST_GAP = 10.0  # an idle gap this many times the usual one ends a burst
BURST_GAP_MIN_NS = 20_000
PIECEWISE_SHARE = 0.9  # share of graph launches that must repeat for a launch pattern


def by_graph_launches(trace: Trace, in_scope: np.ndarray) -> Found | None:
    """One step per period of the graph-launch sequence; the host time of its first launch is the boundary.

    Launches that replay the same number of kernels are one graph; a piecewise step is a repeated pattern of graphs.
    """
    launch = trace.gpu_ops["launch_id"].fill_null(-1).to_numpy()
    owned = in_scope & (launch >= 0)
    replayed = np.bincount(launch[owned], minlength=trace.calls.height)
    is_graph = (trace.calls["kind"] == "graph_launch").to_numpy()
    graphs = np.flatnonzero(is_graph & (replayed > 0))
    if graphs.size < MIN_STEPS:
        return None
    period = _period_of(replayed[graphs])
    if period is None:
        return None
    threads = trace.calls["tid"].fill_null(-1).to_numpy()[graphs]
    first = graphs[::period]
    starts = trace.calls["start_ns"].to_numpy()
    step_of_call = np.searchsorted(starts[first], starts, side="right") - 1
    op_step = np.full(launch.size, -1, dtype=np.int32)
    op_step[owned] = step_of_call[launch[owned]]
    confidence = "high" if np.unique(threads).size == 1 else "medium"
    return _found(
        first.size, op_step, f"graph launches ({period} a step)" if period > 1 else "graph launches", confidence
    )


def _period_of(values: Int64Array) -> int | None:
    """The smallest shift at which nearly all values repeat: 1 when all are equal; None without a repetition."""
    if np.all(values == values[0]):
        return 1
    for shift in range(2, values.size // MIN_STEPS + 1):
        if np.mean(values[shift:] == values[:-shift]) >= PIECEWISE_SHARE:
            return shift
    # Graphs of several batch sizes in any order: each launch that replays a whole model is a step of its own.
    return 1 if values.min() >= 0.5 * values.max() else None


def by_delimiter(trace: Trace, in_scope: np.ndarray) -> Found | None:
    """Steps from kernels that run once a step: the largest regular distance between two calls of one name."""
    order = _timed(trace, in_scope)
    if order.size < 2 * MIN_STEPS:
        return None
    codes = trace.gpu_ops["name"].to_physical().to_numpy()[order]
    distance = _outer_distance(codes)
    if distance is None:
        return None
    name, period = distance
    marks = np.flatnonzero(codes == name)
    first = _best_rotation(trace, order, marks, period)
    step = np.searchsorted(first, np.arange(order.size), side="right") - 1
    step = np.where(np.arange(order.size) < first[-1] + period, step, -1)
    op_step = np.full(trace.gpu_ops.height, -1, dtype=np.int32)
    op_step[order] = step
    text = str(trace.gpu_ops["name"][int(order[marks[0]])])
    return _found(first.size, op_step, f"once-per-step kernel {text}", "medium")


def _outer_distance(codes: Int64Array) -> tuple[int, int] | None:
    """(name, distance) of the kernel with the largest regular distance that covers at least half of the sequence."""
    order = np.argsort(codes, kind="stable")
    same = codes[order][1:] == codes[order][:-1]
    frame = pl.DataFrame({"name": codes[order][1:][same], "distance": np.diff(order)[same]})
    usual = frame.group_by("name").agg(
        pl.len().alias("gaps"),
        pl.col("distance").mode().max().alias("usual"),
        ((pl.col("distance") - pl.col("distance").mode().max()).abs() <= 0.02 * pl.col("distance").mode().max())
        .mean()
        .alias("regular"),
    )
    fit = usual.filter(
        (pl.col("regular") >= REGULAR)
        & (pl.col("gaps") >= MIN_STEPS)
        & (pl.col("usual") > 1)
        & (pl.col("usual") * pl.col("gaps") >= 0.5 * codes.size)
    )
    if fit.is_empty():
        return None
    best = fit.sort("usual", "name", descending=[True, False]).row(0, named=True)
    return int(best["name"]), int(best["usual"])


def _best_rotation(trace: Trace, order: Int64Array, marks: Int64Array, period: int) -> Int64Array:
    """Shift the marks back to where the device is usually idle longest: there one step ends and the next begins."""
    starts = trace.gpu_ops["start_ns"].to_numpy()[order]
    ends = np.maximum.accumulate(trace.gpu_ops["end_ns"].to_numpy()[order])
    idle_before = np.concatenate(([0], np.maximum(starts[1:] - ends[:-1], 0)))
    shifts = np.arange(min(period, int(marks[0]) + period))
    places = marks[:, None] - shifts[None, :]
    idle = np.where(places >= 0, idle_before[np.maximum(places, 0)], 0)
    usual = np.median(idle[1:] if marks.size > MIN_STEPS else idle, axis=0)
    # Without any idle time the delimiter closes its step, as a sampler does.
    best = int(np.argmax(usual)) if usual.max() > 0 else -1
    first: Int64Array = marks - best
    return first[first >= 0]


def by_idle_gaps(trace: Trace, in_scope: np.ndarray) -> Found | None:
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
    return _found(int(cut.sum()) + 1, op_step, "idle gaps", "low")


def whole_trace(trace: Trace, in_scope: np.ndarray) -> Found:
    """No step structure found: the whole trace as one window, with low confidence."""
    return _found(1, np.where(in_scope, 0, -1).astype(np.int32), "whole trace", "low")


def _timed(trace: Trace, in_scope: np.ndarray) -> Int64Array:
    """Kernels in scope with usable times, in time order."""
    ops = trace.gpu_ops
    usable = in_scope & ops["end_ns"].is_not_null().to_numpy() & (ops["kind"] == "kernel").to_numpy()
    return np.flatnonzero(usable)


def _found(count: int, op_step: Int32Array, method: str, confidence: str) -> Found:
    names: Iterable[str] = (f"step {index}" for index in range(count))
    return Found(tuple(names), (UNKNOWN,) * count, (None,) * count, op_step, method, confidence)
