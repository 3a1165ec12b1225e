"""Traces made by hand: write down launches and kernels in order, get a checked Trace."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from trace_budget.schema import build
from trace_budget.schema.check import checked
from trace_budget.schema.trace import Trace

US = 1_000
MS = 1_000_000
CALL_NS = 1 * US
DECODE = "execute_context_0(0)_generation_8(8)"


@dataclass
class Tape:
    """A recording in the making, in ns. Host calls follow each other on the thread `tid`; kernels on their stream.

    The device starts at `device_ns`, long after the host has launched the work, as it does where the host runs ahead.
    """

    device_ns: int = 100 * MS
    dur_ns: int = 10 * US
    tid: int = 1
    host_ns: int = 1 * MS
    clock: dict[tuple[int, int | None], int] = field(default_factory=dict)
    ops: dict[str, list[Any]] = field(default_factory=lambda: defaultdict(list))
    calls: dict[str, list[Any]] = field(default_factory=lambda: defaultdict(list))
    markers: dict[str, list[Any]] = field(default_factory=lambda: defaultdict(list))

    def run(self, names: str | Iterable[str], correlation: int | None = None, **where: Any) -> Tape:
        """Kernels back to back on one stream, launched by the call of that correlation id (None: orphans)."""
        place = {"stream": 7, "device": 0, "kind": "kernel", "pid": None, "at": None, "dur": self.dur_ns, **where}
        for name in names.split() if isinstance(names, str) else names:
            lane = (place["device"], place["stream"])
            start = place["at"] if place["at"] is not None else self.clock.get(lane, self.device_ns)
            end = start + place["dur"]
            self.clock[lane] = end
            values = {"name": name, "start_ns": start, "end_ns": end, "correlation": correlation}
            add(self.ops, values | {key: place[key] for key in ("stream", "device", "kind", "pid")})
        return self

    def launch(self, names: str | Iterable[str], **where: Any) -> Tape:
        """One launch call and one kernel for each name."""
        for name in names.split() if isinstance(names, str) else names:
            self.run([name], self.call("cudaLaunchKernel"), **where)
        return self

    def graph(self, names: str | Iterable[str], **where: Any) -> Tape:
        """One graph launch that replays all kernels."""
        return self.run(names, self.call("cudaGraphLaunch"), **where)

    def call(self, name: str) -> int:
        """A host call; its correlation id."""
        correlation = len(self.calls["name"]) + 1
        times = {"start_ns": self.host_ns, "end_ns": self.host_ns + CALL_NS}
        add(self.calls, {"name": name, "pid": 1, "tid": self.tid, "correlation": correlation, **times})
        self.host_ns += CALL_NS
        return correlation

    def idle(self, ns: int) -> Tape:
        """The whole device waits: every stream goes on `ns` after the last of them ended."""
        latest = max(self.clock.values(), default=self.device_ns) + ns
        self.clock = dict.fromkeys(self.clock, latest)
        self.device_ns = latest
        return self

    @contextmanager
    def range(self, name: str, kind: str = "annotation", pid: int | None = 1) -> Iterator[None]:
        """A host range around the calls made inside."""
        start = self.host_ns
        self.host_ns += CALL_NS
        tid = self.tid
        yield
        self.mark(name, start, self.host_ns, kind, tid=tid, pid=pid)
        self.host_ns += CALL_NS

    def mark(self, name: str, start: int, end: int, kind: str = "annotation", **place: Any) -> Tape:
        """A marker at the given times."""
        values = {"kind": kind, "name": name, "start_ns": start, "end_ns": end}
        add(self.markers, values | {"pid": 1, "tid": 1, "device": None, **place})
        return self

    def trace(self, **facts: Any) -> Trace:
        """The checked trace; `facts` are further fields of Trace."""
        host = build.calls(pl.DataFrame(self.calls)) if self.calls["name"] else build.CALLS.empty()
        ops = build.gpu_ops(pl.DataFrame(self.ops, strict=False), host)
        markers = {"markers": build.markers(pl.DataFrame(self.markers))} if self.markers else {}
        return checked(Trace("hand.json", "hand", ops, host, **markers, **facts))


def add(columns: dict[str, list[Any]], values: dict[str, Any]) -> None:
    """One row more."""
    for key, value in values.items():
        columns[key].append(value)


def decode_steps(count: int, kernels: str, name: str = DECODE, idle_ns: int = 20 * US) -> Tape:
    """Equal annotated steps of one graph launch each, with idle time between them."""
    tape = Tape()
    for _ in range(count):
        with tape.range(name):
            tape.graph(kernels)
        tape.idle(idle_ns)
    return tape
