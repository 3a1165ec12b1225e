"""Times and ids from text against Decimal arithmetic."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trace_budget.readers.kineto.numbers import LONGEST_NS, SYNTHETIC_BELOW, Ids, int_column, ns_from_us, whole_number

DIGITS = st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**17), max_value=10**17)


def expected_ns(text: str) -> int | None:
    """The number of ns by Decimal, rounded half up; None beyond what a time may be."""
    ns = int((Decimal(text) * 1000).quantize(Decimal(1), ROUND_HALF_UP))
    return ns if abs(ns) <= LONGEST_NS - 1_000 else None


@settings(deadline=None)
@given(st.lists(DIGITS | st.integers(-(10**18), 10**18) | st.floats(-1e15, 1e15)))
def test_times_equal_decimal_arithmetic(values: list[Decimal | int | float]) -> None:
    texts = [str(value) for value in values]
    quoted = [f'"{text}"' for text in texts]
    expected = [expected_ns(text) for text in texts]
    assert ns_from_us(texts).to_list() == expected
    assert ns_from_us(quoted).to_list() == expected


@settings(deadline=None)
@given(st.integers(0, 10**16), st.integers(0, 999))
def test_three_decimals_are_exact_at_any_epoch(us: int, ns: int) -> None:
    expected = us * 1000 + ns if us * 1000 + ns < LONGEST_NS - 1_000 else None
    if us * 1000 + ns < LONGEST_NS - 1_000 or us * 1000 > LONGEST_NS:
        assert ns_from_us([f"{us}.{ns:03d}"]).to_list() == [expected]


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("1712195495604628.867", 1712195495604628867),
        ("123.45599999999999", 123456),
        ("0.9995", 1000),
        ("-0.0005", -1),
        ("1e3", 1_000_000),
        ("1.5E-3", 2),
        ("1e-400000", 0),
        ("1e400000", None),
        ("null", None),
        ("true", None),
        ('"NaN"', None),
        ('"inf"', None),
        ('""', None),
        ('" 5 "', 5_000),
        ("[1]", None),
        ("3000000000000000.001", None),
        ("9" * 5_000, None),
    ],
)
def test_times_by_hand(text: str, ns: int | None) -> None:
    assert ns_from_us([text, "1"]).to_list() == [ns, 1_000]


def test_no_times() -> None:
    assert ns_from_us([]).to_list() == []


@pytest.mark.parametrize(
    ("token", "number"),
    [
        (b"7", 7),
        (b'"7"', 7),
        (b"-7.0", -7),
        (b'"stream 7"', 7),
        (b"7.5", None),
        (b'"a7"', None),
        (b"null", None),
        (b"7e2", None),
    ],
)
def test_whole_numbers(token: bytes, number: int | None) -> None:
    assert whole_number(token) == number


def test_ids_of_texts_are_their_own_numbers() -> None:
    ids = Ids()
    tokens = (b"5", b'"Spans"', b'"Traces"', b'"Spans"', b"null", b'"5"', str(2**63).encode(), str(2**63 - 1).encode())
    found = [ids[token] for token in tokens]
    assert [found[at] for at in (0, 4, 5, 6, 7)] == [5, None, 5, None, 2**63 - 1]
    spans, traces, again = found[1:4]
    assert spans == again != traces
    assert spans is not None
    assert spans < SYNTHETIC_BELOW
    assert {spans: "Spans", traces: "Traces"} == ids.texts
    assert ids.lost == 1


def test_values_that_do_not_fit_become_null_and_are_counted() -> None:
    column, lost = int_column("x", [1, None, 2**64, -(2**63)])
    assert (column.to_list(), lost) == ([1, None, None, -(2**63)], 1)
