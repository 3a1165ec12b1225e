"""Bands stay in order through all of their arithmetic, and that arithmetic is that of their ends."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trace_budget.schema.band import NOTHING, Band, in_order, total

values = st.floats(-1e9, 1e9)
bands = st.tuples(values, values, values).map(lambda ends: Band(*sorted(ends)))


@pytest.mark.parametrize("ends", [(2, 1, 3), (1, 4, 3), (3, 2, 1), (float("nan"), 1, 2), (0, float("nan"), 2)])
def test_ends_out_of_order_are_no_band(ends: tuple[float, float, float]) -> None:
    with pytest.raises(ValueError, match="not a band"):
        Band(*ends)


@given(values, values, values)
def test_figures_found_apart_become_a_band_that_keeps_the_high_one(low: float, expected: float, high: float) -> None:
    band = in_order(low, expected, high)
    assert band.high == high
    assert band.low == min(low, expected, high)
    if low <= expected <= high:
        assert band.ends == (low, expected, high)


@given(bands, st.floats(-100, 100), st.floats(-1e6, 1e6))
def test_arithmetic_is_that_of_the_ends(band: Band, factor: float, amount: float) -> None:
    assert sorted(value * factor for value in band.ends) == list(band.times(factor).ends)
    assert band.plus(amount).ends == tuple(value + amount for value in band.ends)
    assert band.at_most(amount).high == min(band.high, amount)
    assert band.at_least(amount).low == max(band.low, amount)
    assert band.over(4).ends == tuple(value / 4 for value in band.ends)
    assert band.width == band.high - band.low


@given(st.lists(bands, max_size=5))
def test_bands_add_end_by_end(several: list[Band]) -> None:
    added = total(several)
    assert added.ends == tuple(sum(band.ends[end] for band in several) for end in range(3))
    assert total([]) == NOTHING


def test_a_band_names_its_ends_as_the_documents_do() -> None:
    assert Band(1, 2, 3).named() == {"low": 1, "expected": 2, "high": 3}
