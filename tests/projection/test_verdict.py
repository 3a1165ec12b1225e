"""The verdict table: every verdict with every reason, and the grades it rests on."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trace_budget.projection.blockers import NO_DOUBTS, Blocker, Doubts, Loss
from trace_budget.projection.evidence import QUESTIONS, Graded
from trace_budget.projection.ledger import usual_dilution
from trace_budget.projection.verdict import Percent, Verdict, dilution_of, judge
from trace_budget.schema.options import Policy

QUIET = Policy(target_pct=1.0, noise_pct=0.1, runs=10)
GOOD = Percent(low=3.6, expected=3.8, high=4.0, naive=4.0, ceiling=20.0)
KNOWN = {key: Graded("B", "user", "") for key in QUESTIONS}


def said(
    pct: Percent = GOOD,
    answers: dict[str, Graded] = KNOWN,
    policy: Policy = QUIET,
    invalid: str = "",
    doubts: Doubts = NO_DOUBTS,
) -> Verdict:
    return judge(pct, answers, policy, invalid, doubts)


def stop(code: str) -> Doubts:
    return Doubts(stops=(Blocker(code, "why", "--option"),))


def lost(**left: float) -> Doubts:
    """Doubts of which each leaves so much of the saving."""
    return Doubts(losses=tuple(Loss(share, Blocker(code, "why", f"--{code}")) for code, share in left.items()))


def test_go_needs_the_diluted_low_bound_an_a_b_and_all_answers() -> None:
    got = said()
    assert (got.verdict, got.reason, got.dilution) == ("GO", "all_met", usual_dilution().expected)
    assert f"{3.6 * usual_dilution().expected:.2f} %" in got.why


@pytest.mark.parametrize(
    ("pct", "reason"),
    [
        (replace(GOOD, low=-3.0, expected=-2.0, high=-1.0), "regression"),
        (replace(GOOD, low=0.0, expected=0.0, high=0.0), "regression"),
        (replace(GOOD, low=0.1, expected=0.2, high=0.5, ceiling=0.9), "ceiling"),
        (replace(GOOD, low=0.1, expected=0.5, high=0.99), "high_bound"),
    ],
)
def test_no_go_is_proven_by_the_favourable_side(pct: Percent, reason: str) -> None:
    got = said(pct)
    assert (got.verdict, got.reason) == ("NO-GO", reason)
    assert said(pct, doubts=stop("bound_only")).verdict == "NO-GO"
    assert got.blockers == ()


def test_no_go_is_never_diluted() -> None:
    just = replace(GOOD, low=1.0, expected=1.0, high=1.0)
    assert said(just, policy=replace(QUIET, dilution=0.1)).verdict == "MARGINAL"


@pytest.mark.parametrize(
    ("pct", "doubts", "reason"),
    [
        (replace(GOOD, low=0.0, expected=1.0, high=4.0), lost(contention=0.0), "contention"),
        (replace(GOOD, low=1.0, expected=3.0, high=4.0), lost(other_stream=0.25), "other_stream"),
        (replace(GOOD, low=0.5, expected=1.0, high=4.0), lost(launch_bound=0.125), "launch_bound"),
        (replace(GOOD, low=0.2, expected=1.0, high=4.0), lost(hit_rate=0.05, control_range=0.9), "hit_rate"),
        (replace(GOOD, low=1.1, expected=1.1, high=1.1), NO_DOUBTS, "diluted"),
        (replace(GOOD, low=1.0, expected=3.0, high=4.0), NO_DOUBTS, "diluted"),
    ],
)
def test_marginal_names_what_binds(pct: Percent, doubts: Doubts, reason: str) -> None:
    got = said(pct, doubts=doubts)
    assert (got.verdict, got.reason) == ("MARGINAL", reason)
    assert got.why == got.blockers[0].text


def test_costs_that_no_option_lifts_are_told_too() -> None:
    got = said(replace(GOOD, low=0.5), policy=replace(QUIET, dilution=1.0))
    assert (got.verdict, got.reason) == ("MARGINAL", "bound_gap")


def test_what_suffices_alone_and_what_is_needed_are_blockers_but_no_bystander() -> None:
    """Of 8 % a twentieth is left by the hit rate; the benchmark and integration would leave enough."""
    doubts = lost(hit_rate=0.05, control_range=0.9)
    got = said(replace(GOOD, low=0.36, expected=2.0, high=8.0, naive=8.0), doubts=doubts)
    assert [each.code for each in got.blockers] == ["hit_rate"]
    both = said(replace(GOOD, low=0.16, expected=2.0, high=4.0), doubts=lost(hit_rate=0.2, other_stream=0.2))
    assert {"hit_rate", "other_stream"} <= {each.code for each in both.blockers}


def test_all_blockers_are_told_at_once_with_the_option_that_lifts_each() -> None:
    answers = {**KNOWN, "Q4": Graded("D", "assumed", ""), "Q6": Graded("D", "assumed", "")}
    doubts = replace(lost(hit_rate=0.01), stops=stop("unlike_sites").stops)
    policy = Policy(target_pct=1.0, noise_pct=5.0, runs=3)
    got = said(replace(GOOD, low=0.04), answers, policy, doubts=doubts)
    codes = [each.code for each in got.blockers]
    assert codes[0] == got.reason == "unlike_sites"
    assert {"hit_rate", "undetectable", "missing_evidence"} <= set(codes)
    assert [each.question for each in got.blockers if each.code == "missing_evidence"] == ["Q4", "Q6"]
    assert all(each.option for each in got.blockers)


def test_a_no_go_where_launches_set_the_pace_says_what_helps() -> None:
    got = said(replace(GOOD, low=0.0, expected=0.1, high=0.2), doubts=Doubts(launch_bound=True))
    assert got.verdict == "NO-GO"
    assert "--replace" in got.why


def test_marginal_when_no_a_b_could_see_it() -> None:
    got = said(policy=Policy(target_pct=1.0, noise_pct=2.35, runs=5))
    assert (got.verdict, got.reason) == ("MARGINAL", "undetectable")
    assert got.mde_pct == pytest.approx(4.76, abs=0.01)


def test_rounding_does_not_make_too_small_an_effect_large_enough() -> None:
    policy = Policy(target_pct=0.5, noise_pct=1.0, runs=5, dilution=1.0)
    limit = said(policy=policy).mde_pct
    just = limit - 1e-4
    got = said(Percent(just, just, just, just, 9.0), policy=policy)
    assert got.reason == "undetectable"
    assert f"{just:.4f}" in got.why


@pytest.mark.parametrize("missing", [("Q6",), ("Q4", "Q5")])
def test_marginal_while_a_question_is_open(missing: tuple[str, ...]) -> None:
    answers = {**KNOWN, **{key: Graded("D", "assumed", "") for key in missing}}
    got = said(answers=answers)
    assert (got.verdict, got.reason) == ("MARGINAL", f"missing_evidence({','.join(missing)})")
    assert all(QUESTIONS[key] in got.why for key in missing)


def test_a_bound_alone_never_confirms() -> None:
    got = said(doubts=stop("bound_only"))
    assert (got.verdict, got.reason) == ("MARGINAL", "bound_only")


def test_what_is_invalid_is_nothing_else() -> None:
    got = said(replace(GOOD, low=0.0, expected=0.0, high=0.0), invalid="baseline mismatch: …")
    assert (got.verdict, got.reason, got.why) == ("INVALID", "invalid_input", "baseline mismatch: …")


def test_what_arrives_of_a_saving_is_the_users_or_the_usual() -> None:
    assert dilution_of(QUIET) == usual_dilution().expected
    assert dilution_of(replace(QUIET, dilution=0.9)) == 0.9


def test_the_target_is_the_users() -> None:
    half = replace(GOOD, low=0.9, expected=0.95, high=0.99)
    assert said(half).verdict == "NO-GO"
    assert said(half, policy=replace(QUIET, target_pct=0.4)).verdict == "GO"


@given(
    values=st.lists(st.floats(-5, 30), min_size=3, max_size=3), ceiling=st.floats(0, 100), target=st.floats(0.1, 10),
    grade=st.sampled_from("ABCD"), left=st.floats(0, 1), stopped=st.booleans(),
)  # fmt: skip
def test_go_and_no_go_hold_what_they_say(
    values: list[float], ceiling: float, target: float, grade: str, left: float, stopped: bool
) -> None:
    low, expected, high = sorted(values)
    policy = replace(QUIET, target_pct=target)
    answers = {**KNOWN, "Q5": Graded(grade, "trace", "")}
    got = said(
        Percent(low, expected, high, high, ceiling),
        answers,
        policy,
        "",
        replace(lost(hit_rate=left), stops=stop("one_step").stops * stopped),
    )
    if got.verdict == "GO":
        assert low * got.dilution >= target
        assert expected * got.dilution >= got.mde_pct
        assert grade != "D"
        assert not stopped
        assert not got.blockers
    if got.verdict == "MARGINAL":
        assert got.blockers
    if got.verdict == "NO-GO":
        assert high < target or ceiling < target
    if high < target:
        assert got.verdict == "NO-GO"
