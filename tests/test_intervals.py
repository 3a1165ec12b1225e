"""Intervals: worked values at the edges; the laws are in test_interval_laws."""

import numpy as np
import pytest

from trace_budget import intervals
from trace_budget.errors import InputError

EMPTY = np.zeros(0, dtype=np.int64)
EPOCH = 1_764_500_000_000_000_000  # ns since 1970: a float would lose up to 250 of them


def ints(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.int64)


def test_touching_intervals_are_one_and_empty_ones_none() -> None:
    starts, ends = intervals.union(ints(5, 0, 3, 7, 9), ints(7, 3, 3, 7, 12))
    assert (starts.tolist(), ends.tolist()) == ([0, 5, 9], [3, 7, 12])


def test_what_lies_inside_another_adds_nothing() -> None:
    assert intervals.union_length(ints(0, 2, 4), ints(10, 3, 12)) == 12


@pytest.mark.parametrize("at", [0, EPOCH, -5])
def test_gaps_are_exact_at_any_time(at: int) -> None:
    starts, ends = intervals.gaps(ints(at, at + 1, at + 12), ints(at + 3, at + 10, at + 13))
    assert (starts.tolist(), ends.tolist()) == ([at + 10], [at + 12])
    assert intervals.depth(ints(at, at + 1), ints(at + 3, at + 10)).solo_ns.tolist() == [1, 7]


def test_nothing_at_all() -> None:
    assert intervals.union_length(EMPTY, EMPTY) == 0
    assert intervals.gaps(EMPTY, EMPTY)[0].size == 0
    assert intervals.depth(EMPTY, EMPTY).busy_ns == 0
    assert intervals.union_length_by_group(EMPTY, EMPTY, EMPTY, 3).tolist() == [0, 0, 0]
    assert intervals.covered_length(ints(1), ints(5), EMPTY, EMPTY).tolist() == [0]
    assert intervals.stack_groups(EMPTY, EMPTY, EMPTY)[2].size == 0


def test_three_deep() -> None:
    # 0-10 with 2-8 and 4-6 inside: alone 0-2 and 8-10, together 2-8.
    found = intervals.depth(ints(0, 2, 4), ints(10, 8, 6))
    assert (found.solo_ns.tolist(), found.busy_ns, found.shared_ns) == ([4, 0, 0], 10, 6)


def test_equal_intervals_share_all_their_time() -> None:
    found = intervals.depth(ints(3, 3), ints(9, 9))
    assert (found.solo_ns.tolist(), found.busy_ns, found.shared_ns) == ([0, 0], 6, 6)


def test_covered_time() -> None:
    covered = intervals.covered_length(ints(0, 5, 20, 30), ints(10, 6, 25, 30), ints(2, 3, 8), ints(4, 6, 22))
    assert covered.tolist() == [4 + 2, 1, 2, 0]


def test_groups_without_intervals_have_no_time() -> None:
    lengths = intervals.union_length_by_group(ints(3, 1, 3), ints(5, 0, 8), ints(9, 4, 12), 5)
    assert lengths.tolist() == [0, 4, 0, 7, 0]


def test_groups_that_touch_in_time_are_not_merged() -> None:
    assert intervals.union_length_by_group(ints(0, 1), ints(0, 5), ints(5, 9), 2).tolist() == [5, 4]


def test_broken_times_are_refused_instead_of_wrapping_around() -> None:
    groups = np.repeat(np.arange(4), 2)
    start = np.tile(ints(1, EPOCH), 4)
    with pytest.raises(InputError, match="4 groups, the longest of 1764500000000000005 ns"):
        intervals.union_length_by_group(groups, start, start + 5, 4)
    assert intervals.union_length_by_group(groups[:4], start[:4], start[:4] + 5, 2).tolist() == [10, 10]
