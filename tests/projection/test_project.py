"""Every option of a projection, on a decode trace whose answer is known by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import polars as pl
import pytest

from builders import DECODE, Tape
from projection.builders import Op, graph_steps, hand_trace, repeated_steps
from trace_budget.errors import NotInTraceError
from trace_budget.projection.project import Projection
from trace_budget.questions import project as project_question
from trace_budget.schema.options import Change, Policy, Range, Scope, Selection, TokenInput
from trace_budget.schema.trace import Caveat, Trace

US = 1_000
LAYER = [("norm", 10.0), ("gdn", 20.0), ("mlp", 70.0)]
CHAIN = [*LAYER * 10, ("head", 100.0)]


@pytest.fixture(scope="module")
def decode() -> Trace:
    """10 layers of 100 us and a head: 1100 us busy in steps of 2 ms, waited for."""
    return graph_steps(CHAIN, 2_000, steps=4)


def projected(
    trace: Trace,
    kernel: str = "gdn",
    scope: Scope | None = None,
    token: TokenInput | None = None,
    policy: Policy | None = None,
    **change: Any,
) -> Projection:
    return project_question.projection(
        trace, Selection(kernel), Change(**(change or {"saving_us": 4.0})), scope or Scope(), token, policy
    )


def us(of: Projection) -> tuple[float, float, float, float]:
    limits = of.limits
    return tuple(round(value / US, 6) for value in (limits.naive, limits.low, limits.expected, limits.high))  # type: ignore[return-value]


def test_the_plain_product(decode: Trace) -> None:
    got = projected(decode)
    assert us(got) == (40, 40, 40, 40)
    assert (got.pct.naive, got.pct.low, got.pct.high) == pytest.approx((2, 2, 2))
    assert got.pct.ceiling == pytest.approx(10)
    assert (got.match.layers, got.match.layers_hit) == (10, 10)


def test_costs_per_step_come_off_once(decode: Trace) -> None:
    assert us(projected(decode, saving_us=4.0, per_step_us=15.0)) == (25, 25, 25, 25)
    assert us(projected(decode, saving_us=4.0, per_step_us=55.0)) == (-15, -15, -15, -15)
    assert us(projected(decode, saving_us=4.0, overhead_us=1.0)) == (30, 30, 30, 30)


@pytest.mark.parametrize(
    ("hit", "figures"),
    [
        (Range(0.25, 0.25), (10, 10, 10, 10)),
        (Range(0.5, 1.0), (40, 20, 30, 40)),
        (Range(0.0, 1.0), (40, 0, 40, 40)),
        (Range(0.0, 0.5), (20, 0, 10, 20)),
        (Range(0.0, 0.0), (0, 0, 0, 0)),
    ],
)
def test_hit_rates(decode: Trace, hit: Range, figures: tuple[float, ...]) -> None:
    got = projected(decode, saving_us=4.0, hit_rate=hit)
    assert us(got) == figures
    assert (got.hit_rate.low, got.hit_rate.high) == (hit.low, hit.high)


def test_a_loss_is_worst_when_all_requests_hit_and_least_when_few_do(decode: Trace) -> None:
    assert us(projected(decode, new_us=22.0, hit_rate=Range(0.5, 1.0))) == (-20, -20, -15, -10)


def test_a_hit_rate_weighs_what_is_required(decode: Trace) -> None:
    got = projected(decode, saving_us=4.0, hit_rate=Range(0.5, 0.5)).required
    assert got.plain_ns == pytest.approx(4 * US)
    assert projected(decode).required.plain_ns == pytest.approx(2 * US)
    never = projected(decode, saving_us=4.0, hit_rate=Range(0.0, 0.0)).required
    assert (never.plain_ns, never.diluted_ns) == (None, None)


def test_what_is_required_includes_the_costs(decode: Trace) -> None:
    got = projected(decode, saving_us=4.0, overhead_us=1.0, per_step_us=5.0, policy=Policy(dilution=0.5)).required
    assert got.plain_ns == pytest.approx((2 + 1 + 0.5) * US)
    assert got.diluted_ns == pytest.approx((4 + 1 + 0.5) * US)
    assert got.ceiling_ns == 20 * US


def test_tokens_per_step_leave_the_percentage_alone(decode: Trace) -> None:
    got = projected(decode, token=TokenInput(tokens_per_step=4.0))
    assert (got.token.token_ns, us(got)[2]) == (500 * US, 40)
    assert got.pct.expected == pytest.approx(2)


def test_a_stated_token_sets_the_percentage(decode: Trace) -> None:
    got = projected(decode, token=TokenInput(token_ms=1.6))
    assert got.pct.expected == pytest.approx(2.5)
    assert "profiler_inflation" in {caveat.code for caveat in got.caveats}


@pytest.mark.parametrize("scope", [Scope(steps="1:3"), Scope(phase="decode"), Scope(layers=10), Scope(device=0)])
def test_scopes_leave_the_answer_of_equal_steps_alone(decode: Trace, scope: Scope) -> None:
    assert us(projected(decode, scope=scope)) == (40, 40, 40, 40)


def test_unequal_steps_prove_nothing_about_requests() -> None:
    chains = [CHAIN, [("vendor", us) if name == "gdn" else (name, us) for name, us in CHAIN], CHAIN, CHAIN]
    got = projected(repeated_steps(chains, 2_000), scope=Scope(steps="0:4"))
    assert (got.hit_rate.low, got.hit_rate.high) == (0.0, 1.0)
    assert got.limits.low == 0
    assert got.limits.naive == pytest.approx(30 * US)
    assert got.evidence["Q4"].grade == "D"


def test_asserted_calls_must_be_there(decode: Trace) -> None:
    assert us(projected(decode, saving_us=4.0, calls=10.0)) == (40, 40, 40, 40)
    with pytest.raises(NotInTraceError, match=r"--calls 48.*found 10"):
        projected(decode, saving_us=4.0, calls=48.0)
    assert projected(decode, saving_us=4.0, calls=48.0, force=True).evidence["Q2"].grade == "D"


def test_traces_that_lost_kernels_need_the_number_of_calls() -> None:
    chains = [CHAIN] * 7
    chains[3] = CHAIN[:9] + CHAIN[12:]
    trace = repeated_steps(chains, 2_000)
    left_out = projected(trace)
    assert left_out.verdict.verdict != "INVALID"
    assert "lost_kernels" in {caveat.code for caveat in left_out.caveats}
    counted = Scope(steps=":")
    unknown = projected(trace, scope=counted)
    assert (unknown.verdict.verdict, unknown.verdict.reason) == ("INVALID", "invalid_input")
    assert "lost in recording" in unknown.verdict.why
    assert projected(trace, scope=Scope(steps="0:3"), saving_us=4.0, calls=10.0).limits.naive == pytest.approx(40 * US)
    assert projected(trace, scope=counted, saving_us=4.0, force=True).verdict.verdict != "INVALID"
    stated = projected(trace, scope=counted, saving_us=4.0, calls=10.0)
    assert stated.verdict.verdict != "INVALID"
    assert stated.limits.naive == pytest.approx(40 * US)


def test_launches_without_kernels_lift_the_high_bound() -> None:
    tape = Tape()
    for _ in range(6):
        with tape.range(DECODE):
            for place in range(200):
                correlation = tape.call("cudaLaunchKernel")
                if place != 60:
                    tape.run(["gdn" if place % 20 == 0 else f"other_{place}"], correlation)
        tape.idle(20 * US)
    found = projected(tape.trace(), saving_us=4.0)
    assert found.match.calls_per_step == 9
    assert found.limits.high == pytest.approx(10 * 4 * US)
    assert found.limits.low <= found.limits.expected <= 9 * 4 * US
    assert found.pct.ceiling == pytest.approx(100 * 10 * 10 * US / found.token.token_ns)
    assert found.verdict.verdict != "INVALID"
    assert "launches_without_kernels" in {caveat.code for caveat in found.caveats}


def test_a_trace_of_the_capture_is_no_workload(decode: Trace) -> None:
    capture = replace(decode, caveats=(Caveat("capture_sidecar", "kernels were captured, not run", 1, "error"),))
    with pytest.raises(NotInTraceError, match="not a workload"):
        projected(capture)


def test_what_is_missing_is_told(decode: Trace) -> None:
    with pytest.raises(NotInTraceError, match="no kernel of the counted steps"):
        projected(decode, "attention")
    with pytest.raises(NotInTraceError, match="prefill"):
        projected(decode, scope=Scope(phase="prefill"))


def test_calls_without_times_are_taken_for_calls_like_the_others_in_upper_bounds_alone() -> None:
    ops = [Op("k", 100.0 * i, None if i == 2 else 40.0) for i in range(8)]
    got = projected(hand_trace(ops), "k", scope=Scope(steps="0"))
    assert got.match.calls_per_step == 8
    assert got.limits.naive == got.limits.high == 8 * 4 * US
    assert got.limits.low <= got.limits.expected <= 7 * 4 * US
    assert got.pct.ceiling == pytest.approx(100 * 8 * 40 * US / got.token.token_ns)
    slower, timed = (
        projected(hand_trace(calls), "k", scope=Scope(steps="0"), new_us=44.0) for calls in (ops, [*ops[:2], *ops[3:]])
    )
    assert slower.limits.low == pytest.approx(timed.limits.low - 4 * US)
    assert slower.limits.high == timed.limits.high
    assert "calls_without_times" in {caveat.code for caveat in got.caveats}
    with pytest.raises(NotInTraceError, match="no matched call has usable times"):
        projected(hand_trace([*ops, Op("dead", 900.0, None)]), "dead", scope=Scope(steps="0"))


def test_no_go_is_no_proof_without_the_calls_that_have_no_times(decode: Trace) -> None:
    """What half of the calls save must not be taken for what all of them save."""
    every_other = (pl.col("name").cast(pl.String) == "gdn") & (pl.int_range(pl.len()) % 2 == 0)
    ops = decode.gpu_ops.with_columns(end_ns=pl.when(every_other).then(None).otherwise("end_ns"))
    whole = projected(decode)
    half = projected(replace(decode, gpu_ops=ops))
    assert "calls_without_times" in {caveat.code for caveat in half.caveats}
    assert half.limits.naive == whole.limits.naive == 10 * 4 * US
    assert half.limits.high >= whole.limits.high
    assert half.pct.ceiling == pytest.approx(whole.pct.ceiling)


def test_calls_that_differ_are_told_and_no_baseline_fits_them_all() -> None:
    """A median between two kinds of calls is the time of neither."""
    chain = [part for index in range(10) for part in (("a", 5.0), ("k", 30.0 if index % 2 else 10.0))]
    got = projected(graph_steps(chain, 1_000), "k", saving_us=2.0, baseline_us=20.0)
    told = {caveat.code: caveat for caveat in got.caveats}["unlike_sites"]
    assert told.severity == "warning"
    assert got.evidence["Q1"].grade == "C"
    alike = [part for index in range(10) for part in (("a", 5.0), ("k", 21.0 if index % 2 else 18.0))]
    same = projected(graph_steps(alike, 1_000), "k", saving_us=2.0, baseline_us=20.0)
    assert "unlike_sites" not in {caveat.code for caveat in same.caveats}
    assert same.evidence["Q1"].grade == "B"


def test_a_call_that_is_long_in_every_step_is_a_site_of_its_own() -> None:
    chain = [part for _ in range(9) for part in (("a", 5.0), ("k", 20.0))] + [("a", 5.0), ("k", 150.0)]
    got = projected(graph_steps(chain, 1_000), "k", saving_us=4.0, baseline_us=20.0)
    assert got.saving.kappa == pytest.approx(1.0)
    assert {"duration_outlier", "unlike_sites"} <= {caveat.code for caveat in got.caveats}
    assert got.limits.low == pytest.approx(9 * 4 * US)
    assert got.limits.high == pytest.approx((9 * 4 + 150 * 4 / 20) * US)


def test_several_call_sites_are_told() -> None:
    layer = [("norm", 5.0), ("k", 20.0), ("gate", 7.0), ("k", 20.0), ("mlp", 30.0)]
    trace = graph_steps([*layer * 8, ("head", 50.0)], 1_000)
    assert "several_call_sites" in {caveat.code for caveat in projected(trace, "k").caveats}
    one = project_question.projection(trace, Selection("k", position=3), Change(saving_us=4.0))
    assert "several_call_sites" not in {caveat.code for caveat in one.caveats}


def test_runs_and_pairs_for_what_is_left_after_dilution(decode: Trace) -> None:
    got = projected(decode, policy=Policy(noise_pct=1.0, dilution=0.5))
    assert got.runs_needed == pytest.approx(17, abs=1)
    assert got.pairs_needed == pytest.approx(6, abs=1)
    assert projected(decode, new_us=25.0).runs_needed is None


def test_without_steps_there_is_no_token() -> None:
    got = projected(hand_trace([Op("k", 0.0, 40.0), Op("m", 50.0, 30.0), Op("k", 90.0, 40.0)]), "k")
    assert got.verdict.verdict in ("INVALID", "MARGINAL", "NO-GO")
    assert got.evidence["Q2"].grade in "CD"
