"""Pieces that random programs are made of: chains, forks and joins, eager or captured, and whole steps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from gpu_simulator.draws import NAMES, Draws, KernelType
from gpu_simulator.program import (
    Cpu,
    GraphLaunch,
    GraphNode,
    Instruction,
    Kernel,
    Launch,
    Pdl,
    Record,
    Step,
    Sync,
    Wait,
)

MAIN, SIDE = 0, 1
Nodes = tuple[int, ...]
RETURN_NS = 3_000


@dataclass(slots=True)
class Model:
    """What all steps of a program share: kernels, layers, host costs, and how a layer is cut into pieces.

    A layer runs `before` one after the other, then `side` beside `middle`, then `last`.
    """

    draws: Draws
    types: dict[str, KernelType]
    layers: int
    launch_ns: float
    before: tuple[str, ...]
    middle: tuple[str, ...]
    side: tuple[str, ...]
    last: str = "moe_sum"
    events: Iterator[int] = field(default_factory=lambda: iter(range(1, 1_000_000)))
    crossings: dict[int, bool] = field(default_factory=dict)

    def kernel(self, name: str, layer: int | None) -> Kernel:
        """One call."""
        return self.draws.kernel(self.types[name], layer)

    def crosses(self, layer: int) -> bool:
        """Whether one branch of a layer waits for another one: a captured graph is the same in every replay."""
        if layer not in self.crossings:
            self.crossings[layer] = self.draws.between(0, 1) < 0.15
        return self.crossings[layer]

    def launch(self, name: str, layer: int | None, stream: int = MAIN, pdl: Pdl | None = None) -> Launch:
        """One eager launch."""
        cost_ns = self.draws.cost_ns(self.launch_ns)
        return Launch(self.kernel(name, layer), stream, cost_ns, self.draws.lag_ns(), pdl)

    def fork(self, source: int, target: int) -> tuple[Record, Wait]:
        """`target` waits for what `source` holds now."""
        event = next(self.events)
        costs = self.draws.cost_ns(700), self.draws.cost_ns(800)
        return Record(event, source, costs[0]), Wait(event, target, costs[1], self.draws.lag_ns())


def model(draws: Draws, floor_ns: int = 1_800) -> Model:
    """A random model of 100 to 300 kernels a step; with small kernels the host is the slower side."""
    before = NAMES[: draws.whole(3, 7)]
    middle = NAMES[7 : draws.whole(11, 13)]
    side = NAMES[13 : draws.whole(14, 16)]
    types = draws.types(floor_ns, round(draws.between(2_500, 12_000)))
    for name in ("embedding", "lm_head_gemm", "argmax"):
        types[name] = KernelType(name, draws.cost_ns(20_000, 0.7), 0.01)
    return Model(draws, types, draws.whole(10, 18), draws.between(2_000, 16_000), before, middle, side)


def eager_chain(of: Model, names: Iterable[str], layer: int | None, stream: int = MAIN) -> list[Instruction]:
    """Launches one after the other."""
    return [of.launch(name, layer, stream) for name in names]


def eager_fork(of: Model, layer: int) -> list[Instruction]:
    """One layer over two streams with events between them."""
    return [
        *eager_chain(of, of.before, layer),
        *of.fork(MAIN, SIDE),
        *eager_chain(of, of.side, layer, SIDE),
        *eager_chain(of, of.middle, layer),
        *of.fork(SIDE, MAIN),
        of.launch(of.last, layer),
    ]


class Capture:
    """Collects the nodes of a graph; `lag_ns` None draws a dispatch gap for every edge."""

    def __init__(self, of: Model, lag_ns: int | None = None) -> None:
        self.of, self.lag_ns = of, lag_ns
        self.nodes: list[GraphNode] = []

    def add(self, name: str, layer: int | None, after: Iterable[int], branch: int = 0) -> int:
        """A node behind others; returns its number."""
        edges = tuple((p, self.of.draws.lag_ns() if self.lag_ns is None else self.lag_ns) for p in sorted(set(after)))
        self.nodes.append(GraphNode(self.of.kernel(name, layer), edges, branch))
        return len(self.nodes) - 1

    def chain(
        self, names: Iterable[str], layer: int | None, after: tuple[int, ...], branch: int = 0
    ) -> tuple[int, ...]:
        """Nodes one after the other; returns the last as what the next ones wait for."""
        for name in names:
            after = (self.add(name, layer, after, branch),)
        return after

    def forked(self, layer: int, after: Nodes, branches: int) -> Nodes:
        """One layer with two or three branches, sometimes with an edge across, and a join."""
        of = self.of
        after = self.chain(of.before, layer, after)
        main = self.chain(of.middle, layer, after)
        ends = [*main, *self.chain(of.side, layer, after, branch=1)]
        if branches > 2:
            across = main if of.crosses(layer) else ()
            ends += self.chain(NAMES[6:8], layer, (*after, *across), branch=2)
        return (self.add(of.last, layer, ends),)


def graph_nodes(of: Model, branches: int, lag_ns: int | None = None) -> tuple[GraphNode, ...]:
    """The graph of a whole step: a chain (one branch) or forks and joins."""
    capture = Capture(of, lag_ns)
    after = capture.chain(("embedding",), None, ())
    for layer in range(of.layers):
        if branches == 1:
            after = capture.chain((*of.before, *of.middle, of.last), layer, after)
        else:
            after = capture.forked(layer, after, branches)
    return tuple(capture.nodes)


def graph_launch(
    of: Model, nodes: tuple[GraphNode, ...], node_cost_ns: int = 0, gap_ns: int | None = None
) -> GraphLaunch:
    """Replay of a graph on the main stream."""
    gap_ns = of.draws.lag_ns() if gap_ns is None else gap_ns
    return GraphLaunch(nodes, MAIN, of.draws.cost_ns(18_000), gap_ns, node_cost_ns)


def tokens(of: Model) -> list[Instruction]:
    """The end of every step: head, sampling, and the copy of the tokens to the host."""
    copy = Launch(Kernel("Memcpy DtoH (Device -> Pinned)", 1_500, kind="memcpy"), MAIN, 3_800, 1_200)
    return [of.launch("lm_head_gemm", None), of.launch("argmax", None), copy]


def sync_step(of: Model, body: Iterable[Instruction]) -> Step:
    """A step of a synchronous loop: prepare, launch, wait for the tokens."""
    prepare = Cpu(of.draws.cost_ns(120_000, 0.2))
    wait = Sync(stream=MAIN, cost_ns=of.draws.cost_ns(2_000), return_ns=RETURN_NS)
    return Step((prepare, *body, *tokens(of), wait))
