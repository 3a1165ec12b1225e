"""Steps from kernels alone: once-per-step kernels, idle gaps, the whole trace."""

import numpy as np
import pytest

from builders import US, Tape
from trace_budget.analysis.steps import find_steps

LAYER = "norm qkv attn out norm up down "
STEP = "embed " + LAYER * 6 + "head sample"


def caveats(tape: Tape) -> set[str]:
    return {caveat.code for caveat in find_steps(tape.trace()).caveats}


def test_a_kernel_that_runs_once_a_step_delimits_it_where_the_device_idles() -> None:
    tape = Tape()
    for _ in range(4):
        tape.run(STEP).idle(30 * US)
    steps = find_steps(tape.trace())
    assert (steps.method, steps.confidence) == ("once-per-step kernel embed", "medium")
    assert steps.frame["kernels"].to_list() == [45] * 4
    assert steps.frame["interval_ns"].to_list() == [480 * US] * 3 + [None]
    assert steps.frame["window_ns"].to_list() == [450 * US] * 4
    assert steps.caveats == ()


@pytest.mark.parametrize("cut", [1, 10, 40])
def test_a_recording_that_begins_inside_a_step_leaves_its_rest_out(cut: int) -> None:
    tape = Tape().run(STEP.split()[cut:]).idle(30 * US)
    for _ in range(4):
        tape.run(STEP).idle(30 * US)
    steps = find_steps(tape.trace())
    whole = steps.frame.filter("used")
    assert whole["kernels"].to_list() == [45] * 4
    assert whole["window_ns"].to_list() == [450 * US] * 4


def test_without_idle_time_the_delimiter_closes_its_step() -> None:
    tape = Tape()
    for _ in range(5):
        tape.run(LAYER * 6 + "sample")
    steps = find_steps(tape.trace())
    assert steps.frame["kernels"].to_list() == [43] * 5
    firsts = [steps.op_step.tolist().index(step) for step in range(5)]
    names = tape.trace().gpu_ops["name"].to_list()
    assert {names[first - 1] for first in firsts if first} == {"sample"}


def test_a_kernel_of_every_third_step_is_no_delimiter() -> None:
    tape = Tape()
    for number in range(12):
        tape.run(STEP + (" flush" if number % 3 == 2 else "")).idle(30 * US)
    steps = find_steps(tape.trace())
    assert steps.frame.height == 12
    assert sorted(set(steps.frame["kernels"].to_list())) == [45, 46]


def test_a_prefill_between_decode_steps_is_a_step_of_another_class() -> None:
    tape = Tape()
    prefill = "embed " + "norm big_qkv flash out norm big_up big_down " * 6 + "head sample"
    for number in range(9):
        tape.run(prefill if number == 4 else STEP, dur=(50 if number == 4 else 10) * US).idle(30 * US)
    steps = find_steps(tape.trace())
    assert steps.frame["why_out"].to_list() == [""] * 4 + ["other kernels"] + [""] * 4
    assert steps.step_ns == 480 * US


def test_what_runs_once_at_the_ends_makes_the_repetition_layers_of_one_pass() -> None:
    tape = Tape().run("embed " + LAYER * 24 + "head sample")
    steps = find_steps(tape.trace())
    assert steps.frame["kernels"].to_list() == [len(LAYER.split()) * 24 + 3]
    assert steps.level == "pass"
    assert "one_pass" in caveats(tape)


def test_a_repetition_without_layers_inside_may_be_the_layers_of_one_step() -> None:
    tape = Tape().run(LAYER * 24)
    steps = find_steps(tape.trace())
    assert steps.confidence == "low"
    assert "steps_maybe_layers" in caveats(tape)


def test_bursts_between_idle_gaps() -> None:
    tape = Tape()
    for number in range(5):
        tape.run([f"kernel_{number}_{k}" for k in range(12)]).idle(400 * US)
    steps = find_steps(tape.trace())
    assert (steps.method, steps.confidence) == ("idle gaps", "low")
    assert steps.frame["kernels"].to_list() == [12] * 5


def test_bursts_of_every_size_are_no_steps() -> None:
    tape = Tape()
    for number, size in enumerate((1, 5, 17, 3, 40, 9)):
        tape.run([f"kernel_{number}_{k}" for k in range(size)]).idle(400 * US)
    assert find_steps(tape.trace()).method == "whole trace"


def test_no_structure_is_told_as_an_error() -> None:
    tape = Tape().run([f"kernel_{number}" for number in range(50)])
    steps = find_steps(tape.trace())
    assert (steps.method, steps.confidence, steps.frame.height) == ("whole trace", "low", 1)
    unknown = next(c for c in steps.caveats if c.code == "steps_unknown")
    assert unknown.severity == "error"


def test_steps_do_not_depend_on_gaps_inside() -> None:
    generator = np.random.default_rng(5)
    tape = Tape()
    for _ in range(6):
        for name in STEP.split():
            tape.run([name]).idle(int(generator.integers(0, 2 * US)))
        tape.idle(100 * US)
    assert find_steps(tape.trace()).frame["kernels"].to_list() == [45] * 6


def test_a_delimiter_that_ends_the_trace_begins_no_step() -> None:
    # without idle time the delimiter closes its step: behind the last one nothing is left
    tape = Tape()
    for names in ("a b a b a b end", "a c a c a c c end", "a b a b a b end", "a b a b a b end"):
        tape.run(names)
    steps = find_steps(tape.trace())
    assert steps.frame["kernels"].sum() <= tape.trace().gpu_ops.height
    assert 0 not in steps.frame["kernels"].to_list()
