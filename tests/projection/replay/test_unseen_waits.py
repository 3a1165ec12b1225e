"""A host that goes on right after the device is done has waited, though no record shows it; a busy host has not."""

from __future__ import annotations

import numpy as np
import pytest

from gpu_simulator.recordings import Recorder, dense
from trace_budget.projection.candidates import Candidate
from trace_budget.questions import project as project_question
from trace_budget.schema.options import Change, Policy, Scope, Selection, TokenInput
from trace_budget.schema.trace import Trace

SAVING_US = 3.0
LAYERS = 12


def recorded(behind_us: float) -> Trace:
    """Graph replays, each launched so long after the device is done; nothing but the launches is on record."""
    random = np.random.default_rng(1)
    model, one = dense(random, LAYERS), Recorder(random, graph=True)
    for index in range(8):
        begin = one.now_ns
        one.run(model.kernels)
        one.mark(f"decode[{index}]", begin)
        one.now_ns = one.free_ns + round(1_000 * behind_us)
    return one.trace()


def projected(trace: Trace) -> tuple[float, float, float, str]:
    """Low, expected and high us saved per step, and who sets the pace."""
    change = Change(saving_us=SAVING_US)
    said = project_question.candidate_report(
        trace, Candidate("", change, Selection("attention")), Scope(), TokenInput(), Policy()
    )
    saving = said.document["saving_us_per_step"]
    return saving["low"], saving["expected"], saving["high"], said.document["pace"]  # type: ignore[index, return-value]


def test_a_host_that_follows_the_device_is_expected_to_gain_what_it_gains() -> None:
    low, expected, high, pace = projected(recorded(20.0))
    assert (low, pace) == (0.0, "unknown")
    assert expected == pytest.approx(LAYERS * SAVING_US)
    assert high == pytest.approx(LAYERS * SAVING_US)


def test_a_host_that_takes_as_long_again_is_not() -> None:
    trace = recorded(3_000.0)
    low, expected, _, pace = projected(trace)
    assert low == 0.0
    assert expected == 0.0
    assert pace != "device"
