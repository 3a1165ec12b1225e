"""Waits that no record shows: a host that goes on right after the device is done, step after step."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from trace_budget.projection.replay.host import Host
from trace_budget.schema.findings import Int64Array

AFTERWARDS = 0.1  # share of a step within which the next one must be launched after the device is done
STEADY = 0.8  # share of the steps
FEWEST = 3
_LATEST = np.iinfo(np.int64).max


def with_unseen_waits(step: Int64Array, end: Int64Array, launch: Int64Array, replay: Int64Array, host: Host) -> Host:
    """The host with a wait before each step, where its trace holds no waits at all and the device is what it follows.

    A host with work of its own would not be done just when the device is, however long that takes. Yet it is only
    likely that it waited, so such waits raise what is expected and prove nothing.
    """
    if host.waits_visible or not host.visible or host.start_ns.size == 0:
        return host
    indexes, dense = np.unique(step, return_inverse=True)
    launched = launch >= 0
    called = np.full(indexes.size, _LATEST)
    np.minimum.at(called, dense[launched], host.start_ns[launch[launched]])
    if indexes.size <= FEWEST or (called == _LATEST).any():
        return host
    ended = _done_before(called, dense, end, replay)
    lag, period = called[1:] - ended, float(np.median(np.diff(called)))
    order = np.argsort(host.start_ns, kind="stable")
    begun, returned = host.start_ns[order], np.maximum.accumulate(host.end_ns[order])
    before = np.searchsorted(begun, called[1:], side="left") - 1
    since = returned[np.maximum(before, 0)]
    follows = (lag >= 0) & (lag <= AFTERWARDS * period) & (since < ended)
    if np.mean(follows) < STEADY:
        return host
    first = order[np.searchsorted(begun, called[1:], side="left")]
    return _with_waits(host, since[follows], called[1:][follows], host.thread[first][follows])


def _done_before(called: Int64Array, step: Int64Array, end: Int64Array, replay: Int64Array) -> Int64Array:
    """Before the launch of each step but the first: when the step before was done, or, if later, its last graph."""
    steps = np.zeros(called.size, dtype=np.int64)
    np.maximum.at(steps, step, end)
    inside = replay >= 0
    if not inside.any():
        return steps[:-1]
    graphs = np.zeros(int(replay.max()) + 1, dtype=np.int64)
    np.maximum.at(graphs, replay[inside], end[inside])
    graphs = np.sort(graphs)
    place = np.searchsorted(graphs, called[1:], side="right") - 1
    last = np.where(place >= 0, graphs[np.maximum(place, 0)], steps[:-1])
    done: Int64Array = np.where(steps[:-1] <= called[1:], np.maximum(steps[:-1], last), last)
    return done


def _with_waits(host: Host, entered: Int64Array, returned: Int64Array, thread: Int64Array) -> Host:
    count = entered.size
    return replace(
        host,
        start_ns=np.concatenate((host.start_ns, entered)),
        end_ns=np.concatenate((host.end_ns, returned)),
        thread=np.concatenate((host.thread, thread)),
        is_wait=np.concatenate((host.is_wait, np.ones(count, dtype=bool))),
        own_op=np.concatenate((host.own_op, np.full(count, -1, dtype=np.int64))),
        is_sync=np.concatenate((host.is_sync, np.zeros(count, dtype=bool))),
        sure=np.concatenate((host.sure, np.zeros(count, dtype=bool))),
    )
