"""Ranks of one job projected together: a collective ends when the last rank has arrived."""

from dataclasses import replace

import pytest

from gpu_simulator import deltas, planned, random_program, simulate, step_savings_ns, to_trace
from projection.builders import Call, Op, Range, hand_trace
from trace_budget import api
from trace_budget.errors import UsageError
from trace_budget.projection.candidates import Candidate, CandidateSet
from trace_budget.projection.project import Projection, project
from trace_budget.projection.rank import rank as ranking
from trace_budget.questions import project as project_question
from trace_budget.schema.options import Change, Policy, Selection, TokenInput
from trace_budget.schema.trace import Trace

STEPS = 4
CLOCK_US = 5_000.0


def rank(work_us: float, other_us: float, clock_us: float = 0.0, meeting: str = "ncclDevKernel_AllReduce") -> Trace:
    """One rank of two: w(work_us), an all-reduce of 10 us that needs both, tail(10); the host waits."""
    ops, calls, ranges = [], [], []
    for step in range(STEPS):
        at, graph = 400.0 * step + clock_us, 10 * step + 1
        met = at + max(work_us, other_us) + 10
        ranges.append(Range(at - 20, at + 10))
        calls.append(Call("cudaGraphLaunch", at - 15, at - 5, graph))
        calls.append(Call("cudaStreamSynchronize", at - 4, met + 13, graph + 1))
        ops += [
            Op("w", at, work_us, 7, graph, node=1),
            Op(meeting, at + work_us, met - at - work_us, 7, graph, node=2),
            Op("tail", met, 10, 7, graph, node=3),
        ]
    return hand_trace(ops, calls, ranges, world_size=2)


def asked(saving_us: float, name: str, *traces: Trace) -> Projection:
    found = [api.analyse(trace) for trace in traces]
    change = Change(saving_us=saving_us, clip=True)
    return project(found[0], Selection(name), change, TokenInput(), Policy(), found[1:])


def test_both_ranks_faster_saves_in_full() -> None:
    result = asked(15.0, "w", rank(100, 120), rank(120, 100, CLOCK_US))
    assert result.limits.expected == pytest.approx(15_000, abs=1)
    assert result.limits.low == pytest.approx(15_000, abs=2_100)
    assert "one_rank" not in {caveat.code for caveat in result.caveats}


def test_alone_the_other_rank_may_gain_nothing() -> None:
    result = asked(15.0, "w", rank(100, 120))
    assert result.limits.low == 0
    assert result.limits.expected == pytest.approx(15_000, abs=1)
    assert "one_rank" in {caveat.code for caveat in result.caveats}


def test_a_faster_collective_saves_transfer_not_waiting() -> None:
    together = asked(25.0, "AllReduce", rank(100, 120), rank(120, 100, CLOCK_US))
    # On rank 0 the call takes 30 us, 20 of them waiting: at most the 10 us of the last rank can go.
    assert together.limits.expected == pytest.approx(10_000, abs=1)
    assert together.limits.high <= 10_000 + 1


def test_weighted_phases_take_the_other_ranks_along() -> None:
    traces = replace(rank(100, 120), rank=0), replace(rank(120, 100, CLOCK_US), rank=1)
    candidate = Candidate("", Change(saving_us=15.0), Selection("w"))
    plain = project_question.candidate_report(traces[0], candidate, others=traces[1:]).document
    weighted = project_question.mixture_report(traces[0], candidate, {"decode": 1.0}, others=traces[1:]).document
    alone = project_question.mixture_report(traces[0], candidate, {"decode": 1.0}).document
    assert weighted["pct"] == pytest.approx(plain["pct"])
    assert alone["pct"] != pytest.approx(plain["pct"])
    with pytest.raises(UsageError):
        project_question.mixture_report(traces[0], candidate, {"decode": 1.0}, others=traces[:1])


@pytest.mark.parametrize("seed", range(6))
def test_two_simulated_ranks_against_the_truth(seed: int) -> None:
    plan = planned(random_program("tp2", seed))
    base = simulate(plan)
    traces = [to_trace(base, rank=r) for r in range(2)]
    works = [node.kernel for _, node in base.ops() if node.kernel is not None and node.kernel.kind == "kernel"]
    kernel = sorted({work.name for work in works})[seed]
    after = simulate(plan, deltas(plan, kernel, 700))
    true_ns = float(step_savings_ns(base, after).mean())
    result = asked(0.7, f"re:^{kernel}$", *traces)
    assert result.limits.low - 1.5 <= true_ns <= result.limits.high + 1.5
    assert result.limits.expected == pytest.approx(true_ns, abs=0.03 * result.limits.naive + 1)


@pytest.mark.parametrize(
    ("first", "second", "found"),
    [
        (("a.json", 0), ("a.json", 0), "rank 0"),
        (("a.json", None), ("./a.json", None), "the same file twice"),
        (("a.json", 0), ("./a.json", None), "the same file twice"),
        (("a.json", 0), ("copy.json", 0), "rank 0"),
    ],
)
def test_a_rank_is_given_once(first: tuple[str, int | None], second: tuple[str, int | None], found: str) -> None:
    base = rank(100, 120)
    one, two = (replace(base, path=path, rank=number) for path, number in (first, second))
    candidate = Candidate("", Change(saving_us=15.0), Selection("w"))
    with pytest.raises(UsageError, match="a rank is given twice") as refused:
        project_question.candidate_report(one, candidate, others=[two])
    assert found in refused.value.line()
    third = replace(base, path="b.json", rank=1)
    with pytest.raises(UsageError, match="a rank is given twice"):
        project_question.candidate_report(third, candidate, others=[one, two])


def test_a_rank_that_shares_no_collective_is_told() -> None:
    mine, other, strange = rank(100, 120), rank(120, 100), rank(120, 100, meeting="ncclDevKernel_Broadcast")
    alone, unused = asked(15.0, "w", mine), asked(15.0, "w", mine, strange)
    assert (unused.limits.low, unused.limits.high) == (alone.limits.low, alone.limits.high)
    assert "rank_unused" in {caveat.code for caveat in unused.caveats}
    candidates = CandidateSet((Candidate("a", Change(saving_us=15.0), Selection("w")),), Policy(), TokenInput())
    ranked = ranking(api.analyse(mine), candidates, [api.analyse(strange)])
    assert "rank_unused" in {caveat.code for caveat in ranked.rows[0].alone.caveats}
    assert "rank_unused" not in {caveat.code for caveat in asked(15.0, "w", mine, other).caveats}
