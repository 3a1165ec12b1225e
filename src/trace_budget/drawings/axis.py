"""Axes: from figures to places, round numbers along them, and what is drawn at each; shared by all drawings."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from trace_budget.drawings import shapes
from trace_budget.units import show_number


@dataclass(frozen=True, slots=True)
class Axis:
    """A linear axis: figures from `low` to `high` on places from `first` to `last` in px."""

    low: float
    high: float
    first: float
    last: float

    def at(self, value: float) -> float:
        """The place of a figure; what lies outside stands at the end."""
        share = (value - self.low) / ((self.high - self.low) or 1.0)
        return self.first + (self.last - self.first) * min(max(share, 0.0), 1.0)


@dataclass(frozen=True, slots=True)
class LogAxis:
    """An axis of equal ratios; both ends are more than 0."""

    low: float
    high: float
    first: float
    last: float

    def at(self, value: float) -> float:
        """The place of a figure; what lies outside stands at the end."""
        span = math.log(self.high / self.low) or 1.0
        share = math.log(max(value, self.low) / self.low) / span
        return self.first + (self.last - self.first) * min(share, 1.0)

    def ticks(self) -> list[float]:
        """1, 2 and 5 times the powers of ten between the ends."""
        powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        values = [factor * 10.0**power for power in powers for factor in (1, 2, 5)]
        return [value for value in values if self.low <= value * (1 + 1e-9) and value <= self.high * (1 + 1e-9)]


def around(values: Iterable[float], first: float, last: float) -> Axis:
    """An axis that holds all finite values and 0, with a little room beyond."""
    known = [0.0, *(value for value in values if math.isfinite(value))]
    low, high = min(known), max(known)
    room = 0.04 * ((high - low) or 1.0)
    return Axis(low - (room if low < 0 else 0.0), high + room, first, last)


def ticks(low: float, high: float, most: int) -> list[float]:
    """Round numbers (1, 2, 5 x 10^n apart) from low to high, at most `most` and one more."""
    if high <= low:
        return [low]
    raw = (high - low) / most
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= raw * (1 - 1e-9))
    return [index * step for index in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]


def shown(value: float) -> str:
    """A round number without needless zeros."""
    text = show_number(round(value, 9), 6)
    return text.rstrip("0").rstrip(".") if value else "0"


def below(axis: Axis, top: float, bottom: float, title: str, unit: str = "") -> list[str]:
    """Grid lines, their figures under them, and the title of the axis; takes 44 px below `bottom`."""
    places = ticks(axis.low, axis.high, max(int((axis.last - axis.first) / 90), 2))
    parts = [shapes.upright(axis.at(value), top, bottom, "grid") for value in places]
    parts += [shapes.text(axis.at(v), bottom + 17, f"{shown(v)}{unit}", "small tick", "middle") for v in places]
    return [*parts, shapes.text((axis.first + axis.last) / 2, bottom + 37, title, "small", "middle")]
