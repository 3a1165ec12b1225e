"""Calls without usable times: no bound that may not be too low leaves them out, and nothing counts them as certain."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

import trace_budget as tb
from projection.builders import Call, Op, Range, graph_steps, hand_trace
from trace_budget import api
from trace_budget.errors import NotInTraceError
from trace_budget.projection.candidates import Candidate, Sequence
from trace_budget.projection.project import Projection, project_candidate
from trace_budget.schema.options import Change, Policy, Selection, TokenInput
from trace_budget.schema.trace import Trace

US = 1_000
K4 = Candidate("", Change(saving_us=4.0), Selection("k"))
LAYER = [("a", 5.0), ("k", 10.0), ("b", 20.0)]


def without_ends(trace: Trace, name: str, every: int = 2, column: str = "end_ns") -> Trace:
    """The same trace, but every so-many-th call of a kernel has no end (or no start and no end)."""
    ops = trace.gpu_ops
    turn = pl.int_range(pl.len()).over("name")
    lost = (pl.col("name").cast(pl.String) == name) & (turn % every == 0)
    columns = ("end_ns",) if column == "end_ns" else ("start_ns", "end_ns")
    return replace(trace, gpu_ops=ops.with_columns(pl.when(lost).then(None).otherwise(c).alias(c) for c in columns))


def answer(candidate: Candidate, *traces: Trace) -> Projection:
    found = [api.analyse(trace) for trace in traces]
    return project_candidate(found[0], candidate, TokenInput(), Policy(), found[1:])


def fusion(*patterns: str, new_us: float) -> Candidate:
    return Candidate("", Change(new_us=new_us), None, Sequence(patterns, new_us))


def codes(of: Projection) -> dict[str, int]:
    return {caveat.code: caveat.count for caveat in of.caveats}


def of_rank(rank: int, steps: int = 4, layers: int = 4) -> Trace:
    """One rank of two: layers of k (10 us) and an all-reduce that both reach together."""
    ops, calls, ranges = [], [], []
    for step in range(steps):
        at, graph = 400.0 * step, 10 * step + 1
        ranges.append(Range(at - 20, at + 10))
        calls.append(Call("cudaGraphLaunch", at - 15, at - 5, graph))
        calls.append(Call("cudaStreamSynchronize", at - 4, at + 20.0 * layers + 3, graph + 1))
        for layer in range(layers):
            start = at + 20.0 * layer
            ops.append(Op("k", start, 10.0, 7, graph, node=2 * layer))
            ops.append(Op("ncclDevKernel_AllReduce", start + 10.0, 10.0, 7, graph, node=2 * layer + 1))
    return hand_trace(ops, calls, ranges, world_size=2, rank=rank, path=f"rank{rank}.json")


@pytest.mark.parametrize("lost", [(0,), (1,), (0, 1)])
def test_on_any_rank_they_may_save_as_much_as_the_others(lost: tuple[int, ...]) -> None:
    whole = answer(K4, of_rank(0), of_rank(1))
    assert whole.limits.high == pytest.approx(16 * US)
    traces = [without_ends(of_rank(rank), "k") if rank in lost else of_rank(rank) for rank in (0, 1)]
    got = answer(K4, *traces)
    assert got.limits.high == pytest.approx(whole.limits.high)
    assert got.limits.low <= whole.limits.low
    assert codes(got)["calls_without_times"] == 8 * len(lost)


def test_a_fused_sequence_with_one_is_counted_and_not_timed() -> None:
    trace = graph_steps([*LAYER * 8, ("head", 50.0)], 400)
    fused = fusion("a", "k", "b", new_us=28.0)
    whole, got = answer(fused, trace), answer(fused, without_ends(trace, "k"))
    assert whole.limits.naive == whole.limits.high == 8 * 7 * US
    assert (got.match.calls_per_step, got.limits.naive, got.limits.high) == (8, 56 * US, 56 * US)
    assert got.limits.low == got.limits.expected == 4 * 7 * US
    assert codes(got)["calls_without_times"] == 12
    assert got.pct.ceiling == pytest.approx(whole.pct.ceiling)


def test_a_kernel_without_an_end_still_stands_between_two_others() -> None:
    trace = without_ends(graph_steps([*LAYER * 8, ("head", 50.0)], 1_000), "k", every=1)
    beside = fusion("a", "b", new_us=20.0)
    with pytest.raises(NotInTraceError, match="never follow each other"):
        answer(beside, trace)
    with pytest.raises(NotInTraceError, match="no matched call has usable times"):
        answer(fusion("a", "k", "b", new_us=20.0), trace)


def test_where_a_kernel_without_a_start_belongs_is_not_guessed() -> None:
    trace = without_ends(graph_steps([*LAYER * 8, ("head", 50.0)], 1_000), "k", every=3, column="start_ns")
    with pytest.raises(NotInTraceError, match="no usable start") as told:
        answer(fusion("a", "k", "b", new_us=28.0), trace)
    assert "8 without" in told.value.line()
    assert answer(fusion("b", "head", new_us=40.0), trace).limits.high == 30 * US


def test_beside_other_work_they_count_with_the_shared_part() -> None:
    ops = [Op(name, 100.0 * i, 40.0, stream, 1) for i in range(8) for name, stream in (("k", 7), ("c", 8))]
    trace = hand_trace(ops, [Call("cudaGraphLaunch", -15, -5, 1)], [Range(-20, 10)])
    whole, got = answer(K4, trace), answer(K4, without_ends(trace, "k"))
    assert whole.limits.contended
    assert got.limits.high == pytest.approx(whole.limits.high)
    assert got.limits.high == pytest.approx(2 * 8 * 4 * US)


def test_the_ceiling_is_the_same_for_threshold_and_project() -> None:
    trace = without_ends(graph_steps([*LAYER * 8, ("head", 50.0)], 1_000), "k")
    rows = tb.threshold(trace).tables[0].frame.filter(pl.col("kernel") == "k")
    assert rows["ceiling_pct"].item() == pytest.approx(answer(K4, trace).pct.ceiling)
    assert rows["ceiling_pct"].item() == pytest.approx(100 * 8 * 10 / 1_000)
