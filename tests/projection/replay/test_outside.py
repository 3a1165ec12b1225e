"""Where host and device idle together nothing tells what is waited for; where the steps tell, the interval closes."""

from __future__ import annotations

import numpy as np
import pytest

from gpu_simulator import Program, Step, simulate, to_trace
from gpu_simulator.program import Cpu, Sync
from projection.programs import US, asked, k
from trace_budget.schema.options import Change
from trace_budget.schema.trace import Trace


def paused(pause_us: list[float], work_us: list[float]) -> Trace:
    steps = tuple(
        Step((k("k", work, cost_us=2), k("rest", 10, cost_us=2), Sync(None, None, US)), (Cpu(round(pause * US)),))
        for pause, work in zip(pause_us, work_us, strict=True)
    )
    return to_trace(simulate(Program("vector", (steps,))))


def test_a_long_pause_of_all_is_paced_outside() -> None:
    projection = asked(paused([800.0] * 6, [1_000.0] * 6), "k", Change(saving_us=50))
    limits = projection.limits
    assert (limits.pace, limits.low) == ("outside", 0.0)
    assert limits.high == pytest.approx(50 * US, rel=0.01)
    assert projection.evidence["Q5"].grade == "C"
    assert "paced_outside" in {caveat.code for caveat in limits.caveats}
    assert projection.verdict.verdict != "GO"


def test_the_user_may_say_that_the_host_works_in_it() -> None:
    limits = asked(paused([800.0] * 6, [1_000.0] * 6), "k", Change(saving_us=50), loop="sync").limits
    assert limits.pace == "device"
    assert limits.low == pytest.approx(50 * US, rel=0.2)


@pytest.mark.parametrize("pause_us", [40.0, 150.0])
def test_a_short_pause_is_the_hosts_own(pause_us: float) -> None:
    limits = asked(paused([pause_us] * 6, [1_000.0] * 6), "k", Change(saving_us=50)).limits
    assert limits.pace == "device"
    assert limits.low > 0


def test_steps_that_grow_with_their_work_are_not_paced_outside() -> None:
    work = (1_000 + 100 * np.sin(np.arange(12))).tolist()
    free = asked(paused([800.0] * 12, work), "k", Change(saving_us=50)).limits
    assert free.pace == "device"
    timer = asked(paused([1_800.0 - each for each in work], work), "k", Change(saving_us=50)).limits
    assert (timer.pace, timer.low) == ("outside", 0.0)
