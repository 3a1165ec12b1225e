"""What one reading of the trace makes of a candidate."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Reading:
    """A candidate under one reading: what a token takes, the calls, the layers, the % and the verdict.

    `says` and `denies` are what speaks for and against the reading, `settle` the option that chooses it.
    """

    level: str
    method: str
    confidence: str
    says: tuple[str, ...]
    denies: tuple[str, ...]
    token_ns: float
    calls_per_step: float
    layers: int | None
    pct: tuple[float, float, float]
    verdict: str
    settle: str
    label: str


def agree(readings: tuple[Reading, ...]) -> bool:
    """Whether all readings come to one verdict."""
    return len({one.verdict for one in readings}) <= 1
