"""What the step really gained: the difference of two runs' step times, its interval, and whether it is resolved."""

from __future__ import annotations

import math
from dataclasses import dataclass

import polars as pl

from trace_budget.projection.statistics import Spread, spread
from trace_budget.schema.findings import Steps

NORMAL_95 = 1.96


@dataclass(frozen=True, slots=True)
class Realised:
    """Step times in ns of both runs and what was saved between them (positive: AFTER is faster).

    `measure` is interval or window. `low`, `high`: the 95 % interval of the saving; None when a run has fewer than
    three steps and no run-to-run noise was stated. `resolved`: whether it leaves out 0; None without an interval.
    """

    before: Spread
    after: Spread
    measure: str
    saving_ns: float
    low_ns: float | None
    high_ns: float | None

    @property
    def pct(self) -> float:
        """The saving in % of the step before."""
        return 100.0 * self.saving_ns / self.before.median

    @property
    def resolved(self) -> bool | None:
        """Whether the difference can be told from noise."""
        if self.low_ns is None or self.high_ns is None:
            return None
        return self.low_ns > 0 or self.high_ns < 0


def realised(before: Steps, after: Steps, noise_pct: float | None = None) -> Realised:
    """The difference of the median step times; `noise_pct` (sigma of one run) widens its interval for run-to-run noise.

    Intervals of both medians are combined as their distances from the median, root sum of squares (MOVER: Zou and
    Donner, 2008, Statistics in Medicine 27).
    """
    measure = "interval" if _intervals(before) and _intervals(after) else "window"
    first, second = (_times(steps, measure) for steps in (before, after))
    saving = first.median - second.median
    run_ns = math.sqrt(2) * NORMAL_95 * noise_pct / 100.0 * first.median if noise_pct else 0.0
    if first.ci95 is None or second.ci95 is None:
        known = bool(noise_pct)
        return Realised(
            first, second, measure, saving, saving - run_ns if known else None, saving + run_ns if known else None
        )
    down = math.hypot(first.median - first.ci95[0], second.ci95[1] - second.median, run_ns)
    up = math.hypot(first.ci95[1] - first.median, second.median - second.ci95[0], run_ns)
    return Realised(first, second, measure, saving, saving - down, saving + up)


def _intervals(steps: Steps) -> bool:
    """Whether steps follow each other, so that the time from start to start is the step time."""
    rows = steps.frame.filter(pl.col("used"))
    return rows.height >= 2 and rows["interval_ns"].drop_nulls().len() > 0


def _times(steps: Steps, measure: str) -> Spread:
    values = steps.frame.filter(pl.col("used"))[f"{measure}_ns"].drop_nulls()
    return spread(values.cast(pl.Float64).to_numpy())
