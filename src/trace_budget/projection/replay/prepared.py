"""What both engines of the replay work out once for a stretch: order of ends, slacks of launches, costs of waits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trace_budget.projection.claimed_saving import FloatArray
from trace_budget.projection.replay.clocks import UNBOUNDED_NS
from trace_budget.projection.replay.pace import POLL_NS, wait_cost
from trace_budget.projection.replay.stretch import Timeline
from trace_budget.schema.findings import Int64Array

RETURN_LIMIT_NS = 500_000  # a wait that returns later than this after the last op waited for something else
LONG_PAUSE = 5.0  # a thread that makes no call for this multiple of the usual time does more than one operator
Vanishing = dict[int, list[tuple[int, int]]]


@dataclass(frozen=True, slots=True)
class PreparedLine:
    """Plain arrays beside a Timeline, in ns and rows.

    `order`: ops by end, `ends` those ends, `place` where each op stands among them; `ended` how many had ended when an
    op started, `near_from` the first of them that ended close before. `host_slack`: how long an op was ready on the
    host's side; `launch_cap`: how much more than its launch it can move. `only_op`, `freed_ns`: per call, the vanishing
    op it launched (-1), and the host time (low, expected, high) that goes with it; `spare_ns`: alike, how long a wait
    had nothing to do but wait. `rest_ns`: what is left of a fused kernel after each op inside it, by op and column.
    """

    order: Int64Array
    ends: Int64Array
    place: Int64Array
    ended: Int64Array
    near_from: Int64Array
    host_slack: Int64Array
    host_may_hold: np.ndarray
    launch_cap: Int64Array
    freed_ns: FloatArray
    spare_ns: FloatArray
    only_op: Int64Array
    rest_ns: dict[int, dict[int, float]]
    return_ns: int
    threads: int


def prepare(line: Timeline, vanishing: Vanishing) -> PreparedLine:
    """Work these out for one stretch and the ops that vanish from it."""
    order = np.argsort(line.end_ns, kind="stable")
    ends = line.end_ns[order]
    ended = np.searchsorted(ends, line.start_ns, side="right")
    near = np.searchsorted(ends, line.start_ns - line.gap_max_ns, side="left")
    place = np.empty(line.size, dtype=np.int64)
    place[order] = np.arange(line.size)
    return PreparedLine(
        order, ends, place,
        # Anything may have held back an op whose launch is unknown: then nothing near is what counts.
        ended, np.where(line.unsure, ended, near),
        np.maximum(line.start_ns - line.latest_release_ns - line.latency_ns[1], 0),
        _host_may_hold(line), _launch_cap(line), _freed(line), _spare(line), _only_op(line, vanishing),
        _rest(line, vanishing), _usual_return(line), int(line.host.thread.max(initial=0)) + 1,
    )  # fmt: skip


def _only_op(line: Timeline, vanishing: Vanishing) -> Int64Array:
    """Per call the vanishing op that it alone launched, -1 for other calls."""
    only = np.full(line.host.start_ns.size, -1, dtype=np.int64)
    for op in vanishing:
        if line.launch[op] >= 0 and line.replay[op] < 0:
            only[line.launch[op]] = op
    return only


def _rest(line: Timeline, vanishing: Vanishing) -> dict[int, dict[int, float]]:
    """What of a fused kernel is left after each op inside it, by op and column."""
    rest: dict[int, dict[int, float]] = {}
    for op in sorted(vanishing, reverse=True):
        # An op that starts between two of the fused kernels may wait for the first of them.
        beside = op + 1 < line.size and line.start_ns[op + 1] < line.end_ns[op]
        for column, before in (pair for pair in vanishing[op] if op == pair[1] + 1 and not beside):
            behind = rest.get(op, {}).get(column, 0.0)
            rest.setdefault(before, {})[column] = behind + float(line.end_ns[op] - line.end_ns[before])
    return rest


def _freed(line: Timeline) -> FloatArray:
    """Host time that goes with each call when its op does: at least the call, usually all until the next one.

    At most its operator too: what the thread did since the call before, or does until the next one.
    """
    least = (line.host.end_ns - line.host.start_ns).astype(np.float64)
    before, until = _around(line)
    usual = np.maximum(until, least)
    return np.stack((least, usual, np.maximum(usual, before + least)))


def _spare(line: Timeline) -> FloatArray:
    """How long each wait had nothing to do but wait: all of it at most, surely what is beyond a mere poll."""
    host = line.host
    length = (host.end_ns - host.start_ns).astype(np.float64)
    least = np.where(host.sure, np.maximum(length - POLL_NS, 0.0), 0.0)
    return np.stack((least, np.maximum(length - wait_cost(line.end_ns, host), 0.0), length))


def freed_in_all(line: Timeline, at: PreparedLine, vanishing: Vanishing, columns: int) -> FloatArray:
    """Host time that goes with all ops that vanish: (low, expected, high) x columns."""
    out = np.zeros((3, columns))
    for op, pairs in vanishing.items():
        call = int(line.launch[op])
        for column, _ in pairs if call >= 0 and at.only_op[call] >= 0 else ():
            out[:, column] += at.freed_ns[:, call]
    return out


def _around(line: Timeline) -> tuple[FloatArray, FloatArray]:
    """For each call the time since its thread's call before it, and from its start until the next one of those known.

    Longer pauses than operators take count as usual ones: the thread waited, or did something else.
    """
    host = line.host
    before, until = np.zeros(host.start_ns.size), (host.end_ns - host.start_ns).astype(np.float64)
    for thread in np.unique(host.thread):
        calls = np.flatnonzero(host.thread == thread)
        ordered = calls[np.argsort(host.start_ns[calls], kind="stable")]
        until[ordered[:-1]] = np.diff(host.start_ns[ordered])
        pause = np.maximum(host.start_ns[ordered[1:]] - host.end_ns[ordered[:-1]], 0)
        if pause.size:
            usual = float(np.median(pause))
            before[ordered[1:]] = np.where(pause > LONG_PAUSE * usual, usual, pause)
    return before, until


def _host_may_hold(line: Timeline) -> np.ndarray:
    """Ops that start so soon after their launch that the launch alone may have held them back."""
    launched = line.launch >= 0
    called = line.host.start_ns[np.maximum(line.launch, 0)] if line.host.start_ns.size else line.start_ns
    low, high = line.latency_ns
    tolerance = np.maximum(high - low, 1_000) + np.where(launched, line.latest_release_ns - called, 0)
    held: np.ndarray = launched & ((line.start_ns - called - low <= tolerance) | line.lent) & ~line.unsure
    return held


def _launch_cap(line: Timeline) -> Int64Array:
    """How much more than its launch an op can move: all between; no limit where its true launch is unknown."""
    called = line.host.start_ns[np.maximum(line.launch, 0)] if line.host.start_ns.size else line.start_ns
    between = line.start_ns - called
    return np.where(line.lent | (between < 0), UNBOUNDED_NS, between + line.clock.unsure_ns)


def _usual_return(line: Timeline) -> int:
    """The longest usual time from the end of the last op to the return of a wait for it."""
    order = np.sort(line.end_ns)
    waits = np.flatnonzero(line.host.is_wait & (line.host.end_ns - line.host.start_ns > POLL_NS))
    if waits.size == 0 or order.size == 0:
        return RETURN_LIMIT_NS
    place = np.searchsorted(order, line.host.end_ns[waits], side="right") - 1
    back = line.host.end_ns[waits] - order[np.maximum(place, 0)]
    usable = back[(place >= 0) & (back <= RETURN_LIMIT_NS)]
    return int(usable.max()) if usable.size else RETURN_LIMIT_NS
