"""Steps from annotations: the GPU ops whose launches lie inside the annotation on its host thread."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from trace_budget.analysis.steps.grammar import Grammar, Parsed, parse_all
from trace_budget.analysis.steps.ranges import NestedRange, make_ranges, resolved
from trace_budget.schema.findings import Int32Array, Int64Array
from trace_budget.schema.trace import Caveat, Trace

MOST = 0.9  # share of the launched ops inside annotations that makes them the steps of the trace
SOME = 0.5
SAME = 0.5  # device copies of one name that overlap by this share of the later one are one step on several streams


@dataclass(frozen=True, slots=True)
class FoundSteps:
    """Steps as a method finds them: per-step facts in host order and the step of each op (-1 for none).

    `host_ns` is where the host annotation begins and ends (None without one). `level` is what one of them is: pass,
    step or cycle. `op_pass` numbers the passes inside them, -1 for ops of none; None where each is one. `cut_off` are
    those known to be incomplete. `says` and `denies` are what speaks for and against this reading,
    `settle` the option that chooses it.
    """

    names: tuple[str, ...]
    parsed: tuple[Parsed, ...]
    host_ns: tuple[tuple[int, int] | None, ...]
    op_step: Int32Array
    method: str
    confidence: str
    caveats: tuple[Caveat, ...] = ()
    level: str = "step"
    op_pass: Int32Array | None = None
    cut_off: tuple[int, ...] = ()
    says: tuple[str, ...] = ()
    denies: tuple[str, ...] = ()
    settle: str = ""


def by_annotations(trace: Trace, in_scope: np.ndarray, grammars: tuple[Grammar, ...]) -> FoundSteps | None:
    """Steps from host annotations; None when no annotation encloses launches of kernels in scope."""
    rows, texts = _step_rows(trace, "annotation", grammars)
    if rows.is_empty() or trace.calls.is_empty():
        return None
    ops, graph_ops = _work_per_call(trace, in_scope)
    chosen: list[NestedRange] = []
    for (pid, tid), group in rows.group_by(["pid", "tid"], maintain_order=True):
        calls = trace.calls.filter(_runs_on("pid", pid) & _runs_on("tid", tid))
        ids = calls["launch_id"].to_numpy()
        chosen += resolved(make_ranges(group, texts, calls["start_ns"].to_numpy(), ids, ops, graph_ops))
    chosen = sorted((r for r in chosen if r.work), key=lambda r: r.start_ns)
    call_step = np.full(trace.calls.height, -1, dtype=np.int32)
    for index, step in enumerate(chosen):
        call_step[step.items] = index
    op_step = _by_launch(trace, call_step, in_scope)
    if not _holds_work(trace, op_step, in_scope):
        return None
    return _found(chosen, op_step, "annotations", _coverage(trace, op_step, in_scope))


def by_gpu_annotations(trace: Trace, in_scope: np.ndarray, grammars: tuple[Grammar, ...]) -> FoundSteps | None:
    """Steps from the device copies of annotations, by device time.

    Profilers write a copy per stream, so copies of one name that overlap are one step.
    """
    rows, texts = _step_rows(trace, "gpu_annotation", grammars)
    devices = trace.gpu_ops["device"].filter(pl.Series(in_scope)).drop_nulls().unique().to_list()
    rows = _merged(rows.filter(pl.col("device").is_null() | pl.col("device").is_in(devices)))
    items = _timed(trace, in_scope)
    starts = trace.gpu_ops["start_ns"].to_numpy()[items].astype(np.int64)
    each = np.ones(trace.gpu_ops.height, dtype=np.int64)
    chosen = [r for r in resolved(make_ranges(rows, texts, starts, items, each, 0 * each)) if r.work]
    op_step = np.full(trace.gpu_ops.height, -1, dtype=np.int32)
    for index, step in enumerate(chosen):
        op_step[step.items] = index
    if not _holds_work(trace, op_step, in_scope):
        return None
    return _found(chosen, op_step, "gpu_annotations", "medium", on_host=False)


def by_marker_time(trace: Trace, in_scope: np.ndarray, grammars: tuple[Grammar, ...]) -> FoundSteps | None:
    """Steps from host annotations where no launch can be followed: an op belongs to the last one opened before it.

    Device work runs after its host range, so neighbours of a boundary may be booked to the wrong step: low confidence.
    """
    rows, texts = _step_rows(trace, "annotation", grammars)
    if rows.is_empty():
        return None
    threads = rows.group_by(["pid", "tid"], maintain_order=True).agg((pl.col("end_ns") - pl.col("start_ns")).sum())
    pid, tid, _ = threads.sort("end_ns", descending=True, maintain_order=True).row(0)
    rows = rows.filter(pl.col("pid").eq_missing(pid) & pl.col("tid").eq_missing(tid))
    none = np.zeros(0, dtype=np.int64)
    chosen = resolved(make_ranges(rows, texts, none, none, none, none), by_length=True)
    items = _timed(trace, in_scope)
    begin = trace.gpu_ops["start_ns"].to_numpy()[items].astype(np.int64)
    op_step = np.full(trace.gpu_ops.height, -1, dtype=np.int32)
    op_step[items] = np.searchsorted([r.start_ns for r in chosen], begin, side="right") - 1
    return _found(chosen, op_step, "annotations by time", "low") if _holds_work(trace, op_step, in_scope) else None


def _found(
    ranges: list[NestedRange], op_step: Int32Array, method: str, confidence: str, on_host: bool = True
) -> FoundSteps:
    host_ns = tuple((r.start_ns, r.end_ns) if on_host else None for r in ranges)
    return FoundSteps(
        tuple(r.name for r in ranges), tuple(r.parsed for r in ranges), host_ns, op_step, method, confidence
    )


def _step_rows(trace: Trace, kind: str, grammars: tuple[Grammar, ...]) -> tuple[pl.DataFrame, dict[str, Parsed]]:
    """The markers whose text is that of a step, and what each text says."""
    rows = trace.markers.filter(pl.col("kind") == kind)
    texts = parse_all(rows["name"].unique().cast(pl.String).to_list(), grammars)
    return rows.filter(pl.col("name").cast(pl.String).is_in(list(texts))), texts


def _runs_on(column: str, value: object) -> pl.Expr:
    """Calls of this process or thread; where either side does not say, nothing is excluded."""
    return pl.lit(value=True) if value is None else (pl.col(column) == value) | pl.col(column).is_null()


def _work_per_call(trace: Trace, in_scope: np.ndarray) -> tuple[Int64Array, Int64Array]:
    """Per call: ops in scope it launched, and those among them that a graph launch replayed."""
    launch = trace.gpu_ops["launch_id"].fill_null(-1).to_numpy()
    ops = np.bincount(launch[in_scope & (launch >= 0)], minlength=trace.calls.height)
    is_graph = (trace.calls["kind"] == "graph_launch").to_numpy()
    return ops, np.where(is_graph, ops, 0)


def _by_launch(trace: Trace, call_step: Int32Array, in_scope: np.ndarray) -> Int32Array:
    launch = trace.gpu_ops["launch_id"].fill_null(-1).to_numpy()
    known = (launch >= 0) & in_scope
    op_step = np.full(launch.size, -1, dtype=np.int32)
    op_step[known] = call_step[launch[known]]
    return op_step


def _merged(rows: pl.DataFrame) -> pl.DataFrame:
    """Copies of one name that overlap as one range."""
    ordered = rows.with_columns(pl.col("name").cast(pl.String)).sort("name", "start_ns", maintain_order=True)
    before = pl.col("end_ns").cum_max().shift().over("name")
    overlap = pl.min_horizontal("end_ns", before) - pl.col("start_ns")
    fresh = before.is_null() | (overlap <= SAME * (pl.col("end_ns") - pl.col("start_ns")))
    return (
        ordered.with_columns(fresh.cum_sum().alias("run"))
        .group_by("run", maintain_order=True)
        .agg(pl.col("name").first(), pl.col("start_ns").min(), pl.col("end_ns").max())
        .sort("start_ns", maintain_order=True)
    )


def _timed(trace: Trace, in_scope: np.ndarray) -> Int64Array:
    """Rows in scope whose start is known, in time order."""
    return np.flatnonzero(in_scope & trace.gpu_ops["start_ns"].is_not_null().to_numpy())


def _holds_work(trace: Trace, op_step: Int32Array, in_scope: np.ndarray) -> bool:
    """Whether the steps own kernels, or any op where the device runs no kernel at all."""
    kernel = (trace.gpu_ops["kind"] == "kernel").to_numpy() & in_scope
    inside = op_step >= 0
    return bool((inside & kernel).any() or (inside.any() and not kernel.any()))


def _coverage(trace: Trace, op_step: Int32Array, in_scope: np.ndarray) -> str:
    """How sure it is that these annotations are the steps: by the share of launched ops inside them."""
    launched = in_scope & trace.gpu_ops["launch_id"].is_not_null().to_numpy()
    share = int(np.count_nonzero(op_step[launched] >= 0)) / max(int(np.count_nonzero(launched)), 1)
    return "high" if share >= MOST else "medium" if share >= SOME else "low"
