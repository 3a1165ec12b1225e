"""How far every op moves earlier when calls get shorter: a lower bound, the calibrated replay, and an upper bound.

One pass in time order; every value is a row over columns (candidates or sweep points), so many questions cost one pass.
The bounds are rigorous while the order of work stays, dependencies start their op at most `gap_max_ns` after they end,
and ops do not slow each other down.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trace_budget.projection.candidate import FloatArray
from trace_budget.projection.edges import Edges
from trace_budget.projection.timeline import Timeline

RETURN_LIMIT_NS = 500_000  # a wait that returns later than this after the last op waited for something else
POLL_NS = 10_000  # a wait call shorter than this did not block
LAUNCH, WAIT, OP = 1, 0, 2


@dataclass(frozen=True, slots=True)
class Shifts:
    """Shift of each op's start and end in ns (ops x columns), earlier is positive; and of the end of the stretch."""

    start: tuple[FloatArray, FloatArray, FloatArray]
    end: tuple[FloatArray, FloatArray, FloatArray]

    def at_end(self, line: Timeline) -> tuple[FloatArray, FloatArray, FloatArray]:
        """(low, expected, high) time saved over the whole stretch, per column."""
        if line.next_start is not None:
            low, expected, high = (values[line.next_start] for values in self.start)
            return low, expected, high
        behind = (line.end_ns.max() - line.end_ns)[:, None]
        low, expected, high = ((values + behind).min(axis=0) for values in self.end)
        return low, expected, high


@dataclass(slots=True)
class _Bound:
    """State of one of the three recursions."""

    start: FloatArray
    end: FloatArray
    host: FloatArray
    at_launch: FloatArray
    by_end: FloatArray


def propagate(line: Timeline, edges: Edges, low: FloatArray, expected: FloatArray, high: FloatArray) -> Shifts:
    """Propagate per-call savings (ops x columns, ns) through the stretch; returns the three shifts of every op."""
    sweep = _Sweep(line, edges, low, expected, high)
    for kind, index in _events(line):
        if kind == OP:
            sweep.op(index)
        elif kind == LAUNCH:
            sweep.launch(index)
        else:
            sweep.wait(index)
    states = (sweep.low, sweep.expected, sweep.high)
    return Shifts((states[0].start, states[1].start, states[2].start), (states[0].end, states[1].end, states[2].end))


def _events(line: Timeline) -> list[tuple[int, int]]:
    """Launches, ends of waits and op starts in time order; a wait that ends together with a start comes first."""
    launches = np.unique(line.launch[line.launch >= 0])
    waits = np.flatnonzero(line.host.is_wait)
    times = np.concatenate((line.host.start_ns[launches], line.host.end_ns[waits], line.start_ns))
    kinds = np.repeat([LAUNCH, WAIT, OP], [launches.size, waits.size, line.size])
    index = np.concatenate((launches, waits, np.arange(line.size)))
    order = np.lexsort((index, kinds, times))
    return list(zip(kinds[order].tolist(), index[order].tolist(), strict=True))


