"""What the step really gained: the difference of two runs' step times, its interval, and whether it is resolved."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from trace_budget.projection.statistics import FloatArray, Spread, spread
from trace_budget.schema.findings import Steps
from trace_budget.schema.trace import Caveat

NORMAL_95 = 1.96
PAUSE_SHARE = 0.25  # of the device time of a step: so much more idle time than after others is a pause


@dataclass(frozen=True, slots=True)
class Realised:
    """Step times in ns of both runs and what was saved between them (positive: AFTER is faster).

    `measure` is interval or window. `low`, `high`: the 95 % interval of the saving; None when a run has fewer than
    three steps and no run-to-run noise was stated. `resolved`: whether it leaves out 0; None without an interval.
    `drift_ns`: the part of the saving that everything else drifted by. `paused`: steps left out for a pause after them.
    """

    before: Spread
    after: Spread
    measure: str
    saving_ns: float
    low_ns: float | None
    high_ns: float | None
    drift_ns: float = 0.0
    paused: int = 0

    @property
    def corrected(self) -> Realised:
        """What the change itself saved: without what everything else drifted by."""
        ends = (None if end is None else end - self.drift_ns for end in (self.low_ns, self.high_ns))
        low, high = ends
        return replace(self, saving_ns=self.saving_ns - self.drift_ns, low_ns=low, high_ns=high, drift_ns=0.0)

    @property
    def caveats(self) -> tuple[Caveat, ...]:
        """What was left out of the step times."""
        text = "steps are left out of the step times: a pause follows them in which neither run works"
        return (Caveat("pauses_left_out", text, self.paused),) if self.paused else ()

    @property
    def pct(self) -> float:
        """The saving in % of the step before."""
        return 100.0 * self.saving_ns / self.before.median

    @property
    def resolved(self) -> bool | None:
        """Whether the difference can be distinguished from noise."""
        if self.low_ns is None or self.high_ns is None:
            return None
        return self.low_ns > 0 or self.high_ns < 0


def realised(before: Steps, after: Steps, noise_pct: float | None = None) -> Realised:
    """The difference of the median step times; `noise_pct` (sigma of one run) widens its interval for run-to-run noise.

    Intervals of both medians are combined as their distances from the median, root sum of squares (MOVER: Zou and
    Donner, 2008, Statistics in Medicine 27).
    """
    measure = "interval" if _intervals(before) and _intervals(after) else "window"
    values = [_times(steps, measure) for steps in (before, after)]
    first, second = (spread(kept) for kept, _ in values)
    paused = sum(lost for _, lost in values)
    saving = first.median - second.median
    run_ns = math.sqrt(2) * NORMAL_95 * noise_pct / 100.0 * first.median if noise_pct else 0.0
    if first.ci95 is None or second.ci95 is None:
        known = bool(noise_pct)
        return Realised(
            first, second, measure, saving, saving - run_ns if known else None, saving + run_ns if known else None,
            paused=paused,
        )  # fmt: skip
    down = math.hypot(first.median - first.ci95[0], second.ci95[1] - second.median, run_ns)
    up = math.hypot(first.ci95[1] - first.median, second.median - second.ci95[0], run_ns)
    return Realised(first, second, measure, saving, saving - down, saving + up, paused=paused)


def _intervals(steps: Steps) -> bool:
    """Whether steps follow each other without waiting for work, so that the time from start to start is theirs."""
    return steps.measure == "interval"


def _times(steps: Steps, measure: str) -> tuple[FloatArray, int]:
    """The step times, and how many were left out for a pause.

    Where one in two intervals or fewer are far longer than their own device time asks for, nobody was served then.
    """
    rows = steps.frame.filter(pl.col("used") & pl.col(f"{measure}_ns").is_not_null())
    values = rows[f"{measure}_ns"].cast(pl.Float64).to_numpy()
    window = rows["window_ns"].cast(pl.Float64).to_numpy()
    idle = values - window
    pause = idle - idle.min(initial=np.inf) > PAUSE_SHARE * window
    if measure != "interval" or np.count_nonzero(pause) > values.size / 2:
        return values, 0
    return values[~pause], int(np.count_nonzero(pause))
