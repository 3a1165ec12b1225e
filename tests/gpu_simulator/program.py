"""What a simulated engine does: for each rank a host thread that computes, launches, records, waits, step after step.

A program is explicit and unrolled: every duration and every cost is in it, so running it again with one kernel
shortened is the exact counterfactual of the first run. All times are integer nanoseconds.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Kernel:
    """One execution on a device. `work_ns` is its time when it runs alone and need not wait for anyone.

    `collective` joins the executions of one collective over the ranks: each ends `work_ns` after the last has started.
    """

    name: str
    work_ns: int
    layer: int | None = None
    kind: str = "kernel"
    collective: int | None = None


@dataclass(frozen=True, slots=True)
class Cpu:
    """The host thread computes."""

    cost_ns: int


@dataclass(frozen=True, slots=True)
class Pdl:
    """Programmatic dependent launch: start once the kernel ahead on the stream has done `trigger` of its work.

    After `prologue_ns` the kernel waits until the one ahead has ended, then does its own work.
    """

    trigger: float
    prologue_ns: int = 0


@dataclass(frozen=True, slots=True)
class Launch:
    """Enqueue one kernel (or copy); it starts `gap_ns` after the work ahead on the stream, at the earliest."""

    kernel: Kernel
    stream: int
    cost_ns: int
    gap_ns: int = 0
    pdl: Pdl | None = None


@dataclass(frozen=True, slots=True)
class GraphNode:
    """A node of a captured graph: what it runs, and the nodes it waits for, each with the lag after that node's end.

    `branch` is the stream a profiler may show it on; it says nothing about order.
    """

    kernel: Kernel
    after: tuple[tuple[int, int], ...] = ()
    branch: int = 0


@dataclass(frozen=True, slots=True)
class GraphLaunch:
    """Replay a graph behind the work on a stream. With `node_cost_ns` (ROCm) nodes are handed over one by one.

    Node i is released at call start + node_cost_ns * (i + 1) + latency, and the call takes that long as well.
    """

    nodes: tuple[GraphNode, ...]
    stream: int
    cost_ns: int
    gap_ns: int = 0
    node_cost_ns: int = 0


@dataclass(frozen=True, slots=True)
class Record:
    """Record an event behind the work enqueued on a stream so far."""

    event: int
    stream: int
    cost_ns: int = 0


@dataclass(frozen=True, slots=True)
class Wait:
    """Make whatever is enqueued next on a stream wait for an event; it starts `lag_ns` after it."""

    event: int
    stream: int
    cost_ns: int = 0
    lag_ns: int = 0


@dataclass(frozen=True, slots=True)
class Sync:
    """Block the host until a stream (None: all streams) or an event is done; returns `return_ns` after that."""

    stream: int | None = None
    event: int | None = None
    cost_ns: int = 0
    return_ns: int = 0


Instruction = Cpu | Launch | GraphLaunch | Record | Wait | Sync


@dataclass(frozen=True, slots=True)
class Step:
    """One engine step of one host thread; `after` runs when the annotation has closed."""

    instructions: tuple[Instruction, ...]
    after: tuple[Instruction, ...] = ()
    annotation: str = "execute_context_0(0)_generation_8(8)"
    phase: str = "decode"


@dataclass(frozen=True, slots=True)
class Machine:
    """Constants of device and driver. `contention` is kappa: m kernels side by side run at 1 / (1 + kappa (m - 1))."""

    latency_ns: int = 0
    queue_depth: int = 1024
    contention: float = 0.0


@dataclass(frozen=True, slots=True)
class Shown:
    """What a trace of the program shows: flavour of the profiler, and what it hides."""

    flavour: str = "cuda"
    hide_streams: bool = False
    hide_sync: bool = False
    hide_host: bool = False


@dataclass(frozen=True, eq=False, slots=True)
class Program:
    """The steps of every rank. `warm_up` leading steps fill the pipeline and are not measured.

    `loop` says where a step ends: sync at the return of its last host instruction, async at the end of its last op.
    """

    kind: str
    ranks: tuple[tuple[Step, ...], ...]
    machine: Machine = field(default_factory=Machine)
    shown: Shown = field(default_factory=Shown)
    loop: str = "sync"
    warm_up: int = 0
    layers: int | None = None
