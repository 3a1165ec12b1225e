"""Unions, overlaps and gaps of half-open intervals [start_ns, end_ns), vectorised over NumPy arrays.

All functions take two Int64 arrays of one length, in any order, with start <= end, and cost O(n log n).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from trace_budget.errors import InputError

LONGEST_NS = 2**62

Int64Array = npt.NDArray[np.int64]


def union(start_ns: Int64Array, end_ns: Int64Array) -> tuple[Int64Array, Int64Array]:
    """The disjoint intervals that cover the same time, sorted; intervals that touch are merged, empty ones dropped."""
    keep = end_ns > start_ns
    start_ns, end_ns = start_ns[keep], end_ns[keep]
    if start_ns.size == 0:
        return start_ns, end_ns
    order = np.argsort(start_ns, kind="stable")
    start_ns, end_ns = start_ns[order], end_ns[order]
    reach = np.maximum.accumulate(end_ns)
    opens = np.concatenate(([True], start_ns[1:] > reach[:-1]))
    closes = np.concatenate((opens[1:], [True]))
    return start_ns[opens], reach[closes]


def union_length(start_ns: Int64Array, end_ns: Int64Array) -> int:
    """Time in ns during which at least one interval is active."""
    starts, ends = union(start_ns, end_ns)
    return int((ends - starts).sum())


def gaps(start_ns: Int64Array, end_ns: Int64Array) -> tuple[Int64Array, Int64Array]:
    """The idle intervals between the first start and the last end."""
    starts, ends = union(start_ns, end_ns)
    return ends[:-1], starts[1:]


@dataclass(frozen=True, slots=True)
class Depth:
    """How long each interval runs alone, and how long 1, 2, … of them run together.

    `solo_ns[i]` is the part of interval i during which no other interval is active; `busy_ns` the union of all;
    `shared_ns` the time during which two or more are active. `solo_ns.sum() + shared_ns == busy_ns`.
    """

    solo_ns: Int64Array
    busy_ns: int
    shared_ns: int


def depth(start_ns: Int64Array, end_ns: Int64Array) -> Depth:
    """Sweep over all interval ends once and attribute the time with exactly one active interval to its owner.

    The owner is found without a loop: the running sum of +index at starts and -index at ends is, wherever exactly
    one interval is active, that interval's index.
    """
    count = start_ns.size
    solo = np.zeros(count, dtype=np.int64)
    times = np.concatenate((start_ns, end_ns))
    index = np.arange(count, dtype=np.int64)
    order = np.argsort(times, kind="stable")
    width = np.diff(times[order])
    active = np.cumsum(np.concatenate((np.ones(count, np.int64), -np.ones(count, np.int64)))[order])[:-1]
    owner = np.cumsum(np.concatenate((index, -index))[order])[:-1]
    alone = (active == 1) & (width > 0)
    np.add.at(solo, owner[alone], width[alone])
    return Depth(solo, int(width[active >= 1].sum()), int(width[active >= 2].sum()))


def covered_length(
    start_ns: Int64Array, end_ns: Int64Array, by_start_ns: Int64Array, by_end_ns: Int64Array
) -> Int64Array:
    """For each interval of the first set, the time in ns during which the second set is active."""
    starts, ends = union(by_start_ns, by_end_ns)
    if starts.size == 0:
        return np.zeros(start_ns.size, dtype=np.int64)
    return _covered_until(end_ns, starts, ends) - _covered_until(start_ns, starts, ends)


def _covered_until(time_ns: Int64Array, starts: Int64Array, ends: Int64Array) -> Int64Array:
    """Time covered by the disjoint sorted intervals before each instant."""
    total = np.concatenate(([0], np.cumsum(ends - starts)))
    last = np.searchsorted(starts, time_ns, side="right")
    inside = np.where(last > 0, np.minimum(time_ns, ends[np.maximum(last - 1, 0)]) - starts[np.maximum(last - 1, 0)], 0)
    whole: Int64Array = total[np.maximum(last - 1, 0)]
    return whole + inside


def stack_groups(
    group: Int64Array, start_ns: Int64Array, end_ns: Int64Array
) -> tuple[Int64Array, Int64Array, Int64Array]:
    """Move the intervals of each group (0 … g-1) to a stretch of time of its own, so one sweep serves all groups.

    Returns the moved starts and ends and, per group, where its stretch begins; a stretch is as long as its group's
    span plus one nanosecond, so touching groups never merge. Raises InputError when all spans together exceed 64 bits.
    """
    count = int(group.max()) + 1 if group.size else 0
    first = np.full(count, np.iinfo(np.int64).max)
    last = np.full(count, np.iinfo(np.int64).min)
    np.minimum.at(first, group, start_ns)
    np.maximum.at(last, group, end_ns)
    present = last >= first
    span = np.where(present, np.subtract(last, first, where=present, out=np.zeros(count, np.int64)) + 1, 0)
    if float(span.sum(dtype=np.float64)) >= LONGEST_NS:
        raise InputError(
            "times lie too far apart to be added up: broken timestamps",
            expected="less than 146 years in all",
            found=f"{int(present.sum())} groups, the longest of {int(span.max())} ns",
        )
    base = np.concatenate(([0], np.cumsum(span)[:-1])) if count else np.zeros(0, np.int64)
    shift = base[group] - first[group]
    return start_ns + shift, end_ns + shift, base


def union_length_by_group(group: Int64Array, start_ns: Int64Array, end_ns: Int64Array, groups: int) -> Int64Array:
    """Busy time of each group 0 … groups-1 (0 for groups without intervals)."""
    total = np.zeros(groups, dtype=np.int64)
    if group.size == 0:
        return total
    moved_start, moved_end, base = stack_groups(group, start_ns, end_ns)
    starts, ends = union(moved_start, moved_end)
    # Groups without intervals share their base with the next group: "right" picks the last of equals, the real one.
    owner = np.searchsorted(base, starts, side="right") - 1
    np.add.at(total, owner, ends - starts)
    return total
