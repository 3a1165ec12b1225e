"""Numbers of a Kineto trace, exact from their text: times in ns, process and thread ids, sizes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation

import polars as pl

from trace_budget.units import NS_PER_US

LONGEST_NS = 3_000_000_000_000_000_000
SYNTHETIC_BELOW = -(2**62)
_INT64 = range(-(2**63), 2**63)
_PLAIN_NUMBER = r"^[0-9]{1,16}(\.[0-9]+)?$"
_WHOLE = re.compile(rb'"?\s*(?:stream\s+)?([-+]?\d{1,40})(?:\.0*)?\s*"?')


def ns_from_us(tokens: Sequence[str]) -> pl.Series:
    """Nanoseconds (Int64) of JSON tokens in microseconds, rounded half up where there are more than three decimals.

    Numbers and quoted numbers are read from their digits, never through a float. Null for everything else, and beyond
    3e18 ns, so that two such times and an epoch still add up.
    """
    text = pl.Series("us", tokens, dtype=pl.String)
    ns = text.to_frame().select(_ns_of_plain(pl.col("us").str.strip_chars('" ')).alias("ns"))["ns"]
    odd = (ns.is_null() & (text != "null")).arg_true()
    return ns.scatter(odd, [_ns_of_odd(value.strip('" ')) for value in text.gather(odd)]) if odd.len() else ns


def _ns_of_plain(text: pl.Expr) -> pl.Expr:
    """Sign, whole part and four decimals apart; the fourth only rounds. Null for what is no plain number in range."""
    size = text.str.strip_prefix("-")
    parts = size.str.split_exact(".", 1).struct
    whole = parts.field("field_0").cast(pl.Int64, strict=False)
    first_four = parts.field("field_1").fill_null("").str.pad_end(4, "0").str.slice(0, 4).cast(pl.Int64, strict=False)
    in_range = size.str.contains(_PLAIN_NUMBER) & (whole < LONGEST_NS // NS_PER_US)
    ns = pl.when(in_range).then(whole * 1000 + (first_four + 5) // 10)
    return pl.when(text.str.starts_with("-")).then(-ns).otherwise(ns)


def _ns_of_odd(text: str) -> int | None:
    """A number with an exponent, a sign or more digits than a time has; None when it is no number or out of range."""
    try:
        value = Decimal(text)
    except InvalidOperation:
        return None
    if not value.is_finite() or value.adjusted() > 18:
        return None
    if value.adjusted() < -6:
        return 0
    ns = int((value * 1000).quantize(Decimal(1), ROUND_HALF_UP))
    return ns if abs(ns) <= LONGEST_NS else None


def whole_number(token: bytes) -> int | None:
    """The integer a JSON token stands for (also quoted, also `7.0`, also `stream 7`); None when it is none."""
    found = _WHOLE.fullmatch(token)
    return int(found[1]) if found else None


class Ids(dict[bytes, int | None]):
    """Process and thread ids by their text: the number, or for a text a number of its own below -2^62.

    `texts` says what those stand for; `lost` counts the different ids beyond Int64, which become None.
    """

    def __init__(self) -> None:
        super().__init__()
        self.texts: dict[int, str] = {}
        self.lost = 0

    def __missing__(self, token: bytes) -> int | None:
        number = whole_number(token)
        if number is None and token != b"null":
            number = SYNTHETIC_BELOW - 1 - len(self.texts)
            self.texts[number] = token.decode("utf-8", "replace").strip('"')
        elif number is not None and number not in _INT64:
            number, self.lost = None, self.lost + 1
        self[token] = number
        return number


def int_column(name: str, values: Sequence[int | None], dtype: type[pl.DataType] = pl.Int64) -> tuple[pl.Series, int]:
    """An integer column, and how many values did not fit and became null."""
    column = pl.Series(name, values, dtype=dtype, strict=False)
    return column, column.null_count() - sum(value is None for value in values)
