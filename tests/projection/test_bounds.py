"""The simpler bounds beside the interval: chain, exposed, headroom, contention; each against a second computation."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_simulator import Machine, Shown, random_program, simulate, to_trace
from gpu_simulator.program import GraphLaunch, Sync
from projection.builders import graph_steps
from projection.programs import US, asked, k, loop, node, program, saved_us
from trace_budget.projection.bounds import chain_bound
from trace_budget.questions import project as project_question
from trace_budget.schema.options import Change, Selection


def best_chain(calls: list[tuple[int, int, float]]) -> float:
    """The most that calls can save of which no two overlap, by trying all sets."""
    best = 0.0
    for count in range(1, len(calls) + 1):
        for chosen in combinations(calls, count):
            apart = all(a[1] <= b[0] or b[1] <= a[0] for a, b in combinations(chosen, 2))
            best = max(best, sum(max(gain, 0.0) for *_, gain in chosen)) if apart else best
    return best


calls = st.tuples(st.integers(0, 60), st.integers(1, 25), st.floats(-5, 20)).map(lambda c: (c[0], c[0] + c[1], c[2]))


@given(st.lists(calls, max_size=8))
def test_the_chain_bound_is_the_best_set_of_calls_that_do_not_overlap(drawn: list[tuple[int, int, float]]) -> None:
    start, end, gain = (np.array([call[i] for call in drawn]) for i in range(3))
    got = chain_bound(start.astype(np.int64), end.astype(np.int64), gain.astype(np.float64))
    assert got == pytest.approx(best_chain(drawn), abs=1e-9)


def test_parallel_calls_cannot_both_count() -> None:
    nodes = (node("a", 5), node("k", 20, (0,)), node("k", 16, (0,), branch=1), node("j", 4, (1, 2)))
    got = saved_us(program(GraphLaunch(nodes, 0, 0)), "k", 6)
    assert (got.naive, got.chain) == (12, 6)


def test_exposed_counts_the_share_of_a_call_that_runs_alone() -> None:
    nodes = (node("a", 5), node("k", 20, (0,)), node("x", 5, (0,), branch=1), node("j", 4, (1, 2)))
    got = saved_us(program(GraphLaunch(nodes, 0, 0)), "k", 8)
    assert got.exposed == pytest.approx(8 * 15 / 20)


def test_headroom_is_what_the_host_waits() -> None:
    limits = asked(loop(1_000, 10_000, asynchronous=True), "k", Change(saving_us=100)).limits
    assert limits.headroom_ns == pytest.approx(9_000 * US, rel=0.15)
    blind = to_trace(simulate(loop(1_000, 10_000, asynchronous=True)), shown=Shown(hide_host=True))
    assert asked(blind, "k", Change(saving_us=100)).limits.headroom_ns is None


def test_a_loop_told_to_run_ahead_saves_no_more_than_its_headroom() -> None:
    slow = loop(9_950, 10_000, asynchronous=True)
    got = asked(slow, "k", Change(saving_us=200), loop="async").limits
    assert got.headroom_ns is not None
    assert got.low <= got.headroom_ns
    assert got.expected <= got.headroom_ns
    blind = to_trace(simulate(slow), shown=Shown(hide_host=True, hide_sync=True))
    unknown = asked(blind, "k", Change(saving_us=200), loop="async")
    assert unknown.limits.low == 0
    assert "headroom_unknown" in {caveat.code for caveat in unknown.caveats}


def test_a_contended_kernel_has_no_proven_upper_bound_below_naive() -> None:
    beside = program(k("a", 50), k("b", 50, 1), k("c", 10), Sync(None, None, US), machine=Machine(contention=0.3))
    got = asked(beside, "a", Change(saving_us=10))
    assert got.limits.contended
    assert got.limits.high >= got.limits.naive
    assert "contention_unmodelled" in {caveat.code for caveat in got.caveats}
    alone = asked(beside, "c", Change(saving_us=5))
    assert not alone.limits.contended
    assert alone.limits.high <= alone.limits.naive


@pytest.mark.parametrize("seed", range(3))
def test_kernels_only_carry_nothing_from_step_to_step(seed: int) -> None:
    run = simulate(random_program("eager_1stream", seed))
    trace = to_trace(run, shown=Shown(hide_host=True, hide_sync=True))
    got = project_question.projection(trace, Selection("moe_sum"), Change(saving_us=1, clip=True))
    assert not got.limits.host_visible
    assert {"host_invisible"} <= {caveat.code for caveat in got.caveats}


def test_a_loop_told_to_wait_is_carried_from_step_to_step() -> None:
    chain = [("a", 20.0), ("k", 30.0), ("b", 20.0)]
    visible = graph_steps(chain, 200, steps=5)
    assert asked(visible, "k", Change(saving_us=4)).limits.expected == 4 * US


def test_a_loss_is_at_worst_all_of_it_in_a_row() -> None:
    beside = program(k("k", 10), k("m", 10), k("c", 40, 1), k("j", 5), Sync(None, None, US))
    limits = asked(beside, "k", Change(new_us=25)).limits
    assert limits.naive == -15 * US
    assert -15 * US <= limits.low <= limits.expected <= limits.high <= 0
