"""Each end of a tornado is what `project` says when that assumption is put there."""

from pathlib import Path

import pytest

from trace_budget import api
from trace_budget.pages.tornado import tornado
from trace_budget.projection.candidates import Candidate
from trace_budget.questions.project import projection
from trace_budget.schema.options import Change, Policy, Range, Scope, Selection, TokenInput
from trace_budget.schema.pictures import Swing

SEED = Path(__file__).parents[2] / "sample_traces" / "kineto" / "gdn_decode_gfx936.json.gz"


def swings(change: Change, policy: Policy | None = None) -> dict[str, Swing]:
    found = api.analyse(api.open_trace(SEED), Scope())
    drawn = tornado(found, Candidate("", change, Selection("gdn_fused")), TokenInput(), policy or Policy())
    assert drawn.expected_pct == pytest.approx(expected(change))
    widths = [swing.high_pct - swing.low_pct for swing in drawn.swings]
    assert widths == sorted(widths, reverse=True)
    return {swing.question: swing for swing in drawn.swings}


def expected(change: Change) -> float:
    return projection(SEED, "gdn_fused", change).pct.expected


def ends(swing: Swing) -> tuple[float, float]:
    return swing.low_pct, swing.high_pct


def test_a_stated_saving_may_be_off_by_half() -> None:
    moved = swings(Change(saving_us=4.0))["Q1"]
    assert ends(moved) == pytest.approx((expected(Change(saving_us=2.0)), expected(Change(saving_us=6.0))))
    assert "without --baseline-us" in moved.ends


def test_a_ratio_stays_a_ratio() -> None:
    moved = swings(Change(speedup=1.25))["Q1"]
    low, high = (Change(speedup=1 / (1 - share * 0.2)) for share in (0.5, 1.5))
    assert ends(moved) == pytest.approx((expected(low), expected(high)))


def test_a_new_time_stays_a_time() -> None:
    mean_us = 20.272
    moved = swings(Change(new_us=16.272))["Q1"]
    low, high = (Change(new_us=mean_us - share * 4.0) for share in (0.5, 1.5))
    assert ends(moved) == pytest.approx((expected(low), expected(high)), rel=1e-4)


def test_a_checked_saving_moves_as_far_as_its_own_range() -> None:
    moved = swings(Change(saving_us=4.0, baseline_us=25.34))["Q1"]
    kappa = 20.272 / 25.34
    assert ends(moved) == pytest.approx((expected(Change(saving_us=4.0 * kappa)), expected(Change(saving_us=4.0))))
    assert "without" not in moved.ends


def test_the_kernels_own_time_is_no_assumption() -> None:
    moved = swings(Change(free=True))
    assert moved["Q1"].low_pct == moved["Q1"].high_pct


@pytest.mark.parametrize(("given", "low", "high"), [(None, 0.0, 1.0), (Range(0.4, 0.8), 0.4, 0.8)])
def test_requests_are_all_or_none_until_stated(given: Range | None, low: float, high: float) -> None:
    change = Change(saving_us=4.0, hit_rate=given)
    moved = swings(change)["Q4"]
    shares = [expected(Change(saving_us=4.0, hit_rate=Range(share, share))) for share in (low, high)]
    assert ends(moved) == pytest.approx(tuple(shares))


def test_costs_that_nobody_looked_into_may_be_a_kernel_a_call() -> None:
    moved = swings(Change(saving_us=8.0))["Q6"]
    assert ends(moved) == pytest.approx(
        (expected(Change(saving_us=8.0, overhead_us=5.76)), expected(Change(saving_us=8.0)))
    )
    none = swings(Change(saving_us=8.0, overhead_us=0.0))["Q6"]
    assert none.low_pct == none.high_pct
    stated = swings(Change(saving_us=8.0, overhead_us=1.0))["Q6"]
    assert ends(stated) == pytest.approx(
        (expected(Change(saving_us=8.0, overhead_us=1.0)), expected(Change(saving_us=8.0)))
    )


def test_integration_leaves_what_it_left_elsewhere_or_what_was_stated() -> None:
    whole = expected(Change(saving_us=4.0))
    assert ends(swings(Change(saving_us=4.0))[""]) == pytest.approx((0.34 * whole, 0.98 * whole))
    assert ends(swings(Change(saving_us=4.0), Policy(dilution=0.5))[""]) == pytest.approx((0.5 * whole, whole))
