"""Pieces: marked steps and the unmarked work between them, in host order, cut into passes, by class."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from trace_budget.analysis.readings.passes import passes_in
from trace_budget.analysis.steps.annotated import FoundSteps
from trace_budget.analysis.steps.classes import classify
from trace_budget.schema.findings import Int32Array, Int64Array
from trace_budget.schema.trace import Trace

WORTH = 0.02  # unmarked work of less than this share of a marked step is nobody's step
TWICE = 2.0  # pieces of one kind take about as long: not this many times as long


@dataclass(frozen=True, slots=True)
class Pieces:
    """The pieces of a trace in host order.

    `op_piece`: piece of each row of gpu_ops, -1 for none. Per piece: `unit`, the marked step it is part of (-1 for
    unmarked work); `kind`, its class (pieces that run the same kernels share one); `work_ns`, the sum of its ops;
    `idle_ns`, how long the device idles before it; `alone`, whether it is all of its step. `op_gap`: of each unmarked
    op of the marked thread how many marks opened before it, -1 for all others.
    """

    op_piece: Int32Array
    unit: Int64Array
    kind: Int64Array
    work_ns: Int64Array
    idle_ns: Int64Array
    alone: np.ndarray
    op_gap: Int64Array

    @property
    def count(self) -> int:
        """How many pieces there are."""
        return int(self.unit.size)


def pieces_of(trace: Trace, in_scope: np.ndarray, found: FoundSteps) -> Pieces:
    """Cut marked steps and what runs between them into passes."""
    op_gap = _gaps(trace, in_scope, found)
    segment = _segments(trace, found, op_gap)
    rows = _in_order(trace, segment)
    piece_of_row, segment_of_piece, alike = _cut(trace, rows, segment[rows])
    op_piece = np.full(segment.size, -1, dtype=np.int32)
    op_piece[rows] = piece_of_row
    count = segment_of_piece.size
    unit = np.where(segment_of_piece % 2 == 1, segment_of_piece // 2, -1)
    _, inverse, parts = np.unique(segment_of_piece, return_inverse=True, return_counts=True)
    kind = np.zeros(count, dtype=np.int64) if alike else _kinds(trace, op_piece, count)
    work = _work(trace, op_piece, count)
    idle = _idle(trace, op_piece, count)
    return Pieces(op_piece, unit, _lasting(kind, work), work, idle, parts[inverse] == 1, op_gap)


def _kinds(trace: Trace, op_piece: Int32Array, count: int) -> Int64Array:
    """The class of each piece."""
    frame = classify(trace, pl.DataFrame({"step_index": pl.Series(np.arange(count, dtype=np.int32))}), op_piece)
    kinds: Int64Array = frame["class_index"].to_numpy().astype(np.int64)
    return kinds


def _lasting(kind: Int64Array, work: Int64Array) -> Int64Array:
    """Classes whose pieces also last about as long: a prefill may run the kernels of a decode step, for longer."""
    out = kind.copy()
    for one in np.unique(kind):
        mine = np.flatnonzero(kind == one)
        usual = np.median(work[mine])
        long, short = mine[work[mine] > TWICE * usual], mine[TWICE * work[mine] < usual]
        for apart in (long, short):
            out[apart] = out.max() + 1 if apart.size else 0
    return out


def _segments(trace: Trace, found: FoundSteps, op_gap: Int64Array) -> Int64Array:
    """Per op: 2 i + 1 inside marked step i, 2 i for unmarked work before it that is worth a look, -1 for none."""
    segment = np.where(found.op_step >= 0, 2 * found.op_step.astype(np.int64) + 1, -1)
    between = op_gap >= 0
    if not between.any():
        return segment
    gap, length = op_gap[between], _lengths(trace)
    marked = np.bincount(found.op_step[found.op_step >= 0], weights=length[found.op_step >= 0])
    work = np.bincount(gap, weights=length[between], minlength=len(found.names) + 1)
    segment[between] = np.where(work[gap] >= WORTH * np.median(marked), 2 * gap, -1)
    return segment


def _gaps(trace: Trace, in_scope: np.ndarray, found: FoundSteps) -> Int64Array:
    """Of each unmarked op of the marked thread: how many marks opened before its launch; -1 for all others."""
    op_gap = np.full(in_scope.size, -1, dtype=np.int64)
    between = _between(trace, in_scope, found)
    if between.any():
        launch = trace.gpu_ops["launch_id"].fill_null(-1).to_numpy()[between]
        begins = np.array([host[0] for host in found.host_ns if host], dtype=np.int64)
        op_gap[between] = np.searchsorted(begins, trace.calls["start_ns"].to_numpy()[launch], side="right")
    return op_gap


def _between(trace: Trace, in_scope: np.ndarray, found: FoundSteps) -> np.ndarray:
    """Ops of no step that the marked thread launched; none where steps are not found by host annotations."""
    if found.method != "annotations" or any(host is None for host in found.host_ns):
        return np.zeros(in_scope.size, dtype=np.bool_)
    launch = trace.gpu_ops["launch_id"].fill_null(-1).to_numpy()
    threads = trace.calls["tid"].fill_null(-1).to_numpy()
    inside = (found.op_step >= 0) & (launch >= 0)
    own = np.unique(threads[launch[inside]])
    out: np.ndarray = in_scope & (found.op_step < 0) & (launch >= 0)
    if own.size != 1:
        return np.zeros(in_scope.size, dtype=np.bool_)
    out[out] = threads[launch[out]] == own[0]
    return out


def _in_order(trace: Trace, segment: Int64Array) -> Int64Array:
    """Rows of the segments, segment after segment, in the order they were launched."""
    rows = np.flatnonzero(segment >= 0)
    launch = trace.gpu_ops["launch_id"].fill_null(-1).to_numpy()[rows]
    ordered: Int64Array = rows[np.lexsort((rows, launch, segment[rows]))]
    return ordered


def _cut(trace: Trace, rows: Int64Array, segment: Int64Array) -> tuple[Int32Array, Int64Array, bool]:
    """The piece of each row, the segment of each piece, whether all run one sequence, which share one search."""
    codes = trace.gpu_ops["name"].to_physical().to_numpy()[rows].astype(np.int64)
    is_kernel = (trace.gpu_ops["kind"] == "kernel").to_numpy()[rows]
    edges = np.flatnonzero(np.diff(segment, prepend=-1, append=-2))
    known: dict[bytes, Int64Array | None] = {}
    starts: list[Int64Array] = []
    for low, high in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        key = codes[low:high].tobytes()
        if key not in known:
            known[key] = passes_in(codes[low:high], is_kernel[low:high])
        inside = known[key]
        starts.append(np.array([low]) if inside is None else low + inside)
    first = np.concatenate(starts) if starts else np.zeros(0, np.int64)
    piece = np.searchsorted(first, np.arange(rows.size), side="right") - 1
    return piece.astype(np.int32), segment[first], len(known) == 1


def _lengths(trace: Trace) -> Int64Array:
    lengths: Int64Array = (trace.gpu_ops["end_ns"] - trace.gpu_ops["start_ns"]).fill_null(0).to_numpy()
    return lengths


def _work(trace: Trace, op_piece: Int32Array, count: int) -> Int64Array:
    owned = op_piece >= 0
    work = np.bincount(op_piece[owned], weights=_lengths(trace)[owned], minlength=count)
    return work.astype(np.int64)


def _idle(trace: Trace, op_piece: Int32Array, count: int) -> Int64Array:
    """Device time between the end of all that came before a piece and its first op."""
    ops = trace.gpu_ops.select("start_ns", "end_ns").with_columns(pl.Series("piece", op_piece))
    ops = ops.filter(pl.col("piece") >= 0).drop_nulls()
    spans = ops.group_by("piece").agg(pl.col("start_ns").min(), pl.col("end_ns").max()).sort("piece")
    before = spans["end_ns"].cum_max().shift(1)
    idle = np.zeros(count, dtype=np.int64)
    idle[spans["piece"].to_numpy()] = (spans["start_ns"] - before).fill_null(0).clip(0).to_numpy()
    return idle
