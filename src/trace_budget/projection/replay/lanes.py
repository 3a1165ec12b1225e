"""What the streams of a trace say of the order of ops, and how far they can be believed."""

from __future__ import annotations

import numpy as np
import polars as pl

from trace_budget.schema.findings import Int64Array

PDL_MOST_NS = (
    5_000  # programmatic early starts were measured up to 4 us; larger overlaps on one stream are no FIFO order
)
TOUCH_NS = 200  # overlaps up to this on one stream are clock grain (27 ns on AMD), not early starts


def previous_on_lane(lane: Int64Array, end: Int64Array, replay: Int64Array) -> Int64Array:
    """What each eager op follows on its stream: the op before, or all of a graph replay, which is its last op to end.

    Replay nodes have no such predecessor: inside a graph the stream shown orders nothing.
    """
    fifo = np.full(lane.size, -1, dtype=np.int64)
    order = np.argsort(lane, kind="stable")
    same = lane[order][1:] == lane[order][:-1]
    fifo[order[1:][same]] = order[:-1][same]
    last = _last_to_end(end, replay)
    followed = np.where(fifo >= 0, replay[np.maximum(fifo, 0)], -1)
    fifo = np.where(followed >= 0, last[followed], fifo)
    fifo[replay >= 0] = -1
    return fifo


def _last_to_end(end: Int64Array, replay: Int64Array) -> Int64Array:
    """The op of each replay that ends last, the first of equals; one entry at least."""
    inside = np.flatnonzero(replay >= 0)
    last = np.full(int(replay.max(initial=0)) + 1, -1, dtype=np.int64)
    ordered = inside[np.lexsort((-inside, end[inside], replay[inside]))]
    last[replay[ordered]] = ordered  # of several for one replay the last one stays
    return last


def in_order(start: Int64Array, end: Int64Array, fifo: Int64Array) -> Int64Array:
    """Drop predecessors that end too late for the op to have waited for them."""
    ahead = np.where(fifo >= 0, end[np.maximum(fifo, 0)] - start, 0)
    return np.where(ahead > PDL_MOST_NS, -1, fifo)


def behind_branches(start: Int64Array, end: Int64Array, fifo: Int64Array, replay: Int64Array) -> np.ndarray:
    """Ops that follow a replay of several branches: each of its last nodes may hold them back, not the latest only."""
    nodes = pl.DataFrame({"replay": replay, "start": start, "end": end}).with_row_index("op").filter(replay >= 0)
    beside = nodes.filter(pl.col("start") < pl.col("end").cum_max().shift().over("replay"))
    followed = np.where(fifo >= 0, replay[np.maximum(fifo, 0)], -1)
    behind: np.ndarray = (followed >= 0) & np.isin(followed, beside["replay"].unique().to_numpy())
    return behind


def touching(start: Int64Array, end: Int64Array, fifo: Int64Array) -> tuple[Int64Array, np.ndarray]:
    """Starts with clock grain removed, and which ops truly start before their predecessor on the stream ended."""
    previous_end = np.where(fifo >= 0, end[np.maximum(fifo, 0)], start)
    ahead = previous_end - start
    grain = (ahead > 0) & (ahead <= TOUCH_NS)
    return np.where(grain, np.minimum(previous_end, end), start), ahead > TOUCH_NS
