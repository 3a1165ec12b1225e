"""What may stand after an option: each parser returns the value or says in one line what it wanted."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path

from trace_budget.schema.quantities import LARGEST, SMALLEST, Range

Text = str | float
MOST, MOST_ROWS = 2**63 - 1, 2**31


def _number(value: Text) -> float:
    try:
        number = float(value)
    except ValueError:
        raise ValueError(f"{value!r} is not a number") from None
    if not math.isfinite(number):
        raise ValueError(f"{value!r} is not a finite number")
    return number


def positive(value: Text) -> float:
    """A finite number above 0."""
    number = _number(value)
    if number <= 0:
        raise ValueError(f"{value!r} is not above 0")
    return _credible(number)


def not_negative(value: Text) -> float:
    """A finite number, 0 or above."""
    number = _number(value)
    if number < 0:
        raise ValueError(f"{value!r} is below 0")
    return _credible(number) if number else 0.0


def _credible(number: float) -> float:
    if not SMALLEST <= number <= LARGEST:
        raise ValueError(f"{number:g} is not between {SMALLEST:g} and {LARGEST:g}")
    return number


def share(value: Text) -> float:
    """A number above 0 and at most 1."""
    number = positive(value)
    if number > 1:
        raise ValueError(f"{value!r} is above 1: give a share, such as 0.5")
    return number


def percentage(value: Text) -> float:
    """A number above 0 and at most 100."""
    number = positive(value)
    if number > 100:
        raise ValueError(f"{value!r} is above 100 %")
    return number


def whole(lowest: int | None = None, highest: int = MOST) -> Callable[[Text], int]:
    """A parser of whole numbers from `lowest` to `highest`."""

    def parse(value: Text) -> int:
        number = _number(value)
        if not number.is_integer():
            raise ValueError(f"{value!r} is not a whole number")
        if lowest is not None and number < lowest:
            raise ValueError(f"{value!r} is below {lowest}")
        if number > highest:
            raise ValueError(f"{value!r} is above {highest}")
        return int(value)

    return parse


def one_of(*choices: str) -> Callable[[str], str]:
    """A parser that takes one of the given words."""

    def parse(value: str) -> str:
        if value not in choices:
            raise ValueError(f"{value!r} is not one of {', '.join(choices)}")
        return value

    return parse


def hit_rate(value: str) -> Range:
    """A share of requests or an interval of them: `0.6` or `0.6:1`, each from 0 to 1."""
    low, _, high = value.partition(":")
    bounds = Range(_number(low), _number(high or low))
    if not 0 <= bounds.low <= bounds.high <= 1:
        raise ValueError(f"{value!r} is not a share from 0 to 1, or LOW:HIGH of such shares")
    return bounds


def step_slice(value: str) -> str:
    """A slice over step indexes: `3:`, `:10`, `2:5` or `4`."""
    if not re.fullmatch(r"\d+|\d+:\d*|:\d+", value):
        raise ValueError(f"{value!r} is not a slice of steps such as 3:, :10, 2:5 or 4")
    return value


def pattern(value: str) -> str:
    """A regular expression that compiles."""
    try:
        re.compile(value)
    except (re.error, RecursionError, OverflowError) as error:
        raise ValueError(f"{value!r} is not a regular expression: {error}") from None
    return value


def file_with(*suffixes: str) -> Callable[[str | Path], Path]:
    """A parser of paths whose suffix says how the file is written."""

    def parse(value: str | Path) -> Path:
        path = Path(value)
        if path.suffix.lower() not in suffixes:
            raise ValueError(f"{str(value)!r} ends in none of {', '.join(suffixes)}")
        return path

    return parse
