"""Ops without a launch are of the step whose ops run around them on their stream."""

from __future__ import annotations

import pytest

from builders import Tape
from trace_budget.analysis.steps import find_steps


def steps_of(tape: Tape) -> list[int]:
    return find_steps(tape.trace()).op_step.tolist()


def taped(stream: int, count: int = 4) -> Tape:
    tape = Tape()
    for _ in range(count):
        with tape.range("execute_context_0(0)_generation_8(8)"):
            tape.launch("a b")
            latest = max(tape.clock.values())
            tape.run(["ncclDevKernel_AllReduce"], None, stream=stream, at=latest)
            tape.idle(0)
            tape.launch("c d")
        tape.idle(20_000)
    return tape


@pytest.mark.parametrize("stream", [7, 20])
def test_a_collective_without_launch_is_of_the_step_around_it(stream: int) -> None:
    assert steps_of(taped(stream)) == [step for step in range(4) for _ in range(5)]


def test_what_runs_between_two_steps_is_of_none() -> None:
    tape = Tape()
    for _ in range(3):
        with tape.range("execute_context_0(0)_generation_8(8)"):
            tape.launch("a b c")
        tape.run(["stray"], None)
        tape.idle(20_000)
    assert steps_of(tape) == [0, 0, 0, -1, 1, 1, 1, -1, 2, 2, 2, -1]
