"""Several phases weighted together, against the arithmetic of a mixed workload."""

import pytest

from projection.builders import Call, Op, Range, hand_trace
from trace_budget import api
from trace_budget.errors import NotInTraceError, UsageError
from trace_budget.projection.candidates import Candidate
from trace_budget.projection.mixture import Phase, mix, weights_of
from trace_budget.questions import project as project_question
from trace_budget.schema.options import Change, Policy, Scope, Selection, TokenInput
from trace_budget.schema.trace import Trace


def two_phases() -> Trace:
    """Decode steps of 44 ms that run `hit` 48 times, and one mixed step of 80 ms that does not."""
    ops: list[Op] = []
    calls, ranges, at = [], [], 0.0
    for index, (name, length) in enumerate(
        [("decode", 44_000.0), ("mixed", 80_000.0), ("decode", 44_000.0), ("end", 1.0)]
    ):
        text = "execute_context_2(9)_generation_3(3)" if name == "mixed" else "execute_context_0(0)_generation_3(3)"
        graph = 10 * index + 1
        ranges.append(Range(at - 20, at + 5, text))
        calls.append(Call("cudaGraphLaunch", at - 15, at - 5, graph))
        calls.append(Call("cudaStreamSynchronize", at - 4, at + length - 40, graph + 1))
        if name == "end":
            ops.append(Op("other", at, 10, 7, graph))
            break
        busy = length - 50
        per_call = 12.93559
        rest = busy - (48 * per_call if name == "decode" else 0)
        begin = at
        for call in range(48 if name == "decode" else 0):
            ops.append(Op("hit", begin, per_call, 7, graph, node=call))
            begin += per_call
        ops.append(Op("other", begin, rest, 7, graph, node=99))
        at += length
    return hand_trace(ops, calls, ranges)


def test_saving_and_step_time_are_weighted_before_they_are_compared() -> None:
    trace = two_phases()
    weights = weights_of("decode=0.9,mixed=0.1")
    phases = [
        Phase(phase, share, api.analyse(trace, Scope(phase=phase, steps="0:3"))) for phase, share in weights.items()
    ]
    result = mix(phases, Candidate("", Change(saving_us=3.1084), Selection("hit")), TokenInput(), Policy())
    decode, mixed = result.shares
    assert mixed.projection is None
    assert decode.saved_ns.naive == pytest.approx(149_203.2)
    # 0.9 x 149.2032 us of 0.9 x 44 ms + 0.1 x 80 ms (steps here differ by the idle ends of their windows)
    whole = 0.9 * decode.step_ns + 0.1 * mixed.step_ns
    assert result.step_ns == pytest.approx(whole)
    assert result.pct.naive == pytest.approx(100 * 0.9 * 149_203.2 / whole)
    assert result.pct.naive == pytest.approx(0.28211, rel=2e-3)
    assert result.verdict.verdict == "NO-GO"


def test_no_phase_runs_the_kernel() -> None:
    phases = [Phase("decode", 1.0, api.analyse(two_phases(), Scope(phase="decode")))]
    with pytest.raises(NotInTraceError, match="no kernel of the counted steps matches"):
        mix(phases, Candidate("", Change(free=True), Selection("zebra")), TokenInput(), Policy())


def rank_of_two_phases(rank: int, mixed_runs: bool = True, mixed_unlike: bool = False) -> Trace:
    """Decode and mixed steps in turn, each with 8 calls of `k` (or of `other`, of the same length)."""
    ops: list[Op] = []
    calls, ranges = [], []
    for step in range(8):
        at, mixed = 400.0 * step, step % 2 == 1
        graph = 10 * step + 1
        text = "execute_context_2(9)_generation_3(3)" if mixed else "execute_context_0(0)_generation_3(3)"
        ranges.append(Range(at - 20, at + 5, text))
        calls.append(Call("cudaGraphLaunch", at - 15, at - 5, graph))
        calls.append(Call("cudaStreamSynchronize", at - 4, at + 350, graph + 1))
        for turn in range(8):
            name = "k" if mixed_runs or not mixed else "other"
            length = 30.0 if mixed and mixed_unlike and turn < 3 else 10.0
            ops.append(Op(name, at + 40.0 * turn, length, 7, graph, node=2 * turn))
            ops.append(
                Op(
                    "mixed" if mixed else "decode",
                    at + 40.0 * turn + length,
                    40.0 - length,
                    7,
                    graph,
                    node=2 * turn + 1,
                )
            )
    return hand_trace(ops, calls, ranges, rank=rank, path=f"rank{rank}.json")


WEIGHTS = {"decode": 0.5, "mixed": 0.5}
K = Candidate("", Change(saving_us=4.0, baseline_us=10.0), Selection("k"))


def test_a_rank_that_lacks_the_kernel_in_a_phase_is_told_and_takes_nothing_off() -> None:
    with pytest.raises(NotInTraceError, match=r"rank1\.json"):
        project_question.mixture_report(
            rank_of_two_phases(0), K, WEIGHTS, others=[rank_of_two_phases(1, mixed_runs=False)]
        )
    here = rank_of_two_phases(0, mixed_runs=False)
    alone = project_question.mixture_report(here, K, WEIGHTS).document["pct"]
    assert project_question.mixture_report(here, K, WEIGHTS, others=[rank_of_two_phases(1)]).document["pct"] == alone


def test_what_is_to_be_known_of_any_phase_is_told() -> None:
    report = project_question.mixture_report(rank_of_two_phases(0, mixed_unlike=True), K, WEIGHTS)
    (told,) = [caveat for caveat in report.caveats if caveat.code == "unlike_sites"]
    assert told.text.startswith("phase mixed: the calls are of several kinds")
    answers = report.document["evidence"]
    assert isinstance(answers, dict)
    assert (answers["Q1"]["grade"], answers["Q1"]["text"][:13]) == ("C", "phase mixed: ")
    same = project_question.mixture_report(rank_of_two_phases(0), K, WEIGHTS)
    assert not [caveat for caveat in same.caveats if caveat.text.startswith("phase ")]
    assert same.document["evidence"]["Q1"]["grade"] == "B"  # type: ignore[index]


def test_a_phase_stands_once_among_the_weights() -> None:
    with pytest.raises(UsageError, match="--weights"):
        weights_of("decode=1,decode=1")


def test_weights_are_shares() -> None:
    assert weights_of("decode=9, mixed=1") == {"decode": 0.9, "mixed": 0.1}
    overflowing = ("decode=1e308,mixed=1e308", "decode=1e16", "decode=nan")
    for text in ("decode", "decode=", "decode=-1", "decode=inf", "sleep=1", "", *overflowing):
        with pytest.raises(UsageError, match="not a share of steps"):
            weights_of(text)
