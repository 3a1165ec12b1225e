"""Small programs with true savings worked out by hand; times in microseconds.

The names say what a naive or an exposed-time estimate gets wrong: a saving under other work, a saving that only moves
a wait, a launch that comes too late, a knee where another path takes over.
"""

from __future__ import annotations

import numpy as np
import pytest

from gpu_simulator import Kernel, Machine, Program, Step, deltas, planned, simulate, step_savings_ns, true_saving_ns
from gpu_simulator.program import Cpu, GraphLaunch, GraphNode, Instruction, Launch, Pdl, Record, Sync, Wait

US = 1_000


def k(name: str, us: float, stream: int = 0, cost_us: float = 0, gap_us: float = 0) -> Launch:
    return Launch(Kernel(name, round(us * US)), stream, round(cost_us * US), round(gap_us * US))


def program(*instructions: Instruction, steps: int = 1, **rest: object) -> Program:
    return Program("vector", (tuple(Step(instructions) for _ in range(steps)),), **rest)  # type: ignore[arg-type]


def saved_us(of: Program, **saving_us: float) -> float:
    """End of everything before, minus after the named kernels are shortened."""
    plan = planned(of)
    changed = sum(deltas(plan, name, round(us * US)) for name, us in saving_us.items())
    return (simulate(plan).makespan_ns() - simulate(plan, changed).makespan_ns()) / US


def total_us(of: Program) -> float:
    return simulate(of).makespan_ns() / US


def test_full_overlap_saves_nothing() -> None:
    beside = (k("k", 10), k("m", 10), k("c", 40, 1), Record(1, 1), Wait(1, 0), k("j", 5))
    assert total_us(program(*beside)) == 45
    assert saved_us(program(*beside), k=5) == 0


def test_a_kernel_under_other_work_can_save_all_of_it() -> None:
    beside = program(k("k", 10), k("m", 10), k("c", 10, 1), k("j", 5))
    assert total_us(beside) == 25
    assert saved_us(beside, k=5) == 5


def test_a_kernel_that_runs_alone_can_save_nothing() -> None:
    launches = [k("k", 10, cost_us=20) for _ in range(3)]
    bound = program(*launches, machine=Machine(latency_ns=5 * US))
    assert total_us(bound) == 60
    plan = planned(bound)
    ends = [simulate(plan, deltas(plan, "k", d)).op_times()[1].max() / US for d in (0, 4 * US)]
    assert ends == [55, 51]


@pytest.mark.parametrize(("saving", "saved"), [(4, 4), (8, 8), (12, 8), (30, 8)])
def test_saturation_where_the_other_stream_takes_over(saving: float, saved: float) -> None:
    beside = program(k("k", 30), k("c", 22, 1), Record(1, 1), Wait(1, 0), k("j", 5))
    assert saved_us(beside, k=saving) == saved


@pytest.mark.parametrize(("saving", "saved"), [(5, 10), (6, 12), (8, 14), (10, 16), (12, 16), (20, 16)])
def test_two_knees(saving: float, saved: float) -> None:
    nodes = (
        GraphNode(Kernel("k", 20 * US)),
        GraphNode(Kernel("x", 14 * US)),
        GraphNode(Kernel("y", 4 * US), ((0, 0), (1, 0))),
        GraphNode(Kernel("k", 20 * US), ((2, 0),)),
        GraphNode(Kernel("z", 10 * US), ((2, 0),)),
        GraphNode(Kernel("j", 2 * US), ((3, 0), (4, 0))),
    )
    graph = program(GraphLaunch(nodes, 0, 0))
    assert total_us(graph) == 46
    assert saved_us(graph, k=saving) == saved


def loop(host_us: float, asynchronous: bool) -> Program:
    steps = []
    for index in range(8):
        body = (Cpu(round(host_us * US)), k("k", 1_000), Record(index, 0))
        wait = Sync(event=index - 1 if asynchronous else index)
        steps.append(Step(body, (wait,) if index or not asynchronous else ()))
    kind = "async" if asynchronous else "sync"
    return Program("vector", (tuple(steps),), loop=kind, warm_up=2 if asynchronous else 0)


@pytest.mark.parametrize("host_us", [100, 990, 1200])
def test_a_synchronous_loop_saves_all_of_it(host_us: float) -> None:
    assert true_saving_ns(loop(host_us, asynchronous=False), "k", 20 * US) == 20 * US


@pytest.mark.parametrize(("host_us", "saved"), [(100, 20), (990, 10), (1200, 0)])
def test_a_loop_one_step_ahead_saves_down_to_the_host_time(host_us: float, saved: float) -> None:
    assert true_saving_ns(loop(host_us, asynchronous=True), "k", 20 * US) == saved * US


def test_fusion_saves_gaps_and_launches_too() -> None:
    apart = [k(name, us, gap_us=1.2) for name, us in (("a", 4), ("b", 3), ("c", 2))]
    behind = k("head", 100)
    fused = k("fused", 5.5, gap_us=1.2)
    assert total_us(program(behind, *apart)) - total_us(program(behind, fused)) == pytest.approx(5.9)
    many = [program(*([behind] + part * 48)) for part in (apart, [fused])]
    assert total_us(many[0]) - total_us(many[1]) == pytest.approx(283.2)


