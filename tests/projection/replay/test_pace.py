"""The headroom of a loop: what its host leaves of a step limits every saving, whatever backlog a recording shows."""

from __future__ import annotations

import numpy as np
import pytest

from gpu_simulator import Program, Step
from gpu_simulator.program import Cpu, Record, Sync
from projection.programs import US, asked, k, loop
from trace_budget.projection.replay.pace import AHEAD, UNCLEAR, WAITS, Pace
from trace_budget.schema.options import Change


@pytest.mark.parametrize("host_us", [200, 700, 900, 950, 990, 999])
@pytest.mark.parametrize("saving_us", [5, 60, 400])
def test_a_loop_one_step_ahead_saves_down_to_the_host(host_us: int, saving_us: int) -> None:
    limits = asked(loop(host_us, 1_000, asynchronous=True), "k", Change(saving_us=saving_us)).limits
    true = min(saving_us, 1_000 - host_us) * US
    assert limits.low <= true + 1
    assert limits.expected == pytest.approx(true, abs=0.01 * saving_us * US + 1)
    assert limits.high >= true - 1


@pytest.mark.parametrize("host_us", [700, 950, 990])
def test_a_backlog_of_unlimited_depth_is_no_saving(host_us: int) -> None:
    """The host never waits: it is ahead by what it had before the recording."""
    body = (Cpu((host_us - 2) * US), k("k", 1_000, cost_us=2))
    steps = (Step((k("warm", 5_000, cost_us=2), *body)), *(Step(body),) * 11, Step((*body, Sync(None, None, US))))
    answer = asked(Program("vector", (steps,), loop="async", warm_up=1), "k", Change(saving_us=400))
    limits, true = answer.limits, (1_000 - host_us) * US * answer.match.calls_per_step
    assert limits.low <= true + 1 <= limits.high + 2


def test_waits_of_another_thread_close_nothing() -> None:
    pace = Pace(AHEAD, (10.0, 20.0, 30.0), closed=False)
    saved = np.array([[50.0], [50.0], [50.0]])
    assert pace.limited(saved, np.zeros((3, 1))).ravel().tolist() == [10.0, 20.0, 50.0]
    assert Pace(AHEAD, (10.0, 20.0, 30.0), True).limited(saved, np.ones((3, 1))).ravel().tolist() == [11.0, 21.0, 31.0]
    assert Pace(UNCLEAR, (10.0, 20.0, 30.0)).limited(saved, np.zeros((3, 1))).ravel().tolist() == [10.0, 50.0, 50.0]
    seen = Pace(WAITS, (10.0, 20.0, 30.0), waits_visible=True)
    assert seen.limited(saved, np.zeros((3, 1))).ravel().tolist() == [50.0, 50.0, 50.0]
    assert Pace(WAITS, (10.0, 20.0, 30.0)).limited(saved, np.zeros((3, 1))).ravel().tolist() == [0.0, 50.0, 50.0]
    assert np.array_equal(Pace("one").limited(saved, np.zeros((3, 1))), saved)


def test_blocking_waits_of_the_launching_thread_close_the_high_side() -> None:
    steps = tuple(
        Step((Cpu(300 * US), k("k", 1_000, cost_us=2), Record(i, 0, US)), (Sync(event=i - 1),) if i else ())
        for i in range(10)
    )
    limits = asked(Program("vector", (steps,), loop="async", warm_up=2), "k", Change(saving_us=900)).limits
    assert limits.low <= 697 * US <= limits.high + 1
    assert limits.high <= 710 * US
