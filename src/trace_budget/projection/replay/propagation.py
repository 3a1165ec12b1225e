"""How far every op moves earlier when calls get shorter: a lower bound, the calibrated replay, and an upper bound.

One pass in time order; every value is a row over columns (candidates or sweep points), so many questions cost one pass.
The bounds are rigorous while the order of work stays, dependencies start their op at most `gap_max_ns` after they end,
and ops do not slow each other down.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trace_budget.projection.claimed_saving import FloatArray
from trace_budget.projection.replay.dependencies import Edges
from trace_budget.projection.replay.native import Columns, NativeSweep, chosen_library
from trace_budget.projection.replay.pace import AHEAD, NOTHING_TO_FOLLOW, POLL_NS, WAITS
from trace_budget.projection.replay.prepared import RETURN_LIMIT_NS, Vanishing, freed_in_all, prepare
from trace_budget.projection.replay.stretch import Timeline
from trace_budget.schema.findings import Int64Array

LAUNCH, WAIT, OP = 1, 0, 2


@dataclass(frozen=True, slots=True)
class Shifts:
    """Shift of each op's start and end in ns (ops x columns), earlier is positive; `freed`: host time that is gone."""

    start: tuple[FloatArray, FloatArray, FloatArray]
    end: tuple[FloatArray, FloatArray, FloatArray]
    freed: FloatArray

    def per_step(self, line: Timeline, counted: int, begins: int = 0) -> FloatArray:
        """(low, expected, high) x columns: time saved per counted step (`counted` used steps in the stretch).

        A loop that waits for each step is over when the next step starts. In one that runs ahead the first step starts
        without a predecessor, so what counts is how much more the last step moved than the first. Where the host is the
        slower one nothing distinguishes the two: then the bounds hold for both. A recording begins with a backlog,
        which hides for a while that the host cannot keep up: what the host needs for itself limits the saving.
        The first `begins` steps of a longer run are left out.
        """
        return line.pace.limited(self._unlimited(line, counted, begins), self.freed / counted)

    def _unlimited(self, line: Timeline, counted: int, begins: int) -> FloatArray:
        whole = self._to_the_end(line) / counted
        if 0 < begins < line.steps - 2:
            return self._rest(line, begins) / (line.steps - 1 - begins)
        if line.pace.loop in (WAITS, NOTHING_TO_FOLLOW) or counted < 2:
            return whole
        rest = self._rest(line, 0) / (counted - 1)
        if line.pace.loop == AHEAD:
            return rest
        return np.stack((np.minimum(whole[0], rest[0]), rest[1], np.maximum(whole[2], rest[2])))

    def _rest(self, line: Timeline, begins: int) -> FloatArray:
        """How much more the last step moves than the one behind the first `begins`."""
        low, expected, high = self._behind(line, line.step <= line.last_step)
        first = self._behind(line, line.step == line.step[0] + begins)
        return np.stack((low - first[2], expected - first[1], high - first[0]))

    def _to_the_end(self, line: Timeline) -> FloatArray:
        """Time saved until the next step starts, or until the last op of the stretch ends."""
        if line.next_start is not None:
            return np.stack([values[line.next_start] for values in self.start])
        return np.stack(self._behind(line, line.step <= line.last_step))

    def _behind(self, line: Timeline, rows: np.ndarray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """How much earlier the last of these ops ends."""
        behind = (line.end_ns[rows].max() - line.end_ns[rows])[:, None]
        low, expected, high = ((values[rows] + behind).min(axis=0) for values in self.end)
        return low, expected, high


@dataclass(slots=True)
class _Bound:
    """State of one of the three recursions."""

    start: FloatArray
    end: FloatArray
    host: FloatArray
    at_launch: FloatArray
    by_end: FloatArray


def propagate(
    line: Timeline,
    edges: Edges,
    low: FloatArray,
    expected: FloatArray,
    high: FloatArray,
    vanishing: Vanishing | None = None,
) -> Shifts:
    """Propagate per-call savings (ops x columns, ns) through the stretch; returns the three shifts of every op.

    `vanishing` rows end with another row in the named columns: kernels and launches that a fusion removes.
    """
    kinds, index = events(line)
    code = chosen_library()
    if code is None:
        return propagate_in_python(line, edges, (low, expected, high), vanishing or {})
    sweep = NativeSweep(code, line, edges, (low, expected, high), vanishing or {})
    sweep.run(kinds, index)
    return Shifts(sweep.moved("start"), sweep.moved("end"), sweep.freed)


def propagate_in_python(line: Timeline, edges: Edges, delta: Columns, vanishing: Vanishing) -> Shifts:
    """The same without the accelerator, and what it must be equal to."""
    sweep = Sweep(line, edges, delta, vanishing)
    kinds, index = events(line)
    for kind, row in zip(kinds.tolist(), index.tolist(), strict=True):
        sweep.step(kind, row)
    return sweep.shifts()


def events(line: Timeline) -> tuple[Int64Array, Int64Array]:
    """(kind, index) of launches, ends of waits and op starts in order of time; at one time a wait ends first."""
    times, kinds, index = timed_events(line)
    order = np.lexsort((index, kinds, times))
    return kinds[order], index[order]


def timed_events(line: Timeline) -> tuple[Int64Array, Int64Array, Int64Array]:
    """(time, kind, index) of these events, kind after kind."""
    launches = np.unique(line.launch[line.launch >= 0])
    waits = np.flatnonzero(line.host.is_wait)
    times = np.concatenate((line.host.start_ns[launches], line.host.end_ns[waits], line.start_ns))
    kinds = np.repeat(np.array([LAUNCH, WAIT, OP]), [launches.size, waits.size, line.size])
    return times, kinds, np.concatenate((launches, waits, np.arange(line.size)))


class Sweep:
    """The pass itself: three recursions over one order of events."""

    def __init__(self, line: Timeline, edges: Edges, delta: Columns, vanishing: Vanishing) -> None:
        self.line, self.edges, self.delta, self.vanishing = line, edges, delta, vanishing
        self.columns = delta[0].shape[1]
        self.at = prepare(line, vanishing)
        self.ends, self.place = self.at.ends, self.at.place
        self.low, self.expected, self.high = (self._state() for _ in range(3))
        self.high.by_end[:] = -np.inf
        self.low.by_end[:] = np.inf
        self.far = np.full(self.columns, np.inf)
        self.highest = np.zeros(self.columns)
        self.far_to = 0
        # Plain lists: one element at a time is what the pass reads, and NumPy scalars cost ten times as much.
        self.start_list, self.end_list = line.start_ns.tolist(), line.end_ns.tolist()
        self.launch_list, self.fifo_list = line.launch.tolist(), line.fifo.tolist()
        self.known_list, self.early_list = line.edges_known.tolist(), line.early.tolist()
        self.ended, self.near_from = self.at.ended.tolist(), self.at.near_from.tolist()
        self.host_slack, self.host_may_hold = self.at.host_slack.tolist(), self.at.host_may_hold.tolist()
        self.causes = edges.causes.lists(line.size)
        self.zero = np.zeros(self.columns)
        self.horizon_ns = max(line.gap_max_ns, self.at.return_ns)

    def _state(self) -> _Bound:
        size, columns = self.line.size, self.columns
        threads = self.at.threads
        return _Bound(
            np.zeros((size, columns)), np.zeros((size, columns)), np.zeros((threads, columns)),
            np.zeros((self.line.host.start_ns.size, columns)), np.zeros((size, columns)),
        )  # fmt: skip

    def launch(self, call: int) -> None:
        """A launch call starts as much earlier as its thread runs ahead."""
        thread = self.line.host.thread[call]
        for state in (self.low, self.expected, self.high):
            state.at_launch[call] = state.host[thread]
        self._without(call, thread)
        # Threads hand work to each other in ways no trace shows; a wait nobody recorded may hold any of them.
        self.high.at_launch[call] = self.high.host.max(axis=0)
        if not self.line.host.waits_visible:
            self.high.at_launch[call] = np.maximum(self.high.at_launch[call], self.highest)

    def _without(self, call: int, thread: int) -> None:
        """A launch that vanishes gives its host time back."""
        op = int(self.at.only_op[call])
        if op < 0:
            return
        for column, _ in self.vanishing[op]:
            for state, freed in zip((self.low, self.expected, self.high), self.at.freed_ns[:, call], strict=True):
                state.host[thread, column] += freed

    def _lowest_before(self, time: int, width: int, last: int) -> FloatArray:
        """The least shift that one of the first `last` ends can pass on to what it may have caused at `time`."""
        horizon = time - self.horizon_ns
        while self.far_to < last and self.ends[self.far_to] < horizon and self.low.by_end[self.far_to, 0] < np.inf:
            self.far = np.minimum(self.far, self.low.by_end[self.far_to] - self.ends[self.far_to])
            self.far_to += 1
        # What ran before the stretch does not move.
        least: FloatArray = np.minimum(self.far + (time - width), float(max(time - self.start_list[0] - width, 0)))
        if self.far_to < last:
            slack = np.maximum(time - width - self.ends[self.far_to : last], 0)
            behind = self.low.by_end[self.far_to : last] + slack[:, None]
            least = np.minimum(least, behind[0] if last - self.far_to == 1 else behind.min(axis=0))
        return least

    def _highest_near(self, first: int, last: int) -> FloatArray | None:
        """The largest shift of the ends first … last; None when there is none."""
        if last <= first:
            return None
        near = self.high.by_end[first:last]
        highest: FloatArray = near[0] if last - first == 1 else near.max(axis=0)
        return highest if highest[0] > -np.inf else None

    def step(self, kind: int, index: int) -> None:
        """Take the next event."""
        if kind == OP:
            self.op(index)
        elif kind == LAUNCH:
            self.launch(index)
        else:
            self.wait(index)

    def shifts(self) -> Shifts:
        """The result once all events were taken."""
        states = (self.low, self.expected, self.high)
        starts, ends = tuple(s.start for s in states), tuple(s.end for s in states)
        freed = freed_in_all(self.line, self.at, self.vanishing, self.columns)
        return Shifts((starts[0], starts[1], starts[2]), (ends[0], ends[1], ends[2]), freed)

    def op(self, op: int) -> None:
        """Start and end shifts of one op in all three recursions."""
        low, expected, high = self.begin(op)
        if self.line.waited_ns[op] >= 0:
            # When a collective ends depends on ranks this trace does not show. At worst they gain nothing; expected is
            # that they gain what this one does (but no waiting time); at best they gain all there is.
            waited = float(self.line.waited_ns[op])
            transfer = self.end_list[op] - self.start_list[op] - waited
            low = np.minimum(low, 0.0) - np.maximum(self.delta[0][op], 0.0)
            expected = expected - np.maximum(self.delta[1][op] - transfer, 0.0)
            high = np.minimum(np.maximum(high, self.highest), high + waited)
        self.finish(op, (low, expected, high))

    def begin(self, op: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Start shifts of one op, and what they do to its end before its own saving."""
        self._low_op(op)
        self._expected_op(op)
        self._high_op(op)
        low, expected, high = self.low.start[op], self.expected.start[op], self.high.start[op]
        if self.early_list[op]:
            # The op ran ahead of its predecessor's end (PDL): it ends a fixed time after that end.
            before = self.fifo_list[op]
            low, expected = np.minimum(low, self.low.end[before]), np.minimum(expected, self.expected.end[before])
            high = np.maximum(high, self.high.end[before])
        return low, expected, high

    def finish(self, op: int, shifts: tuple[FloatArray, FloatArray, FloatArray]) -> None:
        """End shifts of one op: what moved it, plus its own saving."""
        for state, delta, shift in zip((self.low, self.expected, self.high), self.delta, shifts, strict=True):
            state.end[op] = shift + delta[op]
            for column, before in self.vanishing.get(op, ()):
                state.end[op, column] = state.end[before, column] + (self.end_list[op] - self.end_list[before])
            state.by_end[self.place[op]] = state.end[op]
            for column, rest in self.at.rest_ns.get(op, {}).items():
                # Nothing waits for the middle of a fused kernel: for others this op ends where the fused one does.
                state.by_end[self.place[op], column] += rest
        self.highest = np.maximum(self.highest, self.high.end[op])

    def _low_op(self, op: int) -> None:
        line, start, call, fifo = self.line, self.start_list[op], self.launch_list[op], self.fifo_list[op]
        if self.known_list[op]:
            least, slack = (
                self.low.at_launch[call] + self.host_slack[op] if call >= 0 else self.zero,
                self.host_slack[op],
            )
            for before in (fifo, *line.waits_on[op]):
                if before >= 0:
                    behind = max(start - self.end_list[before] - line.gap_max_ns, 0)
                    least, slack = np.minimum(least, self.low.end[before] + behind), min(slack, behind)
        else:
            last = self.ended[op]
            before_ns = int(self.ends[last - 1]) if last else self.start_list[0]
            slack = min(max(start - before_ns - line.gap_max_ns, 0), self.host_slack[op])
            least = self._lowest_before(start, line.gap_max_ns, last)
            least = np.minimum(least, self.low.at_launch[call] + self.host_slack[op] if call >= 0 else self.zero)
        if self.early_list[op]:
            least, slack = np.minimum(least, self.low.start[fifo]), 0
        # Something held the op back: where every cause shows slack, the smallest was lag after all.
        self.low.start[op] = least - (slack if call >= 0 else 0)

    def _expected_op(self, op: int) -> None:
        call = self.launch_list[op]
        least = self.expected.at_launch[call] + float(self.edges.host_slack_ns[op]) if call >= 0 else None
        for before, slack in self.causes[op]:
            shift = self.expected.end[before] + slack
            least = shift if least is None else np.minimum(least, shift)
        if least is not None and not self.edges.anchored[op]:
            self.expected.start[op] = least

    def _high_op(self, op: int) -> None:
        line, start, call, fifo = self.line, self.start_list[op], self.launch_list[op], self.fifo_list[op]
        if self.known_list[op]:
            close = (p for p in (fifo, *line.waits_on[op]) if p >= 0 and start - self.end_list[p] <= line.gap_max_ns)
            near = [self.high.end[p] for p in close]
        else:
            touching = self._highest_near(self.near_from[op], self.ended[op])
            near = [] if touching is None else [touching]
        if self.host_may_hold[op]:
            near.append(self.high.at_launch[call])
        if self.early_list[op]:
            near += [self.high.start[fifo], self.high.end[fifo]]
        most = near[0] if len(near) == 1 else np.max(near, axis=0) if near else self.highest
        if fifo >= 0 and not self.early_list[op]:
            most = np.minimum(most, self.high.end[fifo] + (start - self.end_list[fifo]))
        if call >= 0:
            most = np.minimum(most, self.high.at_launch[call] + float(self.at.launch_cap[op]))
        self.high.start[op] = most

    def wait(self, call: int) -> None:
        """A host wait returns when the host got there and the work it waits for has ended."""
        host = self.line.host
        thread, entered, returned = host.thread[call], int(host.start_ns[call]), int(host.end_ns[call])
        last = self._last_end(call, entered, returned)
        if last is None:
            return
        blocked = returned - entered
        late = max(returned - int(self.end_list[last]) - self.at.return_ns, 0)
        ended = int(np.searchsorted(self.ends, returned, side="right"))
        lowest = self._lowest_before(returned, self.at.return_ns, ended) - late
        spare = self.at.spare_ns[:, call]
        self.low.host[thread] = np.minimum(self.low.host[thread] + spare[0], lowest)
        self.expected.host[thread] = np.minimum(self.expected.host[thread] + spare[1], self.expected.end[last])
        near = self._highest_near(int(np.searchsorted(self.ends, returned - self.at.return_ns, side="left")), ended)
        most = self.high.host[thread] if near is None else near
        if blocked <= POLL_NS:
            # So short a wait may not have waited at all: then the host keeps its own lead.
            most = np.maximum(most, self.high.host[thread])
        self.high.host[thread] = np.minimum(self.high.host[thread] + spare[2], most)

    def _last_end(self, call: int, entered: int, returned: int) -> int | None:
        """The op whose end let a wait return: the last one that ended while the host was waiting."""
        own = int(self.line.host.own_op[call])
        if own >= 0:
            return own if entered < self.end_list[own] <= returned else None
        place = int(np.searchsorted(self.ends, returned, side="right")) - 1
        if place < 0 or self.ends[place] <= entered or returned - self.ends[place] > RETURN_LIMIT_NS:
            return None
        return int(self.at.order[place])
