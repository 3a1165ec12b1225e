"""The arithmetic alone: the founding figures, forward and inverse."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trace_budget.errors import UsageError
from trace_budget.projection.estimate import estimate
from trace_budget.schema.options import Range

ALL = Range(1.0, 1.0)
TOKEN_US = 44_000.0


@pytest.mark.parametrize(
    ("saving", "per_token", "pct"),
    [(12.93559 - 9.82719, 149.2032, 0.33910), (20.27239 - 17.04439, 154.944, 0.35215), (55.04 - 53.28, 84.48, 0.192)],
)
def test_the_three_founding_cases(saving: float, per_token: float, pct: float) -> None:
    got = estimate(saving, 48, TOKEN_US, ALL, 1.0, 1.0)
    assert got.saving_us_per_token == pytest.approx(per_token, abs=5e-5)
    assert got.pct == pytest.approx(pct, abs=5e-6)


def test_one_percent_of_44_ms_over_48_calls() -> None:
    got = estimate(3.1084, 48, TOKEN_US, ALL, 1.0, 1.0)
    assert got.required_us_per_call == pytest.approx(9.1667, abs=5e-5)


def test_a_quarter_of_the_requests() -> None:
    got = estimate(3.1084, 48, TOKEN_US, Range(0.25, 0.25), 1.0, 1.0)
    assert (got.saving_us_per_token, got.low_us_per_token) == pytest.approx((37.3008, 37.3008))
    assert got.required_us_per_call == pytest.approx(4 * 9.1667, abs=2e-4)


def test_a_range_of_hit_rates_gives_a_range() -> None:
    got = estimate(3.1084, 48, TOKEN_US, Range(0.25, 1.0), 1.0, 1.0)
    assert (got.low_us_per_token, got.saving_us_per_token) == pytest.approx((37.3008, 149.2032))
    assert (got.low_pct, got.pct) == pytest.approx((0.0847745, 0.3390982), abs=1e-7)


def test_several_tokens_a_step_share_its_saving() -> None:
    got = estimate(3.1084, 48, 17_600.0, ALL, 1.0, 2.5)
    assert got.saving_us_per_step == pytest.approx(149.2032)
    assert got.saving_us_per_token == pytest.approx(59.681, abs=5e-4)
    assert got.pct == pytest.approx(0.33910, abs=5e-6)


@given(
    calls=st.integers(1, 500), token=st.floats(100, 1e6), hit=st.floats(0.01, 1), target=st.floats(0.01, 50),
    tokens=st.floats(1, 8),
)  # fmt: skip
def test_what_is_required_reaches_the_target(
    calls: int, token: float, hit: float, target: float, tokens: float
) -> None:
    required = estimate(0.01, calls, token, Range(hit, hit), target, tokens).required_us_per_call
    assert estimate(required, calls, token, Range(hit, hit), target, tokens).pct == pytest.approx(target)


def test_more_than_the_token_cannot_be_saved() -> None:
    assert estimate(440.0, 100, TOKEN_US, ALL, 1.0, 1.0).pct == pytest.approx(100)
    with pytest.raises(UsageError, match="more than the token"):
        estimate(3_228.0, 48, TOKEN_US, ALL, 1.0, 1.0)
