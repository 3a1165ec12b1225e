"""Candidates on one trace: alone, together, all but one; worked on a fork and join whose answers are known."""

from dataclasses import replace

import pytest

import trace_budget as tb
from projection.builders import Call, Op, Range, hand_trace
from trace_budget import api
from trace_budget.errors import NotInTraceError, UsageError
from trace_budget.projection.candidates import CandidateSet, parse_candidates
from trace_budget.projection.rank import Ranking, rank
from trace_budget.schema.trace import Trace

STEPS = 4
PERIOD = 200.0


def fork_and_join() -> Trace:
    """Each step one CUDA graph: a(10), then k(30) beside c(22), joined by j(5); the host waits for each step."""
    ops, calls, ranges = [], [], []
    for step in range(STEPS):
        at, graph, copy = step * PERIOD, 10 * step + 1, 10 * step + 2
        ranges.append(Range(at - 20, at + 10))
        calls.append(Call("cudaGraphLaunch", at - 15, at - 5, graph))
        calls.append(Call("cudaStreamSynchronize", at - 4, at + 52, copy))
        ops += [
            Op("a", at, 10, 7, graph, node=1),
            Op("k", at + 11, 30, 7, graph, node=2),
            Op("c", at + 11, 22, 8, graph, node=3),
            Op("j", at + 42, 5, 7, graph, node=4),
        ]
    return hand_trace(ops, calls, ranges)


def asked(*rows: tuple[str, str, str]) -> CandidateSet:
    """Candidates from (id, kernel, keys)."""
    text = "".join(
        f'[[candidate]]\nid = "{i}"\nmatch = {{ kernel = "{k}", mode = "exact" }}\n{keys}\n' for i, k, keys in rows
    )
    return parse_candidates('schema = "trace-budget/candidates/1"\n' + text)


def ranked(*rows: tuple[str, str, str]) -> Ranking:
    return rank(api.analyse(fork_and_join()), asked(*rows))


def test_parallel_branches_save_more_together_than_alone() -> None:
    ranking = ranked(("kk", "k", "saving_us = 12"), ("cc", "c", "saving_us = 12"))
    alone = {row.candidate.id: row.alone.limits.expected for row in ranking.rows}
    # k alone is stopped by c after 8 us; c alone ends earlier for nobody; both together take 12 us off the join.
    assert alone["kk"] == pytest.approx(8_000, abs=1_100)
    assert alone["cc"] == 0
    assert ranking.joint.expected == pytest.approx(12_000, abs=1_100)
    assert ranking.joint.expected > ranking.sum_ns
    marginal = {row.candidate.id: row.marginal_ns for row in ranking.rows}
    assert marginal["kk"] == pytest.approx(ranking.joint.expected)
    assert marginal["cc"] == pytest.approx(ranking.joint.expected - alone["kk"])


def test_a_candidate_for_steps_of_another_phase_is_refused() -> None:
    with pytest.raises(NotInTraceError, match="steps of phase prefill for 'kk', found phase decode"):
        ranked(("kk", "k", 'saving_us = 12\napply_to = { steps = "prefill" }'))
    assert ranked(("kk", "k", 'saving_us = 12\napply_to = { steps = "decode" }')).rows


def test_candidates_in_a_row_add_until_another_branch_takes_over() -> None:
    ranking = ranked(("aa", "a", "saving_us = 4"), ("jj", "j", "saving_us = 2"))
    assert ranking.sum_ns == pytest.approx(6_000, abs=1)
    assert ranking.joint.expected == pytest.approx(6_000, abs=1)
    assert [row.candidate.id for row in ranking.rows] == ["aa", "jj"]


def test_a_set_is_ranked_as_each_candidate_is_projected_alone() -> None:
    found = api.analyse(fork_and_join())
    candidates = asked(("aa", "a", "saving_us = 4"), ("kk", "k", "speedup = 1.5"), ("jj", "j", "new_us = 4"))
    ranking = rank(found, candidates)
    for row in ranking.rows:
        single = rank(found, replace(candidates, candidates=(row.candidate,)))
        assert single.rows[0].alone.limits == row.alone.limits
        assert single.rows[0].alone.verdict == row.alone.verdict


def test_candidates_of_a_group_exclude_each_other() -> None:
    one, two = 'saving_us = 4\ngroup = "a"', 'saving_us = 6\ngroup = "a"'
    ranking = ranked(("slow", "a", one), ("fast", "a", two))
    assert [(row.candidate.id, row.chosen) for row in ranking.rows] == [("fast", True), ("slow", False)]
    assert ranking.joint.expected == pytest.approx(6_000, abs=1)
    assert ranking.rows[1].marginal_ns is None


def test_a_call_is_never_saved_twice() -> None:
    with pytest.raises(UsageError, match="one and two share 4 calls"):
        ranked(("one", "a", "saving_us = 4"), ("two", "a", "saving_us = 6"))


def test_a_candidate_that_matches_nothing_stops_the_ranking() -> None:
    with pytest.raises(NotInTraceError, match="no kernel of the counted steps matches"):
        ranked(("aa", "a", "saving_us = 4"), ("zz", "zebra", "saving_us = 4"))


