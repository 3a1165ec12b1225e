"""The realised difference: medians, the combined interval, and what makes it resolved; worked by hand."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest

from trace_budget.comparison.realised import realised
from trace_budget.projection.statistics import spread
from trace_budget.schema.findings import Steps


def steps(windows: list[int], intervals: list[int | None] | None = None) -> Steps:
    frame = pl.DataFrame(
        {
            "step_index": range(len(windows)),
            "window_ns": windows,
            "interval_ns": pl.Series(intervals or [None] * len(windows), dtype=pl.Int64),
            "used": [True] * len(windows),
        }
    )
    return Steps(frame, np.zeros(0, np.int32), 0, "decode", "annotations", "high")


def test_one_step_each_gives_a_difference_without_an_interval() -> None:
    got = realised(steps([1_000_000]), steps([980_000]))
    assert (got.measure, got.saving_ns, got.pct) == ("window", 20_000.0, 2.0)
    assert (got.low_ns, got.high_ns, got.resolved) == (None, None, None)


def test_stated_noise_gives_one_step_each_an_interval() -> None:
    got = realised(steps([1_000_000]), steps([980_000]), noise_pct=1.0)
    half = 1.96 * math.sqrt(2) * 10_000
    assert (got.low_ns, got.high_ns) == pytest.approx((20_000 - half, 20_000 + half))
    assert got.resolved is False
    assert realised(steps([1_000_000]), steps([900_000]), noise_pct=1.0).resolved is True


def test_intervals_of_both_medians_add_up_as_root_sum_of_squares() -> None:
    first = [1_000_000, 1_010_000, 990_000, 1_005_000, 995_000, 1_002_000]
    second = [900_000, 915_000, 890_000, 905_000, 895_000, 903_000]
    got = realised(steps(first), steps(second))
    a, b = spread(np.array(first, float)), spread(np.array(second, float))
    assert a.ci95 is not None
    assert b.ci95 is not None
    assert got.saving_ns == a.median - b.median
    assert got.low_ns == pytest.approx(got.saving_ns - math.hypot(a.median - a.ci95[0], b.ci95[1] - b.median))
    assert got.high_ns == pytest.approx(got.saving_ns + math.hypot(a.ci95[1] - a.median, b.median - b.ci95[0]))
    assert got.resolved is True


def test_the_same_steps_are_not_resolved() -> None:
    times = [1_000_000, 1_010_000, 990_000, 1_005_000]
    got = realised(steps(times), steps(times))
    assert got.saving_ns == 0
    assert got.resolved is False


def test_steps_that_follow_each_other_are_compared_by_interval_when_both_do() -> None:
    follow = steps([900, 900, 900], [1_000, 1_000, None])
    assert realised(follow, steps([900, 900, 900], [950, 950, None])).saving_ns == 50
    mixed = realised(follow, steps([880]))
    assert (mixed.measure, mixed.saving_ns) == ("window", 20)
