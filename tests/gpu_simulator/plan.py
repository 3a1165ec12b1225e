"""From a program to its dependency graph: nodes in an order in which every node comes after all it depends on."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from gpu_simulator.program import (
    Cpu,
    GraphLaunch,
    Instruction,
    Kernel,
    Launch,
    Pdl,
    Program,
    Record,
    Sync,
    Wait,
)

Edges = tuple[tuple[int, int], ...]


class Node(NamedTuple):
    """A host call or a device op.

    It starts when every node of `after` has ended and every node of `released` has started, each plus its lag, and
    takes `work_ns`. A host call with `until` also lasts until those nodes have ended plus the lag. With `pdl` the op
    may overlap the node `ahead`. `call` names a host call, `kernel` is what a device op runs.
    """

    rank: int
    step: int
    work_ns: int
    after: Edges = ()
    released: Edges = ()
    until: Edges = ()
    ahead: int = -1
    pdl: Pdl | None = None
    call: str = ""
    kernel: Kernel | None = None
    stream: int = 0
    launch: int = -1
    graph_node: int = -1
    waits_for: tuple[int, int] = (-1, -1)


@dataclass(frozen=True, slots=True)
class Plan:
    """All nodes of a program; `ops` are the device ops among them, rank by rank in the order they were enqueued.

    `step_span[rank]` holds for each step its first host node, the last inside the annotation, and the last of all.
    """

    program: Program
    nodes: tuple[Node, ...]
    ops: tuple[int, ...]
    groups: tuple[tuple[int, ...], ...]
    step_span: tuple[tuple[tuple[int, int, int], ...], ...]


def planned(program: Program) -> Plan:
    """The dependency graph of a program."""
    threads = [_Thread(program, rank) for rank in range(len(program.ranks))]
    for thread in threads:
        thread.run()
    return _merged(program, threads)


@dataclass(slots=True)
class _Stream:
    """What the next op of a stream has to wait for."""

    tail: tuple[int, ...] = ()
    waits: list[tuple[int, int]] = field(default_factory=list)
    enqueued: list[tuple[int, ...]] = field(default_factory=list)


class _Thread:
    """Walks through one rank's instructions; node numbers are local to the rank."""

    def __init__(self, program: Program, rank: int) -> None:
        self.program, self.rank = program, rank
        self.nodes: list[Node] = []
        self.span: list[tuple[int, int, int]] = []
        self.streams: dict[int, _Stream] = {}
        self.events: dict[int, tuple[tuple[int, ...], int, int]] = {}
        self.host, self.step = -1, 0

    def run(self) -> None:
        for index, step in enumerate(self.program.ranks[self.rank]):
            self.step, first = index, len(self.nodes)
            self.call("", 0)
            for instruction in step.instructions:
                self.do(instruction)
            inside = self.host
            for instruction in step.after:
                self.do(instruction)
            self.span.append((first, inside, self.host))

    def do(self, instruction: Instruction) -> None:
        match instruction:
            case Cpu():
                self.call("", instruction.cost_ns)
            case Launch():
                self.launch(instruction)
            case GraphLaunch():
                self.graph(instruction)
            case Record():
                record = self.call("EventRecord", instruction.cost_ns, stream=instruction.stream)
                self.events[instruction.event] = (self.pending(instruction.stream), instruction.stream, record)
            case Wait():
                self.wait(instruction)
            case Sync():
                self.sync(instruction)

    def call(self, name: str, cost_ns: int, **rest: object) -> int:
        """A host call behind the one before it."""
        after: Edges = ((self.host, 0),) if self.host >= 0 else ()
        extra = rest.pop("after", ())
        after += extra if isinstance(extra, tuple) else ()
        self.nodes.append(Node(self.rank, self.step, cost_ns, after=after, call=name, **rest))  # type: ignore[arg-type]
        self.host = len(self.nodes) - 1
        return self.host

    def on(self, stream: int) -> _Stream:
        return self.streams.setdefault(stream, _Stream())

    def pending(self, stream: int) -> tuple[int, ...]:
        """Everything enqueued work of a stream has to wait for: what an event recorded now stands for."""
        state = self.on(stream)
        return state.tail + tuple(node for node, _ in state.waits)

    def room(self, stream: int) -> Edges:
        """A launch blocks while `queue_depth` earlier launches on the stream are not done."""
        enqueued, depth = self.on(stream).enqueued, self.program.machine.queue_depth
        return tuple((node, 0) for node in enqueued[-depth]) if len(enqueued) >= depth else ()

    def taken(self, stream: int, gap_ns: int) -> Edges:
        """The edges of the next op of a stream; takes the waits that were pending."""
        state = self.on(stream)
        edges = tuple((node, gap_ns) for node in state.tail) + tuple(state.waits)
        state.waits.clear()
        return edges

    def left(self, stream: int, tail: tuple[int, ...]) -> None:
        state = self.on(stream)
        state.tail = tail
        state.enqueued.append(tail)

    def launch(self, instruction: Launch) -> None:
        stream, kernel = instruction.stream, instruction.kernel
        name = "LaunchKernel" if kernel.kind == "kernel" else "MemcpyAsync"
        name = "LaunchKernelExC" if instruction.pdl else name
        call = self.call(name, instruction.cost_ns, after=self.room(stream), stream=stream)
        ahead = self.on(stream).tail
        pdl = instruction.pdl if len(ahead) == 1 else None
        edges = self.taken(stream, instruction.gap_ns)
        self.nodes.append(
            Node(
                self.rank,
                self.step,
                kernel.work_ns,
                after=tuple(edge for edge in edges if pdl is None or edge[0] != ahead[0]),
                released=((call, self.program.machine.latency_ns),),
                ahead=ahead[0] if pdl else -1,
                pdl=pdl,
                kernel=kernel,
                stream=stream,
                launch=call,
            )
        )
        self.left(stream, (len(self.nodes) - 1,))

    def graph(self, instruction: GraphLaunch) -> None:
        stream, latency = instruction.stream, self.program.machine.latency_ns
        cost_ns = instruction.cost_ns + instruction.node_cost_ns * len(instruction.nodes)
        call = self.call("GraphLaunch", cost_ns, after=self.room(stream), stream=stream)
        before, first = self.taken(stream, instruction.gap_ns), len(self.nodes)
        for index, node in enumerate(instruction.nodes):
            inside = tuple((first + p, lag) for p, lag in node.after)
            release = (call, latency + instruction.node_cost_ns * (index + 1))
            self.nodes.append(
                Node(
                    self.rank,
                    self.step,
                    node.kernel.work_ns,
                    after=inside or before,
                    released=(release,),
                    kernel=node.kernel,
                    stream=stream + node.branch,
                    launch=call,
                    graph_node=index,
                )
            )
        inner = {p for node in instruction.nodes for p, _ in node.after}
        self.left(stream, tuple(first + i for i in range(len(instruction.nodes)) if i not in inner))

    def wait(self, instruction: Wait) -> None:
        nodes, source, record = self.events[instruction.event]
        self.call("StreamWaitEvent", instruction.cost_ns, stream=instruction.stream, waits_for=(source, record))
        self.on(instruction.stream).waits += [(node, instruction.lag_ns) for node in nodes]

    def sync(self, instruction: Sync) -> None:
        if instruction.event is not None:
            name, nodes = "EventSynchronize", self.events[instruction.event][0]
        elif instruction.stream is not None:
            name, nodes = "StreamSynchronize", self.pending(instruction.stream)
        else:
            name, nodes = "DeviceSynchronize", tuple(n for s in self.streams for n in self.pending(s))
        until = tuple((node, instruction.return_ns) for node in nodes)
        stream = -1 if instruction.stream is None else instruction.stream
        self.call(name, instruction.cost_ns, until=until, stream=stream)


