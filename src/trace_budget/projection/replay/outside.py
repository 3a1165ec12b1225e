"""Time in which host and device do nothing on record: something outside of the trace may set the pace."""

from __future__ import annotations

import numpy as np
import polars as pl

from trace_budget.schema.findings import Int64Array

LEAST_SHARE = 0.15  # of a step; schedulers of engines work for less than this between their calls
LEAST_NS = 300_000
STEPS_TO_TELL = 6
VARIES_NS = 1_000


def paced_outside(calls: pl.DataFrame, origin: int, step: Int64Array, start: Int64Array, end: Int64Array) -> bool:
    """Whether all idle together for a good part of each step, so that the saving may only make this longer.

    Not so where the steps themselves show that the pause does not make up for longer work.
    """
    indexes, dense = np.unique(step, return_inverse=True)
    if indexes.size < 3:
        return False
    begun = np.full(indexes.size, np.iinfo(np.int64).max)
    np.minimum.at(begun, dense, start)
    begun = np.maximum.accumulate(begun)
    idle = _longest_idle(calls, origin, begun, start, end)
    length = np.diff(begun)
    if np.median(idle) < max(LEAST_SHARE * float(np.median(length)), LEAST_NS):
        return False
    return not _makes_up_for_nothing(idle, length)


def _longest_idle(
    calls: pl.DataFrame, origin: int, begun: Int64Array, start: Int64Array, end: Int64Array
) -> Int64Array:
    """The longest time in each step without any call or op."""
    from_ns = np.concatenate((start, calls["start_ns"].to_numpy() - origin))
    to_ns = np.concatenate((end, calls["end_ns"].to_numpy() - origin))
    order = np.argsort(from_ns, kind="stable")
    reach = np.maximum.accumulate(to_ns[order])[:-1]
    gap = from_ns[order][1:] - reach
    inside = (gap > 0) & (reach >= begun[0]) & (reach < begun[-1])
    longest = np.zeros(begun.size - 1, dtype=np.int64)
    np.maximum.at(longest, np.searchsorted(begun, reach[inside], side="right") - 1, gap[inside])
    return longest


def _makes_up_for_nothing(idle: Int64Array, length: Int64Array) -> bool:
    """Longer work makes a longer step: the pause is the host's own work, and no clock is waited for."""
    if idle.size < STEPS_TO_TELL:
        return False
    work = length - idle
    if work.std() < VARIES_NS or idle.std() > work.std():
        return False
    slope = float(np.cov(work, idle)[0, 1] / work.var(ddof=1))
    return slope > -0.5
