"""What sets the pace of a loop: how the host follows the device, and how much of a step it has to itself.

No step can become shorter than what a host thread does in it. What is left of the step is its headroom: time in which
the host waits for the device, or by which it falls behind a device it feeds too early.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trace_budget.projection.claimed_saving import FloatArray
from trace_budget.projection.replay.host import Host
from trace_budget.schema.findings import Int64Array

POLL_NS = 10_000  # a wait call shorter than this did not block
LONG_CALL = 4.0  # a launch that takes this multiple of the usual may have waited for room in the queue
HOST_SHARE = 0.05  # a host that waits for less of a step than this sets the pace
OUTLYING = 1.1  # a mean step this much longer than the median has outliers in it
MOST = 0.5  # share of steps
_LATEST = np.iinfo(np.int64).max
NOTHING_TO_FOLLOW, WAITS, AHEAD, UNCLEAR = "one", "waits", "ahead", "unclear"


@dataclass(frozen=True, slots=True)
class Pace:
    """How the host follows the device from step to step, and the time per step that is not its own.

    `loop`: waits (most steps are waited for before the next launch), ahead (most are launched before their predecessor
    ended), unclear (neither: the host is slower than the device), one (nothing to follow). `headroom_ns`: (least,
    likely, most) of a step that the launching threads do not need themselves, None when unknown. `closed`: nothing but
    the waits that are shown can hold the launching thread, so no step saves more than the most. `outside`: host and
    device idle together for so long that something else may set the pace. `period_ns`: a step.
    """

    loop: str
    headroom_ns: tuple[float, float, float] | None = None
    closed: bool = False
    outside: bool = False
    waits_visible: bool = False
    period_ns: float = 0.0

    @property
    def setter(self) -> str:
        """Who sets the pace: device, host, outside, or unknown."""
        if self.outside:
            return "outside"
        if self.headroom_ns is None or (self.loop in (UNCLEAR, WAITS) and not self.waits_visible):
            return "unknown"
        busy = self.loop == UNCLEAR or (self.loop == WAITS and self.headroom_ns[1] < HOST_SHARE * self.period_ns)
        return "host" if busy or self.headroom_ns[1] <= 0 else "device"

    def limited(self, saved: FloatArray, freed: FloatArray) -> FloatArray:
        """Savings per step (low, expected, high) x columns, no larger than the host lets them be.

        `freed`: host time per step that is gone as well, in the same shape.
        """
        out = saved.copy()
        if self.outside or (self.loop == WAITS and not self.waits_visible):
            out[0] = np.minimum(out[0], 0.0)  # waits that nobody saw prove nothing
        if self.headroom_ns is None:
            return out
        limit = np.asarray(self.headroom_ns)[:, None] + freed
        if self.loop in (AHEAD, UNCLEAR):
            out[0] = np.minimum(out[0], limit[0])
        if self.loop == AHEAD:
            out[1] = np.minimum(saved[1], limit[1])
        if self.closed:
            out[2] = np.minimum(saved[2], limit[2])
        return out


def pace_of(step: Int64Array, start: Int64Array, end: Int64Array, launch: Int64Array, host: Host, cost_ns: int) -> Pace:
    """The pace of the steps of a stretch; `cost_ns` is what a wait takes that waits for nothing."""
    indexes, dense = np.unique(step, return_inverse=True)
    if indexes.size < 3 or not host.visible:
        return Pace(NOTHING_TO_FOLLOW)
    launched = launch >= 0
    called = np.full(indexes.size, _LATEST)
    np.minimum.at(called, dense[launched], host.start_ns[launch[launched]])
    ended = np.full(indexes.size, np.iinfo(np.int64).min)
    np.maximum.at(ended, dense, end)
    blocked = blocked_waits(end, host)
    loop = _loop(ended[:-1], called[1:], host)
    main = _launching(launch[launched], dense[launched], indexes.size, host)
    if not main.size:
        return Pace(loop)
    begun = np.full(indexes.size, _LATEST)
    np.minimum.at(begun, dense, start)
    period = (begun[-1] - begun[0]) / (indexes.size - 1)
    # One long step lets a backlog grow that no other step adds to.
    usual = float(np.median(np.diff(begun)))
    likely_ns = usual if period > OUTLYING * usual else period
    span = min(usual, period), likely_ns, max(usual, period)
    parts = [_headroom(thread, launch, dense, span, host, blocked, cost_ns) for thread in main.tolist()]
    least, likely, most = (max(min(part[k] for part in parts), 0.0) for k in range(3))
    waiting = blocked | host.is_sync
    alone = main.size == 1 and bool((host.thread[waiting] == main[0]).all())
    often = _steps_with(host.start_ns[waiting], called) > MOST * (indexes.size - 1)
    closed = alone and often and host.waits_visible
    return Pace(loop, (least, likely, most), closed, waits_visible=host.waits_visible, period_ns=period)


def wait_cost(end: Int64Array, host: Host) -> int:
    """What a wait call itself takes: the shortest that waited for nothing, else the shortest return from the device."""
    entered, returned = host.start_ns[host.is_wait], host.end_ns[host.is_wait]
    if entered.size == 0:
        return POLL_NS
    ends = np.sort(end)
    ended = ends[np.maximum(np.searchsorted(ends, returned, side="right") - 1, 0)]
    idle = (ended <= entered) | (ended > returned)
    own = (returned - entered)[idle] if idle.any() else returned - ended
    return min(int(own.min()), POLL_NS)


def _loop(ended: Int64Array, following: Int64Array, host: Host) -> str:
    if np.mean(following < ended) > MOST:
        return AHEAD
    waits = np.flatnonzero(host.is_wait)
    waits = waits[np.argsort(host.end_ns[waits], kind="stable")]
    first = np.searchsorted(host.end_ns[waits], ended, side="left").tolist()
    last = np.searchsorted(host.end_ns[waits], following, side="right").tolist()
    entered = host.start_ns[waits]
    waited = [
        int(entered[begin:stop].min(initial=_LATEST)) <= until
        for begin, stop, until in zip(first, last, ended.tolist(), strict=True)
    ]
    return WAITS if np.mean(waited) > MOST else UNCLEAR


def blocked_waits(end: Int64Array, host: Host) -> np.ndarray:
    """Waits during which work of the device ended: they may have waited for it."""
    ends = np.sort(end)
    inside = np.searchsorted(ends, host.end_ns, side="right") > np.searchsorted(ends, host.start_ns, side="right")
    # What ended before the stretch is not in it; the first waits may have been for that.
    inside |= host.is_sync & (host.start_ns < ends[0]) & (host.end_ns - host.start_ns > POLL_NS)
    own = host.own_op >= 0
    mine = end[np.maximum(host.own_op, 0)]
    out: np.ndarray = host.is_wait & np.where(own, (mine > host.start_ns) & (mine <= host.end_ns), inside)
    return out


def _launching(launch: Int64Array, step: Int64Array, steps: int, host: Host) -> Int64Array:
    """The threads that launch work in most steps."""
    pairs = np.unique(np.stack((host.thread[launch], step)), axis=1)
    threads, count = np.unique(pairs[0], return_counts=True)
    return threads[count > MOST * steps]


def _headroom(
    thread: int,
    launch: Int64Array,
    step: Int64Array,
    span: tuple[float, float, float],
    host: Host,
    blocked: np.ndarray,
    cost_ns: int,
) -> tuple[float, float, float]:
    """(least, likely, most) of a step that a thread does not need for itself."""
    mine = np.flatnonzero(launch >= 0)
    mine = mine[host.thread[launch[mine]] == thread]
    called = np.full(int(step.max()) + 1, _LATEST)
    np.minimum.at(called, step[mine], host.start_ns[launch[mine]])
    shown = np.flatnonzero(called < _LATEST)
    if shown.size < 2:
        return 0.0, span[1], span[2]
    begin, until, steps = called[shown[0]], called[shown[-1]], int(shown[-1] - shown[0])
    length = host.end_ns - host.start_ns
    within = (host.thread == thread) & (host.start_ns >= begin) & (host.start_ns < until)
    waited, sure = length[within & blocked], host.sure[within & blocked]
    unsure = _spread(called[shown], shown, host.start_ns[within & blocked], waited)
    others = length[within & ~host.is_wait]
    stuck = others[others > max(LONG_CALL * float(np.median(others)), POLL_NS)] if others.size else others
    own = (until - begin) / steps
    return (
        span[0] - own - unsure + float(np.maximum(waited - POLL_NS, 0)[sure].sum()) / steps,
        span[1] - own + float(np.maximum(waited - cost_ns, 0).sum()) / steps,
        span[2] - own + unsure + float(waited.sum() + stuck.sum()) / steps,
    )


def _spread(called: Int64Array, index: Int64Array, entered: Int64Array, waited: Int64Array) -> float:
    """How far the mean of a thread's own work per step may be off: it varies, and the steps are few."""
    place = np.searchsorted(called, entered, side="right") - 1
    blocked = np.bincount(np.maximum(place, 0), weights=waited, minlength=called.size)[: called.size - 1]
    own = (np.diff(called) - blocked) / np.diff(index)
    return float(own.std(ddof=1) / np.sqrt(own.size)) if own.size > 1 else 0.0


def _steps_with(entered: Int64Array, called: Int64Array) -> int:
    """How many steps have one of these waits between their first launch and that of the next."""
    return int(np.unique(np.searchsorted(np.sort(called), entered)).size)