class _Sweep:
    """The pass itself: three recursions over one order of events."""

    def __init__(self, line: Timeline, edges: Edges, low: FloatArray, expected: FloatArray, high: FloatArray) -> None:
        self.line, self.edges = line, edges
        self.delta = (low, expected, high)
        self.columns = low.shape[1]
        self.order = np.argsort(line.end_ns, kind="stable")
        self.ends = line.end_ns[self.order]
        self.place = np.empty(line.size, dtype=np.int64)
        self.place[self.order] = np.arange(line.size)
        self.low, self.expected, self.high = (self._state() for _ in range(3))
        self.high.by_end[:] = -np.inf
        self.low.by_end[:] = np.inf
        self.passed = 0
        self.far = np.full(self.columns, np.inf)
        self.highest = np.zeros(self.columns)
        self.far_to = 0
        self.start_list, self.end_list = line.start_ns.tolist(), line.end_ns.tolist()
        self.return_ns = _usual_return(line)

    def _state(self) -> _Bound:
        size, columns = self.line.size, self.columns
        threads = int(self.line.host.thread.max()) + 1 if self.line.host.thread.size else 1
        return _Bound(
            np.zeros((size, columns)), np.zeros((size, columns)), np.zeros((threads, columns)),
            np.zeros((self.line.host.start_ns.size, columns)), np.zeros((size, columns)),
        )  # fmt: skip

    def launch(self, call: int) -> None:
        """A launch call starts as much earlier as its thread runs ahead."""
        thread = self.line.host.thread[call]
        for state in (self.low, self.expected, self.high):
            state.at_launch[call] = state.host[thread]
        # Threads hand work to each other in ways no trace shows; a wait nobody recorded may hold any of them.
        self.high.at_launch[call] = self.high.host.max(axis=0)
        if not self.line.host.waits_visible:
            self.high.at_launch[call] = np.maximum(self.high.at_launch[call], self.highest)

    def _window(self, time: int, width: int) -> tuple[int, int]:
        """Rows (by end) of the ops that ended in [time - width, time]."""
        return int(np.searchsorted(self.ends, time - width, side="left")), int(
            np.searchsorted(self.ends, time, side="right")
        )

    def _lowest_before(self, time: int, width: int) -> FloatArray:
        """The least shift any earlier end can pass on to something at `time` that it may have triggered."""
        first, last = self._window(time, width)
        while self.far_to < first and np.isfinite(self.low.by_end[self.far_to]).all():
            self.far = np.minimum(self.far, self.low.by_end[self.far_to] - self.ends[self.far_to])
            self.far_to += 1
        behind = (
            self.low.by_end[self.far_to : last] + np.maximum(time - self.ends[self.far_to : last] - width, 0)[:, None]
        )
        # What ran before the stretch does not move.
        least = np.minimum(self.far + (time - width), float(max(time - self.start_list[0] - width, 0)))
        return np.minimum(least, behind.min(axis=0)) if behind.size else least

    def _end_before(self, time: int) -> int:
        """When the last op that ended by `time` did so; the begin of the stretch when none has."""
        place = int(np.searchsorted(self.ends, time, side="right")) - 1
        return int(self.ends[place]) if place >= 0 else self.start_list[0]

    def _highest_near(self, time: int, width: int) -> FloatArray | None:
        """The largest shift of an end close enough before `time` to have triggered it; None when there is none."""
        first, last = self._window(time, width)
        near = self.high.by_end[first:last]
        return near.max(axis=0) if near.size and np.isfinite(near).any() else None

    def op(self, op: int) -> None:
        """Start and end shifts of one op in all three recursions."""
        line, place = self.line, self.place[op]
        self._low_op(op)
        self._expected_op(op)
        self._high_op(op)
        for state, delta in zip((self.low, self.expected, self.high), self.delta, strict=True):
            shift = state.start[op]
            if line.early[op]:
                # The op ran ahead of its predecessor's end (PDL): it ends a fixed time after that end.
                other = state.end[line.fifo[op]]
                shift = np.maximum(shift, other) if state is self.high else np.minimum(shift, other)
            state.end[op] = shift + delta[op]
            state.by_end[place] = state.end[op]
        self.highest = np.maximum(self.highest, self.high.end[op])

    def _low_op(self, op: int) -> None:
        line, start = self.line, self.start_list[op]
        if line.edges_known[op]:
            sources = [p for p in (int(line.fifo[op]), *line.waits_on[op]) if p >= 0]
            slacks = [max(start - self.end_list[p] - line.gap_max_ns, 0) for p in sources]
            terms = [self.low.end[p] + slack for p, slack in zip(sources, slacks, strict=True)]
        else:
            slacks = [max(start - self._end_before(start) - line.gap_max_ns, 0)]
            terms = [self._lowest_before(start, line.gap_max_ns)]
        if line.early[op]:
            terms.append(self.low.start[line.fifo[op]])
            slacks.append(0)
        call = int(line.launch[op])
        if call >= 0:
            slacks.append(max(start - int(line.release_ns[op]) - line.latency_ns[1], 0))
            terms.append(self.low.at_launch[call] + slacks[-1])
        else:
            slacks.append(0)
            terms.append(np.zeros(self.columns))
        # Something held the op back: where every cause shows slack, the smallest was lag after all.
        self.low.start[op] = np.min(terms, axis=0) - min(slacks)

    def _expected_op(self, op: int) -> None:
        line = self.line
        terms = [self.expected.end[p] + slack for p, slack in self.edges.causes[op]]
        call = int(line.launch[op])
        if call >= 0:
            terms.append(self.expected.at_launch[call] + float(self.edges.host_slack_ns[op]))
        if terms and not self.edges.anchored[op]:
            self.expected.start[op] = np.min(terms, axis=0)

    def _high_op(self, op: int) -> None:
        line, start = self.line, self.start_list[op]
        call, fifo = int(line.launch[op]), int(line.fifo[op])
        if line.edges_known[op]:
            near = [
                self.high.end[p]
                for p in (fifo, *line.waits_on[op])
                if p >= 0 and start - self.end_list[p] <= line.gap_max_ns
            ]
        else:
            touching = self._highest_near(start, line.gap_max_ns)
            near = [] if touching is None else [touching]
        if call >= 0 and start - self.line.host.start_ns[call] - line.latency_ns[0] <= self._host_tolerance(op):
            near.append(self.high.at_launch[call])
        if line.early[op]:
            near += [self.high.start[fifo], self.high.end[fifo]]
        caps = [np.max(near, axis=0) if near else self.highest]
        if fifo >= 0 and not line.early[op]:
            caps.append(self.high.end[fifo] + (start - self.end_list[fifo]))
        if call >= 0:
            caps.append(self.high.at_launch[call] + float(start - line.host.start_ns[call]))
        self.high.start[op] = np.min(caps, axis=0)

    def _host_tolerance(self, op: int) -> float:
        """How late after its launch an op may start and still have been held back by the launch alone."""
        low, high = self.line.latency_ns
        streamed = int(self.line.release_ns[op] - self.line.host.start_ns[self.line.launch[op]])
        return max(high - low, 1_000) + streamed

    def wait(self, call: int) -> None:
        """A host wait returns when the host got there and the work it waits for has ended."""
        host = self.line.host
        thread, entered, returned = host.thread[call], int(host.start_ns[call]), int(host.end_ns[call])
        blocked = returned - entered
        last = self._last_end(call, entered, returned)
        if last is None or blocked <= POLL_NS:
            return
        late = max(returned - int(self.end_list[last]) - self.return_ns, 0)
        lowest = self._lowest_before(returned, self.return_ns) - late
        self.low.host[thread] = np.minimum(self.low.host[thread] + max(blocked - POLL_NS, 0), lowest)
        self.expected.host[thread] = np.minimum(
            self.expected.host[thread] + max(blocked - POLL_NS, 0), self.expected.end[last]
        )
        near = self._highest_near(returned, self.return_ns)
        if near is not None:
            self.high.host[thread] = np.minimum(self.high.host[thread] + blocked, near)

    def _last_end(self, call: int, entered: int, returned: int) -> int | None:
        """The op whose end let a wait return: the last one that ended while the host was waiting."""
        own = int(self.line.host.own_op[call])
        if own >= 0:
            return own if entered < self.end_list[own] <= returned else None
        place = int(np.searchsorted(self.ends, returned, side="right")) - 1
        if place < 0 or self.ends[place] <= entered or returned - self.ends[place] > RETURN_LIMIT_NS:
            return None
        return int(self.order[place])


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
