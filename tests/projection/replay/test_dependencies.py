"""Expected causes and their slack: what holds an op back, where the trace records it and where it must be inferred."""

from __future__ import annotations

import numpy as np
import pytest

from gpu_simulator import Machine, Program, Shown, Step, simulate, to_trace, true_saving_ns
from gpu_simulator.program import Cpu, GraphLaunch, Record, Sync, Wait
from projection.programs import US, found, k, node, program, saved_us
from trace_budget.projection.replay.dependencies import Edges
from trace_budget.projection.replay.stretch import Timeline
from trace_budget.projection.target import common_schedule, prepared_rank


def ground_of(of: Program) -> tuple[Timeline, Edges]:
    """The timeline of a program with its expected causes."""
    (pair,) = common_schedule([prepared_rank(found(of))], "auto").lines
    return pair


@pytest.mark.parametrize("hidden", [False, True])
@pytest.mark.parametrize(("saving", "saved"), [(1, 1), (5, 2), (10, 2)])
def test_what_follows_a_replay_waits_for_all_of_its_branches(saving: float, saved: float, hidden: bool) -> None:
    leaves = (node("a", 10), node("k", 30, (0,)), node("m", 28, (0,), branch=1))
    tail = (k("tail", 20, cost_us=3), Sync(0, None, 2 * US, 3 * US))
    step = Step((Cpu(20 * US), GraphLaunch(leaves, 0, 5 * US), *tail))
    of = Program("leaves", ((step,) * 4,), machine=Machine(latency_ns=5 * US), shown=Shown(hide_streams=hidden))
    assert true_saving_ns(of, "k", round(saving * US)) == saved * US
    got = saved_us(of, "k", saving)
    assert got.low <= saved <= got.high
    assert got.expected == saved


@pytest.mark.parametrize("cost_us", [0, 1])
def test_recorded_waits_hold_even_when_calls_share_a_time_stamp(cost_us: float) -> None:
    event = (Record(1, 1, round(cost_us * US)), Wait(1, 0, round(cost_us * US)))
    of = program(k("a", 10, 0, cost_us), k("c", 40, 1, cost_us), *event, k("j", 5, 0, cost_us), Sync(0, None, US))
    line, edges = ground_of(of)
    names = found(of).trace.gpu_ops["name"].to_list()
    join, beside = names.index("j"), names.index("c")
    assert line.waits_on[join] == (beside,)
    assert line.edges_known.all()
    assert (beside, 0) in edges.causes.lists(line.size)[join]


def test_one_cause_of_every_op_has_no_slack() -> None:
    parts = [k(name, us, gap_us=1) for name, us in (("a", 9), ("b", 4), ("c", 30)) for _ in range(5)]
    line, edges = ground_of(program(Cpu(90 * US), *parts, Sync(0, None, US, US), steps=3))
    least = [min((slack for _, slack in causes), default=np.inf) for causes in edges.causes.lists(line.size)]
    host = np.where(edges.host_slack_ns >= 0, edges.host_slack_ns, np.inf)
    assert np.minimum(least, host).tolist() == [0.0] * line.size


def test_streams_whose_ops_overlap_are_not_believed() -> None:
    parts = [k("a", 30), k("b", 30, 1), k("c", 10)]
    run = simulate(program(*parts, Sync(None, None, US)))
    shown = common_schedule([prepared_rank(found(to_trace(run)))], "auto").lines[0][0]
    merged = to_trace(run, shown=Shown(hide_streams=True, hide_sync=True))
    hidden = common_schedule([prepared_rank(found(merged))], "auto").lines[0][0]
    assert (shown.fifo >= 0).sum() == 1
    assert not hidden.edges_known.any()