def test_a_fusion_that_holds_up_another_branch_costs_time() -> None:
    text = '[[candidate]]\nid = "f"\nreplace = { sequence = ["re:^a$", "re:^k$"] }\nnew_us = 35\n'
    found = api.analyse(fork_and_join())
    ranking = rank(found, parse_candidates('schema = "trace-budget/candidates/1"\n' + text))
    # a(10) + gap(1) + k(30) = 41 becomes 35: 6 us a call. But c waits for a: it now starts at 35 and ends at 58, so the
    # join moves from 42 to 59.
    alone = ranking.rows[0].alone
    assert alone.match.calls_per_step == 1
    assert alone.limits.naive == pytest.approx(6_000)
    assert alone.limits.expected == pytest.approx(-17_000, abs=1)
    assert alone.limits.low <= -17_000 + 1
    assert ranking.joint.expected == pytest.approx(-17_000, abs=1)


def test_a_fused_chain_saves_its_gap() -> None:
    text = '[[candidate]]\nid = "f"\nreplace = { sequence = ["re:^k$", "re:^j$"] }\nnew_us = 30\n'
    ranking = rank(api.analyse(fork_and_join()), parse_candidates('schema = "trace-budget/candidates/1"\n' + text))
    alone = ranking.rows[0].alone
    # k(30) + gap(1) + j(5) = 36 becomes 30; both are on the critical path.
    assert alone.limits.naive == pytest.approx(6_000)
    assert alone.limits.expected == pytest.approx(6_000, abs=1)


def test_what_is_invalid_comes_last_and_saves_nothing_with_the_others() -> None:
    ranking = ranked(("kk", "k", "saving_us = 4"), ("aa", "a", "saving_us = 25"))
    alone = ranked(("kk", "k", "saving_us = 4"))
    assert [(row.candidate.id, row.chosen) for row in ranking.rows] == [("kk", True), ("aa", False)]
    assert ranking.rows[1].alone.verdict.verdict == "INVALID"
    assert ranking.rows[1].marginal_ns is None
    assert (ranking.joint, ranking.sum_ns) == (alone.joint, alone.sum_ns)


def test_of_a_group_the_best_that_is_valid_is_chosen() -> None:
    ranking = ranked(("small", "k", 'saving_us = 4\ngroup = "g"'), ("absurd", "k", 'saving_us = 300\ngroup = "g"'))
    assert [row.candidate.id for row in ranking.rows if row.chosen] == ["small"]


@pytest.mark.parametrize(
    "keys",
    [
        *("saving_us = 5", "free = true", "speedup = 1.3", "new_us = 25\nbaseline_us = 28"),
        *("zero_cost = { proxy_us = 25 }", "zero_cost = { proxy_us = 25 }\nbaseline_us = 31", "new_us = 40"),
        *("saving_us = 5\nhit_rate = 0.25", "saving_us = 5\nhit_rate = { low = 0.2, high = 0.9 }"),
        *("saving_us = 5\nper_step_us = 3", "saving_us = 5\noverhead_us = 1", "saving_us = 5\nsaving_ci_us = [4, 7]"),
    ],
)
@pytest.mark.parametrize("kernel", ["k", "a", "j"])
def test_one_candidate_saves_together_what_it_saves_alone(kernel: str, keys: str) -> None:
    ranking = ranked(("one", kernel, keys.replace("= 25", "= 4").replace("= 28", "= 5") if kernel != "k" else keys))
    alone = ranking.rows[0].alone
    if alone.saving.invalid:
        assert (ranking.joint.low, ranking.joint.expected, ranking.joint.high) == (0, 0, 0)
        return
    for name in ("low", "expected", "high"):
        assert getattr(ranking.joint, name) == pytest.approx(getattr(alone.limits, name), abs=1e-6), name
    assert ranking.sum_ns == pytest.approx(alone.limits.expected)
    assert ranking.rows[0].marginal_ns == pytest.approx(alone.limits.expected)


def test_of_a_group_the_one_that_saves_most_with_its_costs_and_hits_is_built() -> None:
    keys = ('saving_us = 10\nhit_rate = 0.1\ngroup = "g"', 'saving_us = 5\ngroup = "g"')
    ranking = ranked(*(("often" if "hit" not in key else "seldom", "k", key) for key in keys))
    assert {row.candidate.id: row.chosen for row in ranking.rows} == {"often": True, "seldom": False}


def told(code: str, *rows: tuple[str, str, str]) -> list[tuple[str, int]]:
    report = tb.rank(fork_and_join(), asked(*rows))
    return [(caveat.text, caveat.count) for caveat in report.caveats if caveat.code == code]


def test_what_is_to_be_known_of_some_candidates_names_them() -> None:
    """A caveat of one candidate must not stand in for that of another."""
    both = told("ratio_only", ("kk", "k", "speedup = 1.2"), ("cc", "c", "speedup = 1.2"))
    assert [text.startswith("a ratio") for text, _ in both] == [True]
    (one,) = told("ratio_only", ("kk", "k", "speedup = 1.2"), ("cc", "c", "saving_us = 2"))
    assert one[0].startswith("kk: a ratio")
    apart = told(
        "baseline_differs",
        ("kk", "k", "saving_us = 2\nbaseline_us = 25"),
        ("cc", "c", "saving_us = 2\nbaseline_us = 18"),
        ("jj", "j", "saving_us = 2"),
    )
    assert sorted(text[:36] for text, _ in apart) == [
        "cc: in the trace the kernel takes 1.",
        "kk: in the trace the kernel takes 1.",
    ]


def test_very_many_of_one_kind_are_summed_up() -> None:
    rows = [(f"c{at}", "k", f'saving_us = 2\nbaseline_us = {22 + at / 4}\ngroup = "g"') for at in range(9)]
    texts = told("baseline_differs", *rows, ("jj", "j", "saving_us = 2"))
    assert len(texts) == 5
    assert texts[-1] == ("the same kind for other candidates, 5 times", 5)
