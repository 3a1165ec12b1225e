"""The step time of Steps: intervals where steps follow each other, else the window."""

import math
from dataclasses import replace

import polars as pl
import pytest

from builders import US, decode_steps
from trace_budget.analysis.steps import find_steps
from trace_budget.schema.findings import Steps


def steps(windows: list[int | None], intervals: list[int | None], used: list[bool]) -> Steps:
    found = find_steps(decode_steps(len(windows), "a b c").trace())
    columns = (
        pl.Series("window_ns", windows, dtype=pl.Int64),
        pl.Series("interval_ns", intervals, dtype=pl.Int64),
        pl.Series("used", used),
    )
    return replace(found, frame=found.frame.with_columns(*columns))


@pytest.mark.parametrize(
    ("windows", "intervals", "used", "step_ns"),
    [
        ([10, 10, 10], [12, 14, None], [True, True, True], 13),
        ([10, 20, 90], [12, 14, None], [True, False, True], 12),
        ([10, 20, 90], [12, 14, None], [False, False, True], 90),
        ([10, 30, 20], [None, None, None], [True, True, True], 20),
        ([10], [None], [True], 10),
    ],
)
def test_the_step_time(windows: list[int], intervals: list[int | None], used: list[bool], step_ns: float) -> None:
    assert steps(windows, intervals, used).step_ns == step_ns


def test_without_times_it_is_not_a_number() -> None:
    assert math.isnan(steps([None, None], [None, None], [True, True]).step_ns)


def test_used_are_indexes_of_steps() -> None:
    assert steps([1, 2, 3], [1, 1, None], [True, False, True]).used.tolist() == [0, 2]
    assert find_steps(decode_steps(3, "a b").trace()).step_ns == 40 * US
