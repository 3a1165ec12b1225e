"""Waits that one thread makes for another: where it returns the other goes on, step after step."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from trace_budget.projection.replay.host import Host
from trace_budget.projection.replay.pace import blocked_waits
from trace_budget.schema.findings import Int64Array

AT_ONCE_NS = 5_000  # a thread that goes on this soon after a wait of another has waited for it
STEADY = 0.8  # share of the waits after which it must go on
FEWEST = 3


@dataclass(frozen=True, slots=True)
class _Idle:
    """For waits of other threads: since when a thread had nothing on record, and when it went on."""

    since: Int64Array
    until: Int64Array


def with_handed_over(calls: pl.DataFrame, origin: int, end: Int64Array, launch: Int64Array, host: Host) -> Host:
    """The host with a wait on each launching thread for every wait of another thread that it sits out.

    Only threads that do not wait themselves get any. A thread that goes on at once surely waited; of one that goes on
    later it is only likely, for what it does between calls is not on record.
    """
    waits = np.flatnonzero(blocked_waits(end, host))
    launching = np.unique(host.thread[launch[launch >= 0]])
    if not waits.size or np.unique(host.thread).size < 2:
        return host
    rows: list[Int64Array] = []
    threads: list[int] = []
    sure: list[np.ndarray] = []
    entered = host.start_ns.copy()
    for thread in launching.tolist():
        theirs = waits[host.thread[waits] != thread]
        if np.count_nonzero(host.thread[waits] == thread) * 2 >= theirs.size:
            continue
        idle = _idle(calls, origin, int(host.tid[thread]), host.end_ns[theirs])
        sat_out = (idle.until >= host.end_ns[theirs]) & (idle.since < host.end_ns[theirs])
        if theirs.size < FEWEST or np.mean(sat_out) < STEADY:
            continue
        kept = theirs[sat_out]
        at_once = (idle.until - host.end_ns[theirs])[sat_out] <= AT_ONCE_NS
        entered[kept] = np.maximum(host.start_ns[kept], idle.since[sat_out])
        rows.append(kept)
        threads.append(thread)
        sure.append(np.full(kept.size, np.mean(at_once) >= STEADY))
    return _with_rows(host, rows, threads, sure, entered) if rows else host


def _idle(calls: pl.DataFrame, origin: int, tid: int, at: Int64Array) -> _Idle:
    """What the thread did last before these times, and next at or after them."""
    mine = calls.filter(pl.col("tid").fill_null(-1) == tid)
    start = mine["start_ns"].to_numpy() - origin
    ended = np.maximum.accumulate(mine["end_ns"].to_numpy() - origin) if mine.height else start
    place = np.searchsorted(start, at, side="left")
    never = np.iinfo(np.int64).max
    since = np.concatenate(([np.iinfo(np.int64).min], ended))[place]
    return _Idle(since, np.append(start, never)[place])


def _with_rows(
    host: Host, rows: list[Int64Array], threads: list[int], sure: list[np.ndarray], entered: Int64Array
) -> Host:
    taken = np.concatenate(rows)
    thread = np.repeat(np.array(threads, dtype=np.int64), [part.size for part in rows])
    return replace(
        host,
        start_ns=np.concatenate((host.start_ns, entered[taken])),
        end_ns=np.concatenate((host.end_ns, host.end_ns[taken])),
        thread=np.concatenate((host.thread, thread)),
        is_wait=np.concatenate((host.is_wait, np.ones(taken.size, dtype=bool))),
        own_op=np.concatenate((host.own_op, host.own_op[taken])),
        is_sync=np.concatenate((host.is_sync, np.zeros(taken.size, dtype=bool))),
        sure=np.concatenate((host.sure, *sure)),
    )
