"""Steps from graph launches alone: whole models, models in pieces, several sizes, lost kernels."""

import numpy as np
import pytest

from builders import US, Tape
from trace_budget.analysis.steps import find_steps
from trace_budget.analysis.steps.graph_launches import _period_of, _shifts
from trace_budget.schema.findings import Steps

LAYER = "norm qkv attn out norm up down "


def model(layers: int) -> str:
    return "embed " + LAYER * layers + "head sample"


def launched(sizes: list[int], pattern: str = LAYER) -> Steps:
    tape = Tape()
    for size in sizes:
        tape.graph("embed " + pattern * size + "head").launch("sample").idle(50 * US)
    return find_steps(tape.trace())


def test_each_launch_of_a_whole_model_is_a_step() -> None:
    steps = launched([6, 6, 6, 6])
    assert (steps.method, steps.confidence) == ("graph launches", "high")
    assert steps.frame["kernels"].to_list() == [6 * 7 + 3] * 4
    assert steps.phase == "other"


def test_alternating_batch_sizes_are_steps_of_their_own() -> None:
    steps = launched([6, 5, 6, 5, 6, 5, 6, 5])
    assert steps.method == "graph launches"
    assert steps.frame["kernels"].to_list() == [45, 38] * 4


def test_sizes_in_any_order_are_steps_of_their_own() -> None:
    steps = launched([6, 6, 4, 8, 6, 4, 8, 8, 6])
    assert steps.frame["kernels"].to_list() == [7 * n + 3 for n in (6, 6, 4, 8, 6, 4, 8, 8, 6)]


def test_equal_launches_without_layers_inside_may_be_pieces() -> None:
    tape = Tape()
    for _ in range(6):
        tape.graph("a b c d e f")
    assert find_steps(tape.trace()).confidence == "medium"


def piecewise(steps: int, pieces: int, first_piece: int = 0) -> Tape:
    """A model in pieces with eager attention between them, recorded from some piece on; idle after the sampler."""
    tape = Tape()
    for number in range(first_piece, steps * (pieces + 2)):
        piece = number % (pieces + 2)
        if piece == 0:
            tape.graph("embed norm qkv rope")
        elif piece <= pieces:
            tape.launch("attn", dur=60 * US).graph("out norm up down norm2 qkv rope " * 2)
        else:
            tape.launch("attn", dur=60 * US).graph("out norm up down final head").launch("sample").idle(40 * US)
    return tape


@pytest.mark.parametrize("pieces", [5, 23, 61])
def test_a_model_in_pieces_is_one_step_however_many_pieces_are_alike(pieces: int) -> None:
    steps = find_steps(piecewise(4, pieces).trace())
    assert (steps.method, steps.confidence) == (f"graph launches ({pieces + 2} a step)", "high")
    assert steps.frame["kernels"].to_list() == [4 + pieces * 15 + 1 + 6 + 1] * 4
    # Layers follow each other without gap inside the step; the next one begins 40 us later.
    assert (steps.frame["interval_ns"] - steps.frame["window_ns"]).to_list() == [40 * US] * 3 + [None]


@pytest.mark.parametrize("first_piece", [1, 4, 6])
def test_a_recording_that_begins_inside_a_step_is_cut_where_the_device_idles(first_piece: int) -> None:
    steps = find_steps(piecewise(5, 5, first_piece).trace())
    assert steps.frame["kernels"].to_list() == [4 + 5 * 15 + 1 + 6 + 1] * 4
    assert steps.frame["used"].to_list() == [True] * 4
    assert {caveat.code for caveat in steps.caveats} == {"ops_outside_steps"}


def test_a_draft_model_and_its_verification_make_one_step() -> None:
    tape = Tape()
    for _ in range(5):
        tape.graph("draft_norm draft_attn draft_up").graph("draft_norm draft_attn draft_up").graph(model(4))
        tape.idle(50 * US)
    steps = find_steps(tape.trace())
    assert steps.method == "graph launches (3 a step)"
    assert steps.frame["kernels"].to_list() == [3 + 3 + 31] * 5


def test_lost_kernels_do_not_hide_the_pattern() -> None:
    values = np.array([4, *[15] * 6, 12] * 6)
    values[[3, 21]] = [14, 9]
    assert _period_of(values) == 8


def test_no_pattern_is_no_step() -> None:
    assert _period_of(np.array([4, 9, 15, 4, 12, 15, 15, 9, 30, 2, 15])) is None
    tape = Tape()
    for size in (4, 9, 15, 3, 12, 16, 7):
        tape.graph([f"k{number}" for number in range(size)])
    assert not find_steps(tape.trace()).method.startswith("graph launches")


def test_one_launch_of_a_whole_model_is_one_step() -> None:
    steps = find_steps(Tape().run("earlier " * 3).graph(model(4)).launch("sample").trace())
    assert (steps.method, steps.frame["kernels"].to_list()) == ("graph launches", [32])


def test_the_number_of_patterns_tried_does_not_grow_with_the_trace() -> None:
    short, long = (_shifts(np.tile(np.arange(40) % 7, times)) for times in (10, 1000))
    assert len(short) <= 64
    assert len(long) <= 64
