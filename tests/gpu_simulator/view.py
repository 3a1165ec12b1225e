"""What a profiler sees of a run on one rank: rows of ops, host calls, annotations and waits, less what it hides."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from gpu_simulator.plan import Node
from gpu_simulator.program import Shown
from gpu_simulator.simulate import Run

FOLDED_GAP_NS = 2_000
FIRST_STREAM = {"cuda": 7, "rocm": 0}


class OpRow(NamedTuple):
    """A device op; `correlation` is that of the host call that launched it, `node` its place in a graph or -1."""

    kind: str
    name: str
    stream: int
    start_ns: int
    end_ns: int
    correlation: int
    node: int


class CallRow(NamedTuple):
    """A host call."""

    name: str
    start_ns: int
    end_ns: int
    correlation: int


class RangeRow(NamedTuple):
    """A step annotation on the host."""

    name: str
    start_ns: int
    end_ns: int


class SyncRow(NamedTuple):
    """A synchronisation: its name as CUPTI prints it, the stream that waits (-1: all), what it waits for (-1: none)."""

    name: str
    stream: int
    start_ns: int
    end_ns: int
    correlation: int
    wait_stream: int
    wait_correlation: int


@dataclass(frozen=True, slots=True)
class View:
    """All rows of one rank; ops in order of start."""

    shown: Shown
    rank: int
    ranks: int
    ops: list[OpRow]
    calls: list[CallRow]
    ranges: list[RangeRow]
    syncs: list[SyncRow]


def seen(run: Run, rank: int = 0, shown: Shown | None = None) -> View:
    """The rows of a rank, as `shown` (by default the program's own setting) lets a profiler see them."""
    shown = shown or run.program.shown
    hosts = [] if shown.hide_host else [(i, n) for i, n in enumerate(run.plan.nodes) if n.rank == rank and n.call]
    syncs = [] if shown.hide_sync or shown.flavour == "rocm" else list(_syncs(run, hosts))
    ranges = [] if shown.hide_host else list(_ranges(run, rank))
    return View(shown, rank, len(run.program.ranks), _ops(run, rank, shown), _calls(run, hosts, shown), ranges, syncs)


def correlation_of(node: int) -> int:
    """The correlation id of a host call."""
    return node + 1


def _ops(run: Run, rank: int, shown: Shown) -> list[OpRow]:
    start, end, first = run.node_start_ns.tolist(), run.node_end_ns.tolist(), FIRST_STREAM[shown.flavour]
    rows = [
        OpRow(
            node.kernel.kind,
            node.kernel.name,
            first + (0 if shown.hide_streams else node.stream),
            start[i],
            end[i],
            correlation_of(node.launch),
            node.graph_node,
        )
        for i, node in run.ops(rank)
        if node.kernel is not None
    ]
    rows.sort(key=lambda row: row.start_ns)
    return list(_folded(rows)) if shown.flavour == "rocm" else rows


def _folded(rows: list[OpRow]) -> Iterator[OpRow]:
    """ROCm profilers book a short gap before a kernel into the kernel."""
    ends: dict[int, int] = {}
    for row in rows:
        before = ends.get(row.stream, row.start_ns)
        yield row._replace(start_ns=before) if 0 < row.start_ns - before <= FOLDED_GAP_NS else row
        ends[row.stream] = max(before, row.end_ns)


def _calls(run: Run, hosts: list[tuple[int, Node]], shown: Shown) -> list[CallRow]:
    prefix = "cuda" if shown.flavour == "cuda" else "hip"
    start, end = run.node_start_ns.tolist(), run.node_end_ns.tolist()
    return [CallRow(prefix + node.call, start[i], end[i], correlation_of(i)) for i, node in hosts]


def _ranges(run: Run, rank: int) -> Iterator[RangeRow]:
    for step, (first, inside, _) in zip(run.program.ranks[rank], run.plan.step_span[rank], strict=True):
        yield RangeRow(step.annotation, int(run.node_start_ns[first]), int(run.node_end_ns[inside]))


def _syncs(run: Run, hosts: list[tuple[int, Node]]) -> Iterator[SyncRow]:
    names = {
        "StreamWaitEvent": "Stream Wait Event",
        "StreamSynchronize": "Stream Sync",
        "EventSynchronize": "Event Sync",
        "DeviceSynchronize": "Context Sync",
    }
    first, start, end = FIRST_STREAM["cuda"], run.node_start_ns.tolist(), run.node_end_ns.tolist()
    for i, node in hosts:
        if node.call in names:
            source, record = node.waits_for
            stream = first + node.stream if node.stream >= 0 and node.call != "EventSynchronize" else -1
            wait = (first + source, correlation_of(record)) if record >= 0 else (-1, -1)
            yield SyncRow(names[node.call], stream, start[i], end[i], correlation_of(i), *wait)
