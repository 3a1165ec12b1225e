"""Launches for ops that have none of their own, or one that cannot be theirs: between those of their neighbours."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from trace_budget.projection.replay.host import Host, Launched
from trace_budget.schema.findings import Int64Array

MOVED_MOST_NS = 20_000  # an op booked no longer than this before its launch is moved behind it


def behind_launch(
    start: Int64Array, end: Int64Array, lane: Int64Array, host: Host, launched: Launched
) -> tuple[Int64Array, Int64Array]:
    """Starts and ends, those of ops booked shortly before their launch moved behind it where their stream has room."""
    launch = launched.launch
    if not host.start_ns.size:
        return start, end
    lag = np.where(launch >= 0, start - host.start_ns[np.maximum(launch, 0)], 0)
    early = (launched.replay < 0) & (lag < 0) & (lag >= -MOVED_MOST_NS)
    if not early.any():
        return start, end
    usual = lag[(launch >= 0) & (lag > 0)].min(initial=MOVED_MOST_NS)
    order = np.argsort(lane, kind="stable")
    following = np.full(start.size, np.iinfo(np.int64).max)
    same = lane[order][1:] == lane[order][:-1]
    following[order[:-1][same]] = start[order[1:][same]]
    by = np.where(early, usual - lag, 0)
    by = np.where(end + by <= following, by, 0)
    return start + by, end + by


@dataclass(frozen=True, slots=True)
class Lent:
    """The launches to go by, the ops that have a lent one, and when those were ready on the host at the very latest.

    `unsure`: lent ops whose true launch may lie on the other side of a wait.
    """

    host: Host
    launched: Launched
    lent: np.ndarray
    unsure: np.ndarray
    latest_ns: Int64Array


def lend(start: Int64Array, lane: Int64Array, host: Host, launched: Launched) -> Lent:
    """Give ops without a launch, or ahead of it, the launch of the op before on their stream.

    Launches of a stream come in its order, so the true one lies between those of the ops around. Where the thread waits
    for nothing between these two, the later says when the op was ready; else it may have been as late as its start. A
    graph launch behind its own nodes is taken to have begun with the first of them.
    """
    launch, replay = launched.launch, launched.replay
    host = replace(host, start_ns=_not_behind_nodes(start, host.start_ns, launched))
    if not host.start_ns.size:
        none = np.zeros(start.size, dtype=bool)
        return Lent(host, launched, none, none, start)
    stray = (replay < 0) & ((launch < 0) | (start < host.start_ns[np.maximum(launch, 0)]))
    before, after = _neighbours(np.where(stray, -1, launch), lane)
    lent = stray & (before >= 0)
    waits = _waits_before(host)
    sure = (after >= 0) & (host.start_ns[after] <= start) & (waits[after] == waits[before])
    sure &= host.thread[after] == host.thread[before]
    latest = np.where(sure, host.start_ns[after], start)
    own = np.where(stray, before, launch)
    return Lent(host, Launched(own, replay), lent, lent & ~sure, np.where(lent, latest, start))


def _not_behind_nodes(start: Int64Array, called: Int64Array, launched: Launched) -> Int64Array:
    """Starts of calls, those of graph launches no later than their first node."""
    out = called.copy()
    nodes = launched.replay >= 0
    np.minimum.at(out, launched.launch[nodes], start[nodes])
    return out


def _neighbours(launch: Int64Array, lane: Int64Array) -> tuple[Int64Array, Int64Array]:
    """The launches of the nearest ops before and behind each op on its stream that have one; -1 for none."""
    order = np.argsort(lane, kind="stable")
    known, sorted_lane = launch[order] >= 0, lane[order]
    rows = np.arange(order.size)
    before = np.maximum.accumulate(np.where(known, rows, -1))
    after = np.minimum.accumulate(np.where(known, rows, order.size)[::-1])[::-1]
    out = []
    for place in (before, after):
        inside = (place >= 0) & (place < order.size)
        held = np.clip(place, 0, order.size - 1)
        found = np.where(inside & (sorted_lane[held] == sorted_lane), launch[order[held]], -1)
        scattered = np.empty(order.size, dtype=np.int64)
        scattered[order] = found
        out.append(scattered)
    return out[0], out[1]


def _waits_before(host: Host) -> Int64Array:
    """How many waits the thread of each call had made before it."""
    waited = np.zeros(host.start_ns.size, dtype=np.int64)
    for thread in np.unique(host.thread):
        rows = np.flatnonzero(host.thread == thread)
        rows = rows[np.argsort(host.start_ns[rows], kind="stable")]
        waited[rows] = np.cumsum(host.is_wait[rows]) - host.is_wait[rows]
    return waited