def test_fusion_of_a_launch_bound_part_saves_the_launches() -> None:
    apart = [k(name, us, cost_us=6) for name, us in (("a", 4), ("b", 3), ("c", 2))]
    fused = k("fused", 5.5, cost_us=6)
    tail = k("tail", 1, cost_us=6)
    runs = [simulate(program(*(part * 10), tail)) for part in (apart, [fused])]
    first_of_tail = [run.op_times()[0][-1] / US for run in runs]
    assert first_of_tail[0] - first_of_tail[1] == 12 * 10


@pytest.mark.parametrize(("name", "saving", "saved"), [("A", 3, 3), ("B", 5, 5), ("B", 9, 8)])
def test_a_dependent_launch_saves_its_own_work_only(name: str, saving: float, saved: float) -> None:
    second = Launch(Kernel("B", 8 * US), 0, 0, pdl=Pdl(0.8, 1 * US))
    run = simulate(overlapped := program(k("A", 10), second))
    start, end = run.op_times()
    assert (start / US).tolist() == [0, 8]
    assert (end / US).tolist() == [10, 18]
    assert saved_us(overlapped, **{name: saving}) == saved


def two_ranks(first_us: float, second_us: float, transfer_us: float = 10) -> Program:
    def rank(us: float) -> tuple[Step, ...]:
        reduce = Launch(Kernel("reduce", round(transfer_us * US), collective=1), 0, 0)
        return (Step((k("k", us), reduce, Sync(stream=0))),)

    return Program("vector", (rank(first_us), rank(second_us)))


@pytest.mark.parametrize(
    ("ranks", "saving", "saved"), [((0,), 15, 0), ((0, 1), 15, 15), ((1,), 15, 15), ((1,), 30, 20), ((0, 1), 30, 30)]
)
def test_only_the_last_rank_to_arrive_saves(ranks: tuple[int, ...], saving: float, saved: float) -> None:
    assert total_us(two_ranks(100, 120)) == 130
    assert true_saving_ns(two_ranks(100, 120), "k", round(saving * US), ranks) == saved * US


def test_a_faster_all_reduce_saves_at_most_what_the_last_rank_spends_in_it() -> None:
    late = two_ranks(100, 120)
    start, end = simulate(late).op_times()
    assert ((end - start) / US).tolist() == [100, 30, 120, 10]
    assert true_saving_ns(late, "reduce", 30 * US) == 10 * US


def test_steps_without_the_kernel_dilute_the_saving() -> None:
    decode = Step((*[k("k", 100) for _ in range(48)], k("rest", 44_000 - 4_800), Sync(stream=0)))
    mixed = Step((k("other", 80_000), Sync(stream=0)), phase="mixed")
    plan = planned(Program("vector", ((decode,) * 9 + (mixed,),)))
    base = simulate(plan)
    per_call = np.where([plan.nodes[op].work_ns == 100 * US for op in plan.ops], 3_108, 0)
    wanted = round(3_108.4 * 48) - 3_108 * 48
    for step in range(9):
        first = [i for i, op in enumerate(plan.ops) if plan.nodes[op].step == step][:wanted]
        per_call[first] += 1
    saved = step_savings_ns(base, simulate(plan, per_call)).mean()
    mean_step = np.diff(base.step_ends(), prepend=0).mean()
    assert mean_step == 47_600 * US
    assert saved == pytest.approx(134_283, abs=1)
    assert round(100 * saved / mean_step, 5) == 0.28211


def test_a_launch_that_comes_late_bounds_the_saving() -> None:
    late = program(k("A", 20, cost_us=20), k("B", 10, gap_us=1.2), machine=Machine(latency_ns=5 * US))
    assert total_us(late) == 36.2
    assert saved_us(late, A=15) == pytest.approx(1.2)


def test_contention_gives_back_more_than_order_alone() -> None:
    shared = program(k("a", 10), k("b", 10, 1), machine=Machine(contention=1.0))
    assert total_us(shared) == 20
    assert saved_us(shared, a=4) == 4


def test_a_graph_handed_over_node_by_node_becomes_launch_bound() -> None:
    nodes = tuple(GraphNode(Kernel("n", 4_400), ((i - 1, 0),) if i else ()) for i in range(100))
    streamed = program(GraphLaunch(nodes, 0, 0, node_cost_ns=2_890))
    assert total_us(streamed) == 442.89
    assert saved_us(streamed, n=2) == pytest.approx(151.49)
    assert saved_us(program(GraphLaunch(nodes, 0, 0)), n=2) == pytest.approx(200)


def test_a_full_queue_holds_the_host_back() -> None:
    launches = [k("k", 10, cost_us=1) for _ in range(6)]
    free, full = (simulate(program(*launches, machine=Machine(queue_depth=d))) for d in (1024, 2))
    calls = [i for i, node in enumerate(free.plan.nodes) if node.call]
    assert (free.node_start_ns[calls] / US).tolist() == [0, 1, 2, 3, 4, 5]
    assert (full.node_start_ns[calls] / US).tolist() == [0, 1, 10, 20, 30, 40]


def test_a_blocking_call_returns_after_the_work_or_after_its_own_cost() -> None:
    waiting = program(k("k", 50), Sync(stream=0, cost_ns=2 * US, return_ns=3 * US), Cpu(7 * US))
    assert total_us(waiting) == 60
    idle = program(k("k", 1), Cpu(40 * US), Sync(stream=0, cost_ns=2 * US, return_ns=3 * US))
    assert total_us(idle) == 42
