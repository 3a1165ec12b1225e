"""Hypotheses: what every method takes for the steps of a trace, the best explained first."""

from __future__ import annotations

import numpy as np
import polars as pl

from trace_budget.analysis.readings.cycles import SEVERAL
from trace_budget.analysis.readings.refine import grouped, refined
from trace_budget.analysis.steps.annotated import FoundSteps, by_annotations, by_gpu_annotations, by_marker_time
from trace_budget.analysis.steps.grammar import GRAMMARS, parse, user_grammar
from trace_budget.analysis.steps.graph_launches import by_graph_launches
from trace_budget.analysis.steps.unannotated import by_delimiter, by_idle_gaps, whole_trace
from trace_budget.errors import NotInTraceError
from trace_budget.schema.options import Scope
from trace_budget.schema.trace import Caveat, Trace

ENOUGH = 0.5  # share of the device time that marks must explain not to be outranked by what explains more
NEARLY_ALL = 0.8


def hypotheses(trace: Trace, in_scope: np.ndarray, scope: Scope) -> tuple[tuple[FoundSteps, ...], tuple[Caveat, ...]]:
    """What can be the steps, the likeliest first; the user's pattern excludes all others."""
    caveats: tuple[Caveat, ...] = ()
    if scope.step_pattern:
        own = (user_grammar(scope.step_pattern),)
        for annotated in (by_annotations, by_gpu_annotations, by_marker_time):
            if found := annotated(trace, in_scope, own):
                return (found,), ()
        text = f"no range whose text matches the step pattern {scope.step_pattern!r} holds device work: it was not used"
        caveats = (Caveat("step_pattern_unused", text, 1, "warning"),)
    return _with_passes(trace, _of_trace(trace, in_scope, scope), scope.passes_per_step), caveats


def _with_passes(trace: Trace, found: tuple[FoundSteps, ...], size: int | None) -> tuple[FoundSteps, ...]:
    """Units without marks as the passes of steps, where the user says how many make one.

    Raises NotInTraceError where marks say that each step is one pass.
    """
    if size is None or size == 1 or found[0].op_pass is not None:
        return found
    if "annotations" in found[0].method:
        raise NotInTraceError(
            "each marked step runs the model once", where=trace.path, expected=f"{size} equal passes inside each",
            found="one", advice="Leave --passes-per-step away, or state --tokens-per-step.",
        )  # fmt: skip
    return tuple(grouped(one, size) for one in found)


def _of_trace(trace: Trace, in_scope: np.ndarray, scope: Scope) -> tuple[FoundSteps, ...]:
    """What the trace itself says: marks, then what is launched together, then what the kernels alone show."""
    for annotated in (by_annotations, by_gpu_annotations):
        if found := annotated(trace, in_scope, GRAMMARS):
            marked = refined(trace, in_scope, found, scope)
            return _outranked(trace, in_scope, found, marked, scope) or marked
    if found := by_graph_launches(trace, in_scope):
        return refined(trace, in_scope, found, scope)
    by_time = by_marker_time(trace, in_scope, GRAMMARS)
    if by_time and not _followed(trace, in_scope):
        return refined(trace, in_scope, by_time, scope)
    for unannotated in (by_delimiter, by_idle_gaps):
        if found := unannotated(trace, in_scope):
            return (found,)
    if by_time:
        return refined(trace, in_scope, by_time, scope)
    return (whole_trace(in_scope, scope.steps is not None),)


def _followed(trace: Trace, in_scope: np.ndarray) -> bool:
    """Whether launches on threads that carry step marks can be followed: then work outside of the marks is in none."""
    marks = trace.markers.filter(pl.col("kind") == "annotation").select("pid", "tid", "name")
    texts = {text for text in marks["name"].unique().cast(pl.String).to_list() if parse(text)}
    marks = marks.filter(pl.col("name").cast(pl.String).is_in(list(texts)))
    launched = trace.gpu_ops.filter(pl.Series(in_scope))["launch_id"].drop_nulls().unique()
    calls = trace.calls.filter(pl.col("launch_id").is_in(launched.implode())).select("pid", "tid").unique()
    return calls.join(marks, on=["pid", "tid"], how="semi").height > 0


def _outranked(
    trace: Trace, in_scope: np.ndarray, raw: FoundSteps, marked: tuple[FoundSteps, ...], scope: Scope
) -> tuple[FoundSteps, ...] | None:
    """What explains nearly all work where the marks explain little of it; None where marks do.

    Marks that hold little may still be steps among unmarked ones; not where marks and unmarked work take turns.
    """
    in_turns = marked[0].method.endswith(SEVERAL)
    if explained(trace, in_scope, raw if in_turns else marked[0]) >= ENOUGH:
        return None
    for method in (by_graph_launches, by_delimiter):
        found = method(trace, in_scope)
        if found and found.confidence != "low" and explained(trace, in_scope, found) >= NEARLY_ALL:
            return refined(trace, in_scope, found, scope)
    return None


def explained(trace: Trace, in_scope: np.ndarray, found: FoundSteps) -> float:
    """Share of the device time that the steps hold; work whose launch is unknown, where others' is known, is left out.

    What other threads launch while a step's mark is open belongs to no step, but speaks against none.
    """
    launch = trace.gpu_ops["launch_id"].fill_null(-1).to_numpy()
    known = in_scope & (launch >= 0) if (launch[in_scope] >= 0).any() else in_scope
    length = (trace.gpu_ops["end_ns"] - trace.gpu_ops["start_ns"]).fill_null(0).to_numpy()
    held = found.op_step >= 0
    hosts = [host for host in found.host_ns if host]
    if hosts and trace.calls.height:
        begin, end = np.array(sorted(hosts), dtype=np.int64).T
        start = trace.calls["start_ns"].to_numpy()
        tids = trace.calls["tid"].fill_null(-1).to_numpy()
        marked = np.unique(tids[launch[held & (launch >= 0)]])
        other = known & ~held & ~np.isin(tids[np.maximum(launch, 0)], marked)
        rows = np.flatnonzero(other)
        at = start[launch[rows]]
        place = np.searchsorted(begin, at, side="right") - 1
        held = held.copy()
        held[rows] = (place >= 0) & (at < np.maximum.accumulate(end)[np.maximum(place, 0)])
    return float(length[held & known].sum() / max(length[known].sum(), 1))
