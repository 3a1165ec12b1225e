"""Units: conversions against exact values, and numbers as people read them."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trace_budget import units


@pytest.mark.parametrize(
    ("convert", "value", "result"),
    [
        (units.us_from_ns, 10_743_181, 10_743.181),
        (units.ms_from_ns, 10_743_181, 10.743181),
        (units.ns_from_us, 3.228, 3_228.0),
        (units.ns_from_ms, 44.0, 44_000_000.0),
    ],
)
def test_conversions(convert: object, value: float, result: float) -> None:
    assert convert(value) == pytest.approx(result, rel=1e-15)  # type: ignore[operator]


@given(st.integers(-(2**53), 2**53))
def test_there_and_back(ns: int) -> None:
    assert units.ns_from_us(units.us_from_ns(ns)) == pytest.approx(ns, rel=1e-15)
    assert units.ns_from_ms(units.ms_from_ns(ns)) == pytest.approx(ns, rel=1e-15)


@pytest.mark.parametrize(
    ("part", "whole", "result"),
    [(77.472, 10_743.181, 0.721127), (0, 5, 0.0), (-1, 4, -25.0), (5, 4, 125.0)],
)
def test_percentages(part: float, whole: float, result: float) -> None:
    assert units.percent(part, whole) == pytest.approx(result, rel=1e-5)


@pytest.mark.parametrize("whole", [0, -1, math.inf, math.nan])
def test_a_share_of_nothing_is_unknown(whole: float) -> None:
    assert units.percent(1.0, whole) is None


def test_bytes_at_a_bandwidth() -> None:
    # 1 GB at 1000 GB/s takes 1 ms.
    assert units.us_of_bytes(1e9, 1000.0) == pytest.approx(1000.0)


@pytest.mark.parametrize(
    ("value", "digits", "thousands", "text"),
    [
        (None, 3, True, "-"),
        (math.nan, 1, True, "-"),
        (0.0, 3, True, "0.000"),
        (1234567.891, 2, True, "1,234,567.89"),
        (1234567.891, 2, False, "1234567.89"),
        (-0.5, 1, True, "-0.5"),
    ],
)
def test_numbers(value: float | None, digits: int, thousands: bool, text: str) -> None:
    assert units.show_number(value, digits, thousands) == text


@pytest.mark.parametrize(("value", "text"), [(None, "-"), (48, "48"), (48.0, "48"), (1234.0, "1,234"), (0.2, "0.20")])
def test_counts(value: float | None, text: str) -> None:
    assert units.show_count(value) == text


@pytest.mark.parametrize(
    ("us", "text"),
    [
        (None, "-"), (3.228, "3.228"), (12.94, "12.940"), (99.9994, "99.999"), (100.0, "100.00"),
        (999.994, "999.99"), (10_743.181, "10,743.2"), (-3.228, "-3.228"), (-10_743.181, "-10,743.2"),
    ],
)  # fmt: skip
def test_microseconds(us: float | None, text: str) -> None:
    assert units.show_us(us) == text


@pytest.mark.parametrize(("pct", "text"), [(None, "-"), (0.7211, "0.721 %"), (1.0, "1.00 %"), (-12.345, "-12.35 %")])
def test_shares(pct: float | None, text: str) -> None:
    assert units.show_pct(pct) == text


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1_000, "1.0 KB"),
        (498_310, "498.3 KB"),
        (62_422_530, "62.4 MB"),
        (5e12, "5000.0 GB"),
    ],
)
def test_sizes(size: int, text: str) -> None:
    assert units.show_bytes(size) == text


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_numbers_that_are_none_never_raise(value: float) -> None:
    for show in (units.show_count, units.show_us, units.show_pct):
        assert isinstance(show(value), str)
