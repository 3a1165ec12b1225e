"""Where each op of a step moves to, against a simulator that ran the changed program, and the critical path."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from gpu_simulator import Run, random_program, simulate, to_trace
from gpu_simulator.edited import edited, heaviest
from projection import builders
from projection.builders import Call, Op, hand_trace
from trace_budget import api
from trace_budget.errors import NotInTraceError, UsageError
from trace_budget.projection.candidates import Candidate, Sequence
from trace_budget.projection.chosen_claims import chosen_claims
from trace_budget.projection.replay.moved_step import LAUNCH, MovedStep, moved_step
from trace_budget.schema.findings import Findings
from trace_budget.schema.options import Change, Range, Selection

EXACT = ("linear_graph", "hybrid", "eager_1stream")
KINDS = (*EXACT, "forkjoin_graph", "eager_2streams", "rocm_streamed_graph", "pdl", "piecewise")
CUT_US = 2.0


def found_of(run: Run) -> Findings:
    return api.analyse(to_trace(run))


def saving(name: str, us: float = CUT_US) -> Candidate:
    return Candidate("", Change(saving_us=us), Selection(name))


def moved_by(found: Findings, candidate: Candidate, step: int = 1) -> MovedStep:
    return moved_step(found, chosen_claims(found, candidate), step, step)


def times_of(run: Run, step: int) -> list[tuple[str, int, int]]:
    """Name, start and end of the ops of a step of the simulated run, from the first start on."""
    ops = [(i, node) for i, node in run.ops() if node.step == step]
    first = min(int(run.node_start_ns[i]) for i, _ in ops)
    rows = [
        (n.kernel.name, int(run.node_start_ns[i]) - first, int(run.node_end_ns[i]) - first) for i, n in ops if n.kernel
    ]
    return sorted(rows, key=lambda row: row[1:])


@pytest.mark.parametrize("kind", KINDS)
def test_without_a_claim_nothing_moves(kind: str) -> None:
    found = found_of(simulate(random_program(kind, 2)))
    still = moved_step(found, (), 1, 1)
    assert np.array_equal(still.new_start_ns, still.start_ns)
    assert np.array_equal(still.new_end_ns, still.end_ns)
    assert np.array_equal(still.held_by, still.new_held_by)
    assert not still.hit.any()
    assert still.saved_ns.tolist() == np.zeros((3, still.line.size)).tolist()


@pytest.mark.parametrize("kind", EXACT)
@pytest.mark.parametrize("seed", [2, 5])
def test_every_op_moves_to_where_the_changed_program_runs_it(kind: str, seed: int) -> None:
    program = random_program(kind, seed)
    name, _ = heaviest(program)
    after = edited(program, lambda k: replace(k, work_ns=k.work_ns - round(CUT_US * 1000)) if k.name == name else k)
    found, truth = found_of(simulate(program)), times_of(simulate(after), 1)
    moved = moved_by(found, saving(name))
    names = found.trace.gpu_ops["name"].cast(pl.String).gather(moved.line.op_id).to_list()
    got = list(zip(names, moved.new_start_ns.tolist(), moved.new_end_ns.tolist(), strict=True))
    shown = sorted(got, key=lambda row: row[1:])
    assert [row[0] for row in shown] == [row[0] for row in truth]
    assert np.abs(np.array([row[1:] for row in shown]) - np.array([row[1:] for row in truth])).max() <= 5


@pytest.mark.parametrize("kind", KINDS)
def test_ops_only_move_earlier_and_touched_ones_get_shorter(kind: str) -> None:
    program = random_program(kind, 3)
    name, _ = heaviest(program)
    found = found_of(simulate(program))
    moved = moved_by(found, saving(name))
    names = found.trace.gpu_ops["name"].cast(pl.String).gather(moved.line.op_id)
    assert (names.filter(pl.Series(moved.hit)) == name).all()
    assert moved.hit.sum() == (names == name).sum()
    assert (moved.start_ns >= moved.new_start_ns).all()
    assert (moved.new_end_ns >= moved.new_start_ns).all()
    low, expected, high = moved.saved_ns
    assert (low <= expected + 1e-6).all()
    assert (expected <= high + 1e-6).all()


@pytest.mark.parametrize("projected", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_the_critical_path_ends_with_the_step_and_never_runs_back(kind: str, projected: bool) -> None:
    program = random_program(kind, 3)
    found = found_of(simulate(program))
    moved = moved_by(found, saving(heaviest(program)[0]))
    path = np.array(moved.path(projected))
    start, end = (moved.new_start_ns, moved.new_end_ns) if projected else (moved.start_ns, moved.end_ns)
    assert end[path[-1]] == end.max()
    assert (start[path[1:]] >= start[path[:-1]]).all()
    assert len(set(path.tolist())) == path.size > 0


def test_in_a_chain_the_critical_path_holds_every_op() -> None:
    found = found_of(simulate(random_program("linear_graph", 2)))
    moved = moved_step(found, (), 1, 1)
    graph = moved.line.replay >= 0
    assert set(np.flatnonzero(graph).tolist()) <= set(moved.path(projected=False))


def test_where_the_host_is_slower_ops_are_held_by_their_launch() -> None:
    run = simulate(random_program("eager_1stream", 3))
    moved = moved_step(found_of(run), (), 1, 1)
    latency_ns = run.program.machine.latency_ns
    ops = sorted(
        (int(run.node_start_ns[i]), int(run.node_start_ns[node.launch])) for i, node in run.ops() if node.step == 1
    )
    truly = np.array([start == called + latency_ns for start, called in ops])
    told = (moved.held_by == LAUNCH)[1:]
    assert 0.5 < truly.mean() < 0.9
    assert (told == truly[1:]).mean() > 0.95


def test_a_fused_kernel_is_gone_and_the_rest_closes_up() -> None:
    program = random_program("linear_graph", 2)
    name, beside = heaviest(program)
    found = found_of(simulate(program))
    ops = found.trace.gpu_ops.filter(pl.col("name").cast(pl.String).is_in([name, beside]))
    mean_us = float((ops["end_ns"] - ops["start_ns"]).mean() or 0) / 1000  # type: ignore[arg-type]
    moved = moved_by(found, Candidate("", Change(new_us=mean_us), None, Sequence((name, beside), mean_us)))
    names = found.trace.gpu_ops["name"].cast(pl.String).gather(moved.line.op_id)
    assert names.filter(pl.Series(moved.gone)).unique().to_list() == [beside]
    stay = ~moved.gone
    assert moved.new_end_ns[stay].max() < moved.end_ns.max()
    assert not set(np.flatnonzero(moved.gone).tolist()) & set(moved.path(projected=True))


def test_a_saving_that_contradicts_the_trace_is_refused() -> None:
    program = random_program("linear_graph", 2)
    found = found_of(simulate(program))
    with pytest.raises(UsageError, match="cannot be drawn"):
        chosen_claims(found, saving(heaviest(program)[0], us=5_000.0))
    with pytest.raises(NotInTraceError):
        chosen_claims(found, saving("no_such_kernel"))


def launched(*ops: tuple[str, float, float, float], steps: tuple[builders.Range, ...] = ()) -> Findings:
    """Ops as (name, start, duration, launch) in us on one stream."""
    calls = [Call("cudaLaunchKernel", at, at + 0.1, number) for number, (*_, at) in enumerate(ops)]
    return api.analyse(
        hand_trace([Op(n, at, us, call=number) for number, (n, at, us, _) in enumerate(ops)], calls, steps)
    )


@pytest.mark.parametrize("free", ["a", "z", "b"])
def test_an_op_of_no_length_and_one_that_starts_with_it_do_not_hold_each_other(free: str) -> None:
    # Streams whose ops overlap by so much as `c` and `d` tell no order: causes are what ended last.
    last = ("c", 42, 12, 10.6), ("d", 48, 9, 10.8)
    found = launched(("a", 20, 9, 10), ("b", 36, 5, 10.2), ("z", 36, 0, 10.4), *last)
    moved = moved_step(found, chosen_claims(found, Candidate("", Change(free=True), Selection(free))), 0, 0)
    for projected in (False, True):
        path = moved.path(projected)
        assert path == sorted(set(path))
        assert path[-1] == 4
    saved = {"a": 9_000, "z": 0, "b": 5_000}[free]  # all are launched long before they start
    assert moved.end_ns[3] - moved.new_end_ns[3] == saved


def test_an_op_that_ran_beside_the_first_one_does_not_overtake_it() -> None:
    ops = ("b", 11.0, 31.0, 1.0), ("a", 36.0, 18.0, 21.0), ("b", 51.0, 2.0, 22.5), ("a", 90.0, 1.0, 81.0)
    beside = launched(*ops, steps=(*(builders.Range(at, at + 5) for at in (0, 20, 80)),))
    moved = moved_step(beside, chosen_claims(beside, Candidate("", Change(free=True), Selection("a"))), 1, 1)
    assert moved.start_ns.tolist() == [0, 15_000]
    assert list(zip(moved.new_start_ns.tolist(), moved.new_end_ns.tolist(), strict=True)) == [(0, 0), (0, 2_000)]
    low, expected, high = moved.saved_ns
    assert (moved.end_ns - expected).tolist() == moved.new_end_ns.tolist()
    assert ((low <= expected) & (expected <= high) & (high <= moved.end_ns)).all()


def test_what_no_op_shows_is_refused() -> None:
    found = launched(("a", 10, 9, 1), ("b", 20, 5, 3))

    def claims(change: Change) -> int:
        return len(chosen_claims(found, Candidate("one", change, Selection("a"))))

    for change in (Change(free=True, hit_rate=Range(0.5, 1)), Change(free=True, per_step_us=3.0)):
        with pytest.raises(UsageError, match="one: timeline draws one request that runs the new kernel"):
            claims(change)
    with pytest.raises(NotInTraceError, match="another number of calls per step"):
        claims(Change(free=True, calls=9))
    assert claims(Change(free=True, hit_rate=Range(1, 1), per_step_us=0.0, calls=1)) == 1
    assert claims(Change(free=True, calls=9, force=True)) == 1