def _merged(program: Program, threads: list[_Thread]) -> Plan:
    """One list of nodes: every rank advances to its next collective, then all go on."""
    if len(threads) == 1:
        (thread,) = threads
        ops = tuple(i for i, node in enumerate(thread.nodes) if node.kernel)
        alone = tuple((i,) for i in ops if _is_collective(thread.nodes[i]))
        return Plan(program, tuple(thread.nodes), ops, alone, (tuple(thread.span),))
    maps: list[list[int]] = [[] for _ in threads]
    order: list[tuple[int, int]] = []
    groups: dict[int, list[int]] = {}
    while any(len(done) < len(thread.nodes) for done, thread in zip(maps, threads, strict=True)):
        for rank, thread in enumerate(threads):
            _advance(rank, thread.nodes, maps[rank], order, groups)
    nodes = tuple(_renumbered(threads[rank].nodes[local], maps[rank]) for rank, local in order)
    ops = tuple(i for m, t in zip(maps, threads, strict=True) for i, n in zip(m, t.nodes, strict=True) if n.kernel)
    span = tuple(tuple((m[a], m[b], m[c]) for a, b, c in t.span) for m, t in zip(maps, threads, strict=True))
    return Plan(program, nodes, ops, tuple(tuple(group) for group in groups.values()), span)


def _advance(
    rank: int, nodes: list[Node], numbers: list[int], order: list[tuple[int, int]], groups: dict[int, list[int]]
) -> None:
    """Append a rank's nodes to the merged order up to and with its next collective."""
    for local in range(len(numbers), len(nodes)):
        numbers.append(len(order))
        order.append((rank, local))
        kernel = nodes[local].kernel
        if kernel is not None and kernel.collective is not None:
            groups.setdefault(kernel.collective, []).append(numbers[local])
            return


def _is_collective(node: Node) -> bool:
    return node.kernel is not None and node.kernel.collective is not None


def _renumbered(node: Node, numbers: list[int]) -> Node:
    """The node with the numbers of the merged list."""

    def edges(of: Edges) -> Edges:
        return tuple((numbers[node], lag) for node, lag in of)

    return node._replace(
        after=edges(node.after),
        released=edges(node.released),
        until=edges(node.until),
        ahead=numbers[node.ahead] if node.ahead >= 0 else -1,
        launch=numbers[node.launch] if node.launch >= 0 else -1,
        waits_for=(node.waits_for[0], numbers[node.waits_for[1]] if node.waits_for[1] >= 0 else -1),
    )
