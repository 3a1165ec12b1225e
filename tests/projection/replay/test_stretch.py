"""What a stretch of a trace tells of dependencies: order on streams, early starts, releases, latency, pace."""

from __future__ import annotations

import numpy as np
import pytest

from gpu_simulator import Kernel, Machine, Program, Shown, Step, random_program, simulate, to_trace
from gpu_simulator.program import Cpu, GraphLaunch, Launch, Pdl, Sync
from projection.builders import Op, graph_steps, hand_trace
from projection.programs import US, found, k, loop, node, program
from trace_budget import api
from trace_budget.projection.replay.host import usual_latency
from trace_budget.projection.replay.stretch import Timeline, effective_ns
from trace_budget.projection.target import common_schedule, prepared_rank
from trace_budget.schema.options import Scope
from trace_budget.schema.trace import Trace


def line_of(of: Program | Trace) -> Timeline:
    ((line, _),) = common_schedule([prepared_rank(found(of))], "auto").lines
    return line


def test_ops_follow_each_other_on_their_stream() -> None:
    line = line_of(program(k("a", 10, 0, 2), k("b", 10, 1, 2), k("c", 10, 0, 2), k("d", 10, 1, 2), Sync(0, None, US)))
    assert line.lane.tolist() == [0, 1, 0, 1]
    assert line.fifo.tolist() == [-1, -1, 0, 1]


def test_graph_nodes_follow_nothing_and_what_comes_behind_follows_their_last() -> None:
    nodes = (node("a", 10), node("b", 30, (0,)), node("c", 5, (0,), branch=1))
    of = program(k("head", 5, 0, 2), GraphLaunch(nodes, 0, 5 * US), k("tail", 5, 0, 2), Sync(0, None, US))
    line = line_of(of)
    names = found(of).trace.gpu_ops["name"].to_list()
    assert names[:2] == ["head", "a"]
    assert [line.fifo[names.index(name)] for name in "abc"] == [-1, -1, -1]
    assert line.fifo[names.index("tail")] == names.index("b")
    assert line.replay.tolist().count(0) == 3


def test_an_early_start_counts_from_where_the_kernel_ahead_ended() -> None:
    second = Launch(Kernel("B", 8 * US), 0, 0, pdl=Pdl(0.8, 1 * US))
    line = line_of(program(k("A", 10), second, Sync(0, None, US)))
    assert line.early.tolist() == [False, True]
    assert line.effective_ns.tolist() == [10_000, 8_000]


@pytest.mark.parametrize(("overlap_us", "effective"), [(0.0, 10.0), (0.1, 9.9), (3.0, 7.0), (4.9, 5.1), (5.1, 10.0)])
def test_only_short_overlaps_on_one_stream_are_early_starts(overlap_us: float, effective: float) -> None:
    trace = hand_trace([Op("a", 0, 20), Op("b", 20 - overlap_us, 10)])
    assert effective_ns(trace).tolist() == [20_000, pytest.approx(effective * US)]


def test_calls_without_times_delay_nothing() -> None:
    assert effective_ns(hand_trace([Op("a", 0, 20), Op("b", 30, None)])).tolist() == [20_000, 0]


def test_hip_hands_graph_nodes_over_one_by_one_and_cuda_all_at_once() -> None:
    nodes = tuple(node("n", 4.4, (i - 1,) if i else ()) for i in range(20))
    call = GraphLaunch(nodes, 0, 0, node_cost_ns=2_890)
    hip = line_of(program(call, Sync(0, None, US), shown=Shown("rocm")))
    cuda = line_of(program(call, Sync(0, None, US)))
    assert np.diff(hip.release_ns).tolist() == [2_890] * 19
    assert np.diff(cuda.release_ns).tolist() == [0] * 19


def test_latency_is_measured_where_the_device_was_idle() -> None:
    parts = [k("a", 30, 0, 3), k("b", 5, 0, 3), Cpu(200 * US), k("c", 30, 0, 3), k("d", 5, 0, 3)]
    line = line_of(program(*parts, Sync(0, None, US), machine=Machine(latency_ns=4_800)))
    assert set(zip(*(part.tolist() for part in line.latency_ns), strict=True)) == {(4_800, 4_800)}


@pytest.mark.parametrize(
    ("asynchronous", "host_us", "pace"),
    [(False, 1_000, "waits"), (True, 1_000, "ahead"), (True, 12_000, "unclear")],
)
def test_how_the_host_follows_the_device(asynchronous: bool, host_us: float, pace: str) -> None:
    assert line_of(loop(host_us, 10_000, asynchronous)).pace.loop == pace


def test_one_step_follows_nothing() -> None:
    assert line_of(graph_steps([("a", 10.0), ("b", 5.0)], 50, steps=1)).pace.loop == "one"


def test_the_next_step_ends_a_stretch() -> None:
    line = line_of(graph_steps([("a", 10.0), ("b", 5.0)], 50, steps=4))
    assert (line.size, line.steps, line.next_start) == (8, 4, None)
    first = api.analyse(graph_steps([("a", 10.0), ("b", 5.0)], 50, steps=4), Scope(steps="0:3"))
    ((part, _),) = common_schedule([prepared_rank(first)], "auto").lines
    assert (part.size, part.steps, part.next_start) == (7, 3, 6)


def test_collectives_wait_beyond_the_shortest_of_their_name() -> None:
    chain = [("mlp", 20.0), ("ncclDevKernel_AllReduce", 9.0), ("mlp", 20.0), ("ncclDevKernel_AllReduce", 30.0)]
    line = line_of(graph_steps(chain, 100, steps=1, world_size=8))
    assert line.waited_ns.tolist() == [-1, 0, -1, 21_000]
    alone = line_of(graph_steps(chain, 100, steps=1, world_size=1))
    assert alone.waited_ns.tolist() == [-1] * 4


def test_nodes_without_ids_are_known_by_name_and_turn() -> None:
    run = simulate(random_program("rocm_streamed_graph", 1))
    line = line_of(to_trace(run))
    replays = [line.node[line.replay == index] for index in range(int(line.replay.max()) + 1)]
    assert all(np.array_equal(np.sort(nodes), np.sort(replays[0])) for nodes in replays)
    assert len(set(replays[0].tolist())) == replays[0].size


def test_clock_grain_is_no_early_start() -> None:
    ops = [Op("a", 0, 20), Op("b", 19.98, 10), Op("c", 40, 5)]
    line = line_of(hand_trace(ops, (), ()))
    assert not line.early.any()
    assert line.start_ns.tolist() == [0, 20_000, 40_000]


def test_steps_and_streams_are_told_apart() -> None:
    step = Step((k("a", 10, 0, 2), k("b", 20, 1, 2), Sync(None, None, US, US)))
    line = line_of(Program("p", ((step,) * 3,)))
    assert line.step.tolist() == [0, 0, 1, 1, 2, 2]
    assert line.last_step == 2


@pytest.mark.parametrize(("late_ns", "longest_ns"), [(9_000, 9_000), (11_000, 5_000)])
def test_a_start_much_later_than_its_like_waited_for_more_than_its_launch(late_ns: int, longest_ns: int) -> None:
    usual = np.array([4_800, 5_000, 5_000, 5_000, late_ns], dtype=np.int64)
    assert usual_latency(usual) == (4_800, longest_ns)
