"""The saving curve: its values, its exact knees, and the slack of each op; held against a dense sweep and by hand."""

import numpy as np
import polars as pl
import pytest

from gpu_simulator import random_program, simulate, to_trace
from projection.builders import Call, Op, Range, hand_trace
from trace_budget import api
from trace_budget.projection.candidates import Candidate
from trace_budget.projection.replay.knees import slack_ns, sweep
from trace_budget.projection.replay.schedule import Schedule
from trace_budget.projection.target import PreparedRank, common_schedule, prepared_rank, target_of
from trace_budget.schema.options import Change, Selection
from trace_budget.schema.trace import Trace


def forked(branch_us: float, steps: int = 4) -> Trace:
    """k(30) beside c(branch_us), joined by j(5), one graph a step, waited for."""
    ops, calls, ranges = [], [], []
    for step in range(steps):
        at, graph = 200.0 * step, 10 * step + 1
        ranges.append(Range(at - 20, at + 10))
        calls += [
            Call("cudaGraphLaunch", at - 15, at - 5, graph),
            Call("cudaStreamSynchronize", at - 4, at + 50, graph + 1),
        ]
        ops += [Op("a", at, 10, 7, graph, node=1), Op("k", at + 10, 30, 7, graph, node=2)]
        ops += [Op("c", at + 10, branch_us, 8, graph, node=3), Op("j", at + 40, 5, 7, graph, node=4)]
    return hand_trace(ops, calls, ranges)


def scheduled(trace: Trace) -> tuple[PreparedRank, Schedule]:
    site = prepared_rank(api.analyse(trace))
    return site, common_schedule([site], "auto")


def test_a_parallel_branch_makes_one_knee_where_it_takes_over() -> None:
    site, base = scheduled(forked(22.0))
    target = target_of(site, Candidate("", Change(free=True), Selection("re:^k$")))
    effective = site.effective[target.timed.ops["op_id"].to_numpy()].astype(float)
    curve = sweep(base, target.timed, effective, np.array([0.0, 4_000.0, 8_000.0, 12_000.0, 30_000.0]))
    assert curve.moved.expected == pytest.approx([0, 4_000, 8_000, 8_000, 8_000], abs=1)
    assert curve.naive == pytest.approx([0, 4_000, 8_000, 12_000, 30_000])
    assert len(curve.knees) == 1
    assert curve.knees[0] == pytest.approx((8_000, 8_000), abs=2)
    assert np.all(curve.moved.low <= curve.moved.expected + 1e-6)
    assert np.all(curve.moved.expected <= curve.moved.high + 1e-6)


def test_a_lone_chain_has_no_knee_before_the_kernel_is_gone() -> None:
    site, base = scheduled(forked(1.0))
    target = target_of(site, Candidate("", Change(free=True), Selection("re:^j$")))
    effective = site.effective[target.timed.ops["op_id"].to_numpy()].astype(float)
    curve = sweep(base, target.timed, effective, np.array([0.0, 2_500.0, 5_000.0]))
    assert curve.moved.expected == pytest.approx([0, 2_500, 5_000], abs=1)
    assert curve.knees == ()


def test_slack_is_what_an_op_can_be_late_without_moving_the_end() -> None:
    _, base = scheduled(forked(22.0, steps=1))
    line, edges = base.lines[0]
    # a, k and j are the critical path; c ends 8 us before the join.
    assert slack_ns(line, edges).tolist() == pytest.approx([0, 0, 8_000, 0])


@pytest.mark.parametrize("seed", range(4))
def test_knees_agree_with_a_dense_sweep(seed: int) -> None:
    trace = to_trace(simulate(random_program("forkjoin_graph", seed)))
    site, base = scheduled(trace)
    kernels = site.ops.filter(pl.col("kind") == "kernel")
    name = kernels.group_by("name").len().sort("len", "name")["name"].cast(pl.String)[-1 - seed]
    target = target_of(site, Candidate("", Change(free=True), Selection(f"re:^{name}$")))
    effective = site.effective[target.timed.ops["op_id"].to_numpy()].astype(float)
    top = float(effective.max())
    dense = np.linspace(0.0, top, 65)
    curve = sweep(base, target.timed, effective, dense)
    assert np.all(np.diff(curve.moved.expected) >= -1e-6)
    assert np.all(np.diff(curve.moved.expected, 2) <= 1e-6 * top)
    # Straight lines through the ends and the knees are the curve.
    points = [(0.0, 0.0), *curve.knees, (top, float(curve.moved.expected[-1]))]
    drawn = np.interp(dense, [x for x, _ in points], [y for _, y in points])
    assert drawn == pytest.approx(curve.moved.expected, abs=1e-6 * max(float(curve.moved.expected[-1]), 1.0) + 0.01)
