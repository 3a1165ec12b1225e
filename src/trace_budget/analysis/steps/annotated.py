"""Steps from annotations: the GPU ops whose launches lie inside the annotation on its host thread."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import polars as pl

from trace_budget.analysis.steps.grammar import GRAMMARS, Grammar, Parsed, parse
from trace_budget.schema.findings import Int32Array, Int64Array
from trace_budget.schema.trace import Trace

COVERS = 0.95  # a nested annotation is the same step when it covers this share of the outer one's work


@dataclass(frozen=True, slots=True)
class Found:
    """Steps as a method finds them: per-step facts in host order and the step of each op (-1 for none)."""

    names: tuple[str, ...]
    parsed: tuple[Parsed, ...]
    cpu_ns: tuple[int | None, ...]
    op_step: Int32Array
    method: str
    confidence: str


@dataclass(slots=True)
class _Range:
    """One annotation with the calls it encloses and the annotations nested in it."""

    name: str
    parsed: Parsed
    start_ns: int
    end_ns: int
    calls: Int64Array
    ops: int
    graph_ops: int
    inside: list[_Range] = field(default_factory=list)


def by_annotations(trace: Trace, in_scope: np.ndarray, extra: tuple[Grammar, ...]) -> Found | None:
    """Steps from host annotations; None when no annotation encloses launches of ops in scope."""
    texts = _step_texts(trace, "annotation", extra)
    if not texts or trace.calls.is_empty():
        return None
    chosen: list[_Range] = []
    per_call = _work_per_call(trace, in_scope)
    rows = trace.markers.filter((pl.col("kind") == "annotation") & pl.col("name").cast(pl.String).is_in(list(texts)))
    for (pid, tid), group in rows.group_by(["pid", "tid"], maintain_order=True):
        thread = trace.calls.filter(pl.col("pid").eq_missing(pid) & pl.col("tid").eq_missing(tid))
        chosen += _resolved(_nested(_ranges(group, thread, texts, per_call)))
    chosen = sorted((r for r in chosen if r.ops), key=lambda r: r.start_ns)
    if not chosen:
        return None
    call_step = np.full(trace.calls.height, -1, dtype=np.int32)
    for index, step in enumerate(chosen):
        call_step[step.calls] = index
    op_step = _by_launch(trace, call_step, in_scope)
    return Found(
        tuple(r.name for r in chosen),
        tuple(r.parsed for r in chosen),
        tuple(r.end_ns - r.start_ns for r in chosen),
        op_step,
        "annotations",
        "high",
    )


def by_gpu_annotations(trace: Trace, in_scope: np.ndarray, extra: tuple[Grammar, ...]) -> Found | None:
    """Steps from the device copies of annotations, by device time.

    Profilers write a copy per stream, so copies of one name that overlap are one step.
    """
    texts = _step_texts(trace, "gpu_annotation", extra)
    if not texts:
        return None
    rows = trace.markers.filter(
        (pl.col("kind") == "gpu_annotation") & pl.col("name").cast(pl.String).is_in(list(texts))
    ).with_columns(pl.col("name").cast(pl.String))
    same = (pl.col("name") == pl.col("name").shift()) & (pl.col("start_ns") < pl.col("end_ns").shift())
    merged = (
        rows.sort("start_ns", maintain_order=True)
        .with_columns((~same).fill_null(value=True).cum_sum().alias("run"))
        .group_by("run", maintain_order=True)
        .agg(pl.col("name").first(), pl.col("start_ns").min(), pl.col("end_ns").max())
    )
    op_step = _by_time(trace, merged["start_ns"].to_numpy(), merged["end_ns"].to_numpy(), in_scope)
    names = tuple(merged["name"].to_list())
    return Found(names, tuple(texts[n] for n in names), (None,) * len(names), op_step, "gpu_annotations", "medium")


def by_marker_time(trace: Trace, in_scope: np.ndarray, extra: tuple[Grammar, ...]) -> Found | None:
    """Steps from host annotations where no launch can be followed: an op belongs to the last one opened before it.

    Device work runs after its host range, so neighbours of a boundary may be booked to the wrong step: low confidence.
    """
    texts = _step_texts(trace, "annotation", extra)
    rows = trace.markers.filter((pl.col("kind") == "annotation") & pl.col("name").cast(pl.String).is_in(list(texts)))
    if rows.is_empty():
        return None
    starts = rows["start_ns"].to_numpy()
    until = np.append(starts[1:], np.iinfo(np.int64).max)
    names = tuple(rows["name"].cast(pl.String))
    cpu_ns = tuple((rows["end_ns"] - rows["start_ns"]).to_list())
    op_step = _by_time(trace, starts, until, in_scope)
    return Found(names, tuple(texts[n] for n in names), cpu_ns, op_step, "annotations by time", "low")


def _step_texts(trace: Trace, kind: str, extra: tuple[Grammar, ...]) -> dict[str, Parsed]:
    """Distinct annotation texts that parse as steps."""
    distinct = trace.markers.filter(pl.col("kind") == kind)["name"].unique().cast(pl.String).to_list()
    parsed = {text: parse(text, (*extra, *GRAMMARS)) for text in distinct}
    return {text: found for text, found in parsed.items() if found}


def _work_per_call(trace: Trace, in_scope: np.ndarray) -> tuple[Int64Array, Int64Array]:
    """Per call: ops in scope it launched, and those among them that a graph launch replayed."""
    launch = trace.gpu_ops["launch_id"].to_numpy(allow_copy=True)
    owned = trace.gpu_ops["launch_id"].is_not_null().to_numpy() & in_scope
    ops = np.bincount(launch[owned].astype(np.int64), minlength=trace.calls.height)
    is_graph = (trace.calls["kind"] == "graph_launch").to_numpy()
    return ops, np.where(is_graph, ops, 0)


def _ranges(
    group: pl.DataFrame, thread: pl.DataFrame, texts: dict[str, Parsed], per_call: tuple[Int64Array, Int64Array]
) -> list[_Range]:
    """The annotations of one thread with the calls that start inside each."""
    starts, ids = thread["start_ns"].to_numpy(), thread["launch_id"].to_numpy()
    ops, graph_ops = per_call
    out = []
    for name, start, end in zip(group["name"].cast(pl.String), group["start_ns"], group["end_ns"], strict=True):
        low, high = np.searchsorted(starts, [start, end], side="left")
        inside = ids[low:high]
        out.append(_Range(name, texts[name], start, end, inside, int(ops[inside].sum()), int(graph_ops[inside].sum())))
    return out


def _nested(ranges: list[_Range]) -> list[_Range]:
    """The outermost ranges of one thread, each holding those that lie inside it."""
    roots: list[_Range] = []
    open_ranges: list[_Range] = []
    for item in sorted(ranges, key=lambda r: (r.start_ns, -r.end_ns)):
        while open_ranges and open_ranges[-1].end_ns < item.end_ns:
            open_ranges.pop()
        (open_ranges[-1].inside if open_ranges else roots).append(item)
        open_ranges.append(item)
    return roots


def _resolved(ranges: list[_Range]) -> list[_Range]:
    """One range per step: the innermost that still cover the outer one's work.

    A generic outer range (ProfilerStep) that holds several engine steps is a recording window, not a step.
    """
    out: list[_Range] = []
    for item in ranges:
        inner = [r for r in _resolved(item.inside) if r.ops]
        # Replayed kernels decide where there are any: stray eager ones around the replay belong to nobody's step.
        part, whole = (
            (sum(r.graph_ops for r in inner), item.graph_ops)
            if item.graph_ops
            else (sum(r.ops for r in inner), item.ops)
        )
        covered = part >= COVERS * whole
        window = item.parsed.generic and sum(not r.parsed.generic for r in inner) > 1
        out += inner if inner and (covered or window) else [item]
    return out


def _by_launch(trace: Trace, call_step: Int32Array, in_scope: np.ndarray) -> Int32Array:
    launch = trace.gpu_ops["launch_id"].fill_null(-1).to_numpy()
    known = (launch >= 0) & in_scope
    op_step = np.full(launch.size, -1, dtype=np.int32)
    op_step[known] = call_step[launch[known]]
    return op_step


def _by_time(trace: Trace, starts: Int64Array, ends: Int64Array, in_scope: np.ndarray) -> Int32Array:
    """The step whose device range holds each op's start; -1 outside all."""
    begin = trace.gpu_ops["start_ns"].fill_null(-1).to_numpy()
    last = np.searchsorted(starts, begin, side="right") - 1
    inside = (last >= 0) & in_scope & (begin >= 0)
    inside &= begin < ends[np.maximum(last, 0)]
    return np.where(inside, last, -1).astype(np.int32)
