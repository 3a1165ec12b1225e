"""The dispatch floor where the host sets the pace: idle time between launches is not dispatch."""

import numpy as np
import pytest

from gpu_simulator import random_program, simulate, to_trace
from trace_budget import api
from trace_budget.analysis.floor import dispatch_floor
from trace_budget.projection.replay.schedule import schedule_of


@pytest.mark.parametrize("seed", range(6))
def test_a_usual_gap_is_never_longer_than_the_longest_of_its_kind(seed: int) -> None:
    floor = dispatch_floor(to_trace(simulate(random_program("eager_1stream", seed))))
    assert 0 <= floor.gap_ns <= floor.gap_max_ns


@pytest.mark.parametrize("seed", range(6))
def test_no_cause_has_less_than_no_slack(seed: int) -> None:
    found = api.analyse(to_trace(simulate(random_program("eager_1stream", seed))))
    base = schedule_of(found.trace, found.steps, dispatch_floor(found.trace))
    for line, edges in base.lines:
        assert edges.causes.slack_ns.min(initial=0) >= 0
        assert np.all(edges.host_slack_ns[line.launch >= 0] >= 0)
