"""A figure that is known as a range: low, expected, high, always in that order."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

ENDS = ("low", "expected", "high")


@dataclass(frozen=True, slots=True)
class Band:
    """Low, expected and high value of one quantity in one unit; ValueError where they are not in this order."""

    low: float
    expected: float
    high: float

    def __post_init__(self) -> None:
        """Refuse ends out of order, and what is no number."""
        if not self.low <= self.expected <= self.high:
            raise ValueError(f"not a band: {self.low!r} <= {self.expected!r} <= {self.high!r}")

    @property
    def ends(self) -> tuple[float, float, float]:
        """(low, expected, high)."""
        return self.low, self.expected, self.high

    @property
    def width(self) -> float:
        """High minus low."""
        return self.high - self.low

    def each(self, change: Callable[[float], float]) -> Band:
        """The band with a function that keeps the order applied to each end."""
        return Band(*(change(value) for value in self.ends))

    def times(self, factor: float) -> Band:
        """The band times a number; a negative one turns it round."""
        scaled = [value * factor for value in self.ends]
        return Band(*(scaled if factor >= 0 else scaled[::-1]))

    def over(self, divisor: float) -> Band:
        """The band divided by a positive number."""
        return self.each(lambda value: value / divisor)

    def plus(self, amount: float) -> Band:
        """The band moved by an amount."""
        return self.each(lambda value: value + amount)

    def at_most(self, top: float) -> Band:
        """The band with nothing above `top`."""
        return self.each(lambda value: min(value, top))

    def at_least(self, bottom: float) -> Band:
        """The band with nothing below `bottom`."""
        return self.each(lambda value: max(value, bottom))

    def named(self) -> dict[str, float]:
        """The band as the JSON documents write it."""
        return dict(zip(ENDS, self.ends, strict=True))


NOTHING = Band(0.0, 0.0, 0.0)


def in_order(low: float, expected: float, high: float) -> Band:
    """A band of three figures that were found apart: high stands, low is the least of them, expected lies between."""
    low = min(low, expected, high)
    return Band(low, min(max(expected, low), high), high)


def total(bands: Iterable[Band]) -> Band:
    """Several bands added end by end."""
    ends = [band.ends for band in bands]
    return Band(*(sum(values) for values in zip(*ends, strict=True))) if ends else NOTHING
