"""Times of a plan with contention: an event loop in which kernels of one device share its bandwidth.

m kernels side by side all run at the rate 1 / (1 + kappa (m - 1)). A device therefore has one clock of work done, on
which every running kernel has a fixed finish; only the speed of that clock changes. Host calls are not slowed.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field

from gpu_simulator.plan import Plan


def fluid(plan: Plan, work_ns: Sequence[int]) -> tuple[list[int], list[int]]:
    """Start and end of every node in whole nanoseconds, as `forward` gives them when kappa is 0."""
    loop = _Loop(plan, work_ns)
    loop.run()
    return [round(t) for t in loop.start], [round(t) for t in loop.end]


@dataclass(slots=True)
class _Device:
    """Work clock of one device: `done` at time `at`, and the finishes of what runs on it."""

    kappa: float
    at: float = 0.0
    done: float = 0.0
    running: list[tuple[float, int]] = field(default_factory=list)

    def rate(self) -> float:
        return 1.0 / (1.0 + self.kappa * max(0, len(self.running) - 1))

    def advance(self, to: float) -> None:
        self.done += (to - self.at) * (self.rate() if self.running else 0.0)
        self.at = to

    def next_end(self) -> float:
        return self.at + max(0.0, self.running[0][0] - self.done) / self.rate()


_START, _WORK, _END = 0, 1, 2


class _Loop:
    """Counts down what each node still waits for; a node whose count is zero is scheduled."""

    def __init__(self, plan: Plan, work_ns: Sequence[int]) -> None:
        self.plan, self.work_ns = plan, work_ns
        count = len(plan.nodes)
        self.start, self.end = [0.0] * count, [0.0] * count
        self.ready, self.floor = [0.0] * count, [0.0] * count
        self.missing = [len(n.after) + len(n.released) + (n.ahead >= 0) for n in plan.nodes]
        self.holding = [1 + len(n.until) + (n.ahead >= 0) for n in plan.nodes]
        self.on_end: list[list[tuple[int, int, bool]]] = [[] for _ in range(count)]
        self.on_start: list[list[tuple[int, int]]] = [[] for _ in range(count)]
        self.behind: dict[int, int] = {}
        self.group = {member: group for group in plan.groups for member in group}
        self.arrived: dict[tuple[int, ...], int] = {}
        self.devices = [_Device(plan.program.machine.contention) for _ in plan.program.ranks]
        self.events: list[tuple[float, int, int]] = []
        self._link()

    def _link(self) -> None:
        for i, node in enumerate(self.plan.nodes):
            for p, lag in node.after:
                self.on_end[p].append((i, lag, False))
            for p, lag in node.until:
                self.on_end[p].append((i, lag, True))
            for p, lag in node.released:
                self.on_start[p].append((i, lag))
            if node.ahead >= 0:
                self.behind[node.ahead] = i
                self.on_end[node.ahead].append((i, 0, True))
            if not self.missing[i]:
                heapq.heappush(self.events, (0.0, _START, i))

    def run(self) -> None:
        handlers = (self.started, self.working, self.ended)
        while self.events or any(device.running for device in self.devices):
            finish, rank = min(((d.next_end(), r) for r, d in enumerate(self.devices) if d.running), default=(0.0, -1))
            if rank >= 0 and (not self.events or finish <= self.events[0][0]):
                self.finished(rank, finish)
            else:
                at, what, i = heapq.heappop(self.events)
                handlers[what](i, at)

    def arrive(self, i: int, at: float) -> None:
        """One thing node i waited for has happened."""
        self.ready[i] = max(self.ready[i], at)
        self.missing[i] -= 1
        if not self.missing[i]:
            heapq.heappush(self.events, (self.ready[i], _START, i))

    def release(self, i: int, at: float) -> None:
        """One thing that held the end of a host call, or the work of an overlapped kernel, has happened."""
        self.floor[i] = max(self.floor[i], at)
        self.holding[i] -= 1
        if not self.holding[i]:
            what = _END if self.plan.nodes[i].kernel is None else _WORK
            heapq.heappush(self.events, (self.floor[i], what, i))

    def started(self, i: int, at: float) -> None:
        node, self.start[i] = self.plan.nodes[i], at
        for j, lag in self.on_start[i]:
            self.arrive(j, at + lag)
        if node.kernel is None:
            self.release(i, at + self.work_ns[i])
        elif node.pdl is not None and node.ahead >= 0:
            self.release(i, at + node.pdl.prologue_ns)
        elif i in self.group:
            self.gathered(self.group[i], at)
        else:
            self.working(i, at)

    def gathered(self, group: tuple[int, ...], at: float) -> None:
        """A collective runs when its last rank has arrived; it moves data between devices and takes no share here."""
        self.arrived[group] = self.arrived.get(group, 0) + 1
        if self.arrived[group] == len(group):
            done = at + max(self.work_ns[member] for member in group)
            for member in group:
                heapq.heappush(self.events, (done, _END, member))

    def working(self, i: int, at: float) -> None:
        device = self.devices[self.plan.nodes[i].rank]
        device.advance(at)
        heapq.heappush(device.running, (device.done + self.work_ns[i], i))
        follower = self.behind.get(i)
        if follower is not None:
            pdl = self.plan.nodes[follower].pdl
            trigger = pdl.trigger if pdl else 1.0
            self.arrive(follower, at + self.work_ns[i] - round((1 - trigger) * self.work_ns[i]))

    def finished(self, rank: int, at: float) -> None:
        device = self.devices[rank]
        device.advance(at)
        _, i = heapq.heappop(device.running)
        self.ended(i, at)

    def ended(self, i: int, at: float) -> None:
        self.end[i] = at
        for j, lag, held in self.on_end[i]:
            (self.release if held else self.arrive)(j, at + lag)
