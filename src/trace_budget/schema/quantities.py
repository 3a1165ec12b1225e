"""Numbers and words that options may hold: bounds of what can be, intervals, and the words of each choice."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real

from trace_budget.errors import UsageError

LOOPS = ("sync", "async", "auto")
PACES = ("device", "served")
PHASES = ("decode", "prefill", "mixed", "verify", "draft", "other")
TRUST = ("good", "usable", "broken")  # what `check` says of a trace, best first
VERDICTS = ("GO", "MARGINAL", "NO-GO", "INVALID")  # best first
SMALLEST, LARGEST = 1e-12, 1e15  # beyond lies no quantity of a trace, and products would leave the numbers there are
MOST_LAYERS = 100_000


@dataclass(frozen=True, slots=True)
class Range:
    """A value known as an interval; low == high when it is known."""

    low: float
    high: float


def within(name: str, value: object, least: float = SMALLEST, most: float = LARGEST) -> None:
    """Raise UsageError for what is no number, not finite, or outside of the bounds; None was not given."""
    if value is not None and (
        isinstance(value, bool) or not isinstance(value, Real) or not least <= float(value) <= most
    ):
        raise UsageError("not a number that can be", where=name, expected=f"{least:g} to {most:g}", found=repr(value))
