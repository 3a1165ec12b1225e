"""Random programs of every kind a projection has to cope with; each kind is one way to run the same sort of model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count, pairwise

from gpu_simulator.draws import Draws, KernelType
from gpu_simulator.program import Cpu, GraphNode, Instruction, Launch, Machine, Pdl, Program, Record, Shown, Step, Sync
from gpu_simulator.shapes import (
    MAIN,
    Capture,
    Model,
    eager_chain,
    eager_fork,
    graph_launch,
    graph_nodes,
    model,
    sync_step,
    tokens,
)

STEPS = 4
LONGEST_OVERLAP_NS = 3_500
CUDA = Machine(latency_ns=4_800)
ROCM = Machine(latency_ns=14_000)


def random_program(kind: str, seed: int) -> Program:
    """The program of a kind and a seed; raises KeyError for a kind that is not in KINDS."""
    return replace(_BUILDERS[kind](Draws(kind, seed), seed), kind=kind)


def _program(of: Model, steps: list[Step], **rest: object) -> Program:
    settings: dict[str, object] = {"machine": CUDA, "layers": of.layers, **rest}
    return Program("", (tuple(steps),), **settings)  # type: ignore[arg-type]


def _eager_1stream(draws: Draws, seed: int) -> Program:
    of = model(draws)
    names = (*of.before, *of.middle, of.last)

    def body() -> list[Instruction]:
        return [of.launch("embedding", None), *(i for n in range(of.layers) for i in eager_chain(of, names, n))]

    return _program(of, [sync_step(of, body()) for _ in range(STEPS)])


def _eager_2streams(draws: Draws, seed: int) -> Program:
    of = model(draws)

    def body() -> list[Instruction]:
        return [of.launch("embedding", None), *(i for n in range(of.layers) for i in eager_fork(of, n))]

    return _program(of, [sync_step(of, body()) for _ in range(STEPS)])


def _eager_2streams_hidden(draws: Draws, seed: int) -> Program:
    return replace(_eager_2streams(draws, seed), shown=Shown(hide_sync=True))


def _linear_graph(draws: Draws, seed: int) -> Program:
    of = model(draws)
    return _program(of, [sync_step(of, [graph_launch(of, graph_nodes(of, 1))]) for _ in range(STEPS)])


def _forkjoin_graph(draws: Draws, seed: int) -> Program:
    of, branches = model(draws), draws.whole(2, 3)
    return _program(of, [sync_step(of, [graph_launch(of, graph_nodes(of, branches))]) for _ in range(STEPS)])


def _streams_hidden(draws: Draws, seed: int) -> Program:
    return replace(_forkjoin_graph(draws, seed), shown=Shown(hide_streams=True))


def _rocm_streamed_graph(draws: Draws, seed: int) -> Program:
    """No gaps between kernels: a ROCm profiler books them into the durations, so they are part of the work here."""
    of, node_cost_ns = model(draws, floor_ns=4_400), round(draws.between(1_000, 6_000))
    branches, steps = 1 + seed % 2, []
    for _ in range(STEPS):
        whole = graph_launch(of, graph_nodes(of, branches, lag_ns=0))
        steps.append(sync_step(of, [replace(whole, gap_ns=0, node_cost_ns=node_cost_ns)]))
    return _program(of, steps, machine=ROCM, shown=Shown(flavour="rocm", hide_streams=True))


def _pdl(draws: Draws, seed: int) -> Program:
    """Dependent launches whose prologue fits under the kernel ahead, even when that one is 60 % faster."""
    return _dependent_chain(draws, (0.1, 0.38))


def _pdl_late_trigger(draws: Draws, seed: int) -> Program:
    """Adversarial: prologues that outlast the kernel ahead, so a faster kernel ahead saves less than its time."""
    return _dependent_chain(draws, (0.2, 2.5))


def _dependent_chain(draws: Draws, share: tuple[float, float]) -> Program:
    of = model(draws)
    names = (*of.before, *of.middle, of.last)

    def body() -> list[Instruction]:
        launches = [of.launch("embedding", None), *(of.launch(name, n) for n in range(of.layers) for name in names)]
        return [launches[0], *(_dependent(draws, a, b, share) for a, b in pairwise(launches))]

    return _program(of, [sync_step(of, body()) for _ in range(STEPS)])


def _dependent(draws: Draws, ahead: Launch, launch: Launch, share: tuple[float, float]) -> Launch:
    """Half of the launches may start up to 3.5 us before the kernel ahead of them has ended."""
    if draws.between(0, 1) < 0.5:
        return launch
    trigger = max(draws.between(0.6, 0.95), 1.0 - LONGEST_OVERLAP_NS / ahead.kernel.work_ns)
    overlap_ns = (1.0 - trigger) * ahead.kernel.work_ns
    return replace(launch, pdl=Pdl(trigger, round(draws.between(*share) * overlap_ns)))


def _piecewise(draws: Draws, seed: int) -> Program:
    """A graph for all of a layer but its attention, which is launched eagerly between the pieces."""
    of = model(draws)
    names = [n for n in (*of.before, *of.middle, of.last) if n not in ("paged_attention", "attention_reduce")]

    def body() -> list[Instruction]:
        found: list[Instruction] = [of.launch("embedding", None)]
        for layer in range(of.layers):
            capture = Capture(of)
            capture.chain(names, layer, ())
            attention = [of.launch("paged_attention", layer), of.launch("attention_reduce", layer)]
            found += [*attention, graph_launch(of, tuple(capture.nodes))]
        return found

    return _program(of, [sync_step(of, body()) for _ in range(STEPS)])


def _async_loop(draws: Draws, seed: int) -> Program:
    """The host prepares a step while the device runs the one before; sometimes it is the slower of the two."""
    of, branches = model(draws), draws.whole(1, 2)
    share, steps = draws.between(0.3, 1.25), []
    for index in range(STEPS + 2):
        nodes = graph_nodes(of, branches)
        prepare_ns = draws.cost_ns(share * sum(node.kernel.work_ns for node in nodes), 0.02)
        body = (Cpu(prepare_ns), graph_launch(of, nodes), *tokens(of), Record(index, MAIN, 700))
        wait = (Sync(event=index - 1, cost_ns=1_500, return_ns=3_000),) if index else ()
        steps.append(Step(body, after=wait))
    return _program(of, steps, loop="async", warm_up=1)


def _hybrid(draws: Draws, seed: int) -> Program:
    """Three linear-attention layers, then one with full attention, with kernels of their own; graph or eager."""
    of = model(draws)
    linear = ("causal_conv1d", "gated_delta_rule", "gated_norm")
    for name in linear:
        of.types[name] = KernelType(name, draws.cost_ns(12_000, 0.6), 0.015)
    of.layers = 4 * draws.whole(2, 4)
    common = (*of.middle, of.last)

    def layer_names(layer: int) -> tuple[str, ...]:
        special = ("paged_attention", "attention_reduce") if layer % 4 == 3 else linear
        return (*of.before[:2], *special, *common)

    def body() -> list[Instruction]:
        chain = eager_chain(of, ("embedding",), None)
        chain += [i for n in range(of.layers) for i in eager_chain(of, layer_names(n), n)]
        return chain if seed % 2 else [_captured(of, chain)]

    return _program(of, [sync_step(of, body()) for _ in range(STEPS)])


def _captured(of: Model, launches: list[Instruction]) -> Instruction:
    """A chain of launches as the graph they would be captured into."""
    chain = [launch for launch in launches if isinstance(launch, Launch)]
    edges = [((index - 1, launch.gap_ns),) if index else () for index, launch in enumerate(chain)]
    return graph_launch(of, tuple(GraphNode(a.kernel, edge) for a, edge in zip(chain, edges, strict=True)))


def _tp2(draws: Draws, seed: int) -> Program:
    """Two ranks that meet in two all-reduces a layer; each has its own jitter, and the second is a little slower."""
    of = model(draws)
    reduce_type = KernelType("cross_device_reduce_1stage", draws.cost_ns(9_000, 0.3), 0.01)
    skew = 1.0 + draws.between(0.0, 0.03)
    ranks = []
    for rank in range(2):
        slowed = {n: replace(t, median_ns=round(t.median_ns * (skew if rank else 1.0))) for n, t in of.types.items()}
        numbers = count()
        mine = replace(of, types=slowed)
        ranks.append(tuple(sync_step(mine, _tp_body(mine, reduce_type, numbers)) for _ in range(STEPS)))
    return Program("", tuple(ranks), machine=CUDA, layers=of.layers)


def _tp_body(of: Model, reduce_type: KernelType, numbers: Iterator[int]) -> list[Instruction]:
    def all_reduce(layer: int) -> Launch:
        kernel = of.draws.kernel(reduce_type, layer, collective=next(numbers))
        return Launch(kernel, MAIN, of.draws.cost_ns(of.launch_ns), of.draws.lag_ns())

    body: list[Instruction] = [of.launch("embedding", None)]
    for layer in range(of.layers):
        body += [*eager_chain(of, of.before, layer), all_reduce(layer)]
        body += [*eager_chain(of, (*of.middle, of.last), layer), all_reduce(layer)]
    return body


def _contention(kappa: float) -> Callable[[Draws, int], Program]:
    def build(draws: Draws, seed: int) -> Program:
        program = (_eager_2streams if seed % 2 else _forkjoin_graph)(draws, seed)
        return replace(program, machine=replace(CUDA, contention=kappa))

    return build


_BUILDERS: dict[str, Callable[[Draws, int], Program]] = {
    "eager_1stream": _eager_1stream,
    "eager_2streams": _eager_2streams,
    "eager_2streams_hidden": _eager_2streams_hidden,
    "linear_graph": _linear_graph,
    "forkjoin_graph": _forkjoin_graph,
    "streams_hidden": _streams_hidden,
    "rocm_streamed_graph": _rocm_streamed_graph,
    "pdl": _pdl,
    "pdl_late_trigger": _pdl_late_trigger,
    "piecewise": _piecewise,
    "async_loop": _async_loop,
    "hybrid": _hybrid,
    "tp2": _tp2,
    "contention_0.3": _contention(0.3),
    "contention_1.0": _contention(1.0),
}
KINDS = tuple(_BUILDERS)
