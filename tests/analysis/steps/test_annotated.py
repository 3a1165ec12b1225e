"""Steps from annotations: attribution by launch, nested ranges, device copies, host ranges without launches."""

import pytest

from builders import DECODE, MS, US, Tape, decode_steps
from trace_budget.analysis.steps import find_steps
from trace_budget.schema.findings import Steps
from trace_budget.schema.options import Scope


def codes(steps: Steps) -> dict[str, int]:
    return {caveat.code: caveat.count for caveat in steps.caveats}


def test_a_step_owns_what_it_launched_though_its_kernels_run_after_it_closed() -> None:
    tape = Tape()
    for _ in range(3):
        with tape.range(DECODE):
            tape.launch("copy", stream=9, kind="memcpy", dur=2 * US).graph("a b c").launch("sample")
        tape.idle(5 * US)
    trace = tape.trace()
    assert trace.markers["end_ns"].to_numpy().max() < trace.gpu_ops["start_ns"].to_numpy().min()
    steps = find_steps(trace)
    assert (steps.method, steps.confidence, steps.phase) == ("annotations", "high", "decode")
    assert steps.op_step.tolist() == [0] * 5 + [1] * 5 + [2] * 5
    frame = steps.frame
    assert frame["gpu_ops"].to_list() == [5, 5, 5]
    assert frame["kernels"].to_list() == [4, 4, 4]
    # Four kernels of 10 us; the copy runs beside the first.
    assert frame["window_ns"].to_list() == [40 * US] * 3
    assert frame["busy_ns"].to_list() == [40 * US] * 3
    assert frame["interval_ns"].to_list() == [45 * US, 45 * US, None]
    assert frame["batch_size"].to_list() == [8, 8, 8]
    # The range opens 1 us before the first of three calls of 1 us each.
    assert frame["cpu_ns"].to_list() == [4 * US] * 3
    assert steps.step_ns == 45 * US
    assert codes(steps) == {}


def test_another_threads_calls_do_not_count() -> None:
    tape = Tape()
    with tape.range("ProfilerStep#1"):
        tape.launch("forward " * 4)
        tape.tid = 2
        tape.launch("backward " * 4)
        tape.tid = 1
        tape.launch("optimizer")
    steps = find_steps(tape.trace())
    assert steps.frame["kernels"].to_list() == [5]
    outside = next(c for c in steps.caveats if c.code == "ops_outside_steps")
    assert (outside.count, outside.severity) == (4, "warning")
    assert "4 launched by other threads while a step ran" in outside.text
    assert steps.confidence == "medium"


def test_a_small_backward_share_is_a_warning_too_but_stray_work_is_a_note() -> None:
    tape = Tape()
    with tape.range("ProfilerStep#1"):
        tape.launch("forward " * 96)
        tape.tid = 2
        tape.launch("backward " * 4)
    aside = next(c for c in find_steps(tape.trace()).caveats if c.code == "ops_outside_steps")
    assert (aside.count, aside.severity) == (4, "warning")
    tape = Tape()
    with tape.range("ProfilerStep#1"):
        tape.launch("forward " * 96)
    tape.launch("later " * 4)
    stray = next(c for c in find_steps(tape.trace()).caveats if c.code == "ops_outside_steps")
    assert (stray.count, stray.severity) == (4, "note")
    assert "4 between the steps" in stray.text


def test_orphans_belong_to_no_step() -> None:
    tape = Tape().run("earlier " * 6)
    with tape.range(DECODE):
        tape.launch("a b c d")
    steps = find_steps(tape.trace())
    assert steps.op_step.tolist() == [-1] * 6 + [0] * 4
    outside = next(c for c in steps.caveats if c.code == "ops_outside_steps")
    assert (outside.count, outside.severity) == (6, "warning")
    assert "6 launched before the recording began" in outside.text
    assert steps.confidence == "high"


def test_an_outer_range_with_stray_kernels_gives_way_to_the_one_that_holds_the_replay() -> None:
    tape = Tape()
    with tape.range("execute_32_context_0(sq0)_generation_32(sq32)"):
        tape.launch("prepare " * 7)
        tape.idle(400 * MS)
        with tape.range("step[DECODE bs=32]"):
            tape.graph("a b c d").launch("sample")
    steps = find_steps(tape.trace())
    assert steps.frame["name"].to_list() == ["step[DECODE bs=32]"]
    assert steps.frame["window_ns"].to_list() == [50 * US]
    assert codes(steps) == {"ops_outside_steps": 7, "single_step": 1}


@pytest.mark.parametrize(("inside", "winner"), [(95, "step[DECODE bs=8]"), (94, DECODE)])
def test_a_nested_range_is_the_step_from_95_percent_of_the_work_on(inside: int, winner: str) -> None:
    tape = Tape()
    with tape.range(DECODE):
        tape.launch("before " * (100 - inside))
        with tape.range("step[DECODE bs=8]"):
            tape.launch("a " * inside)
    assert find_steps(tape.trace()).frame["name"].to_list() == [winner]


def test_a_recording_window_that_holds_several_engine_steps_is_no_step() -> None:
    tape = Tape()
    with tape.range("ProfilerStep#1"):
        for _ in range(3):
            tape.launch("between " * 10)
            with tape.range(DECODE):
                tape.launch("a b c")
    steps = find_steps(tape.trace())
    # what runs unmarked between them, more than in them, is part of each step
    assert steps.frame["name"].to_list() == [DECODE] * 3
    assert steps.frame["kernels"].to_list() == [13] * 3


def test_a_word_around_several_engine_steps_is_a_window_too() -> None:
    tape = Tape()
    with tape.range("decode"):
        for _ in range(3):
            tape.launch("between")
            with tape.range(DECODE):
                tape.launch("a b c")
    assert find_steps(tape.trace()).frame["name"].to_list() == [DECODE] * 3


def test_a_thousand_nested_ranges_end_at_the_innermost() -> None:
    tape = Tape().launch("a b c d")
    for depth in range(3000):
        tape.mark("decode[1]", 1 + depth, 10 * MS - depth)
    steps = find_steps(tape.trace())
    assert steps.frame["kernels"].to_list() == [4]
    assert steps.frame["cpu_ns"].to_list() == [10 * MS - 2999 - 3000]


def test_ranges_that_hold_only_copies_are_no_steps_where_kernels_run() -> None:
    tape = Tape()
    for _ in range(4):
        with tape.range("decode"):
            tape.launch("text", kind="memcpy")
        tape.graph("a b c a b c a b c").idle(50 * US)
    steps = find_steps(tape.trace())
    assert steps.method == "graph launches"
    assert steps.frame["kernels"].to_list() == [9] * 4


def test_few_kernels_inside_annotations_make_them_unsure() -> None:
    tape = Tape()
    with tape.range("decode[0]"):
        tape.launch("a b c")
    tape.launch("other " * 7)
    steps = find_steps(tape.trace())
    assert steps.confidence == "low"
    assert codes(steps)["ops_outside_steps"] == 7


def test_calls_of_unknown_threads_are_followed_by_time() -> None:
    tape = decode_steps(3, "a b c")
    tape.markers["tid"] = tape.markers["pid"] = [None] * 3
    steps = find_steps(tape.trace())
    assert (steps.method, steps.frame["kernels"].to_list()) == ("annotations", [3, 3, 3])


def test_device_copies_of_annotations_on_several_streams_are_one_step() -> None:
    tape = Tape(device_ns=1 * MS)
    for start in (1 * MS, 2 * MS, 3 * MS):
        tape.run("a b c d", at=None).idle(0)
        tape.clock[(0, 7)] = start + 1 * MS
        tape.mark(DECODE, start, start + 40 * US, "gpu_annotation", tid=None, device=0)
        tape.mark(DECODE, start + 3 * US, start + 6 * US, "gpu_annotation", tid=None, device=0)
        tape.mark(DECODE, start + 20 * US, start + 39 * US, "gpu_annotation", tid=None, device=0)
        tape.mark(DECODE, start, start + 900 * US, "gpu_annotation", tid=None, device=1)
    steps = find_steps(tape.trace())
    assert (steps.method, steps.confidence) == ("gpu_annotations", "medium")
    assert steps.frame["kernels"].to_list() == [4, 4, 4]
    assert steps.frame["cpu_ns"].to_list() == [None] * 3


def test_device_copies_that_meet_at_an_edge_stay_two_steps() -> None:
    tape = Tape(device_ns=1 * MS).run("a b c d a b c d")
    tape.mark(DECODE, 1 * MS, 1 * MS + 42 * US, "gpu_annotation", tid=None, device=0)
    tape.mark(DECODE, 1 * MS + 40 * US, 1 * MS + 80 * US, "gpu_annotation", tid=None, device=0)
    assert find_steps(tape.trace()).frame["name"].to_list() == [DECODE, DECODE]


def test_nested_device_copies_are_one_step_as_on_the_host() -> None:
    tape = Tape(device_ns=1 * MS).run("a b c d")
    tape.mark("ProfilerStep#1", 1 * MS - 5, 1 * MS + 50 * US, "gpu_annotation", tid=None, device=0)
    tape.mark(DECODE, 1 * MS, 1 * MS + 41 * US, "gpu_annotation", tid=None, device=0)
    steps = find_steps(tape.trace())
    assert (steps.frame["name"].to_list(), steps.frame["kernels"].to_list()) == ([DECODE], [4])


def test_without_launches_an_op_belongs_to_the_range_opened_before_it() -> None:
    tape = Tape(device_ns=10 * MS)
    for start in (10 * MS, 11 * MS, 12 * MS):
        tape.clock[(0, 7)] = start + 200 * US
        tape.run("a b c")
        tape.mark("ProfilerStep#1", start, start + 1 * MS - 1)
        tape.mark(DECODE, start + 5 * US, start + 1 * MS - 5 * US)
    steps = find_steps(tape.trace())
    assert (steps.method, steps.confidence, steps.phase) == ("annotations by time", "low", "decode")
    assert steps.frame["kernels"].to_list() == [3, 3, 3]
    assert steps.frame["name"].to_list() == [DECODE] * 3


def test_the_users_pattern_goes_before_the_engines_annotations() -> None:
    tape = Tape()
    for _ in range(2):
        with tape.range("tick decode of 4"):
            for _ in range(2):
                with tape.range(DECODE):
                    tape.launch("a b c")
    trace = tape.trace()
    assert find_steps(trace).frame["kernels"].to_list() == [3] * 4
    mine = find_steps(trace, Scope(step_pattern=r"^tick (?P<phase>\w+) of (?P<batch>\d+)"))
    assert mine.frame["kernels"].to_list() == [6, 6]
    assert (mine.phase, mine.frame["batch_size"].to_list()) == ("decode", [4, 4])
    unused = find_steps(trace, Scope(step_pattern="^tock"))
    assert unused.frame["kernels"].to_list() == [3] * 4
    assert codes(unused)["step_pattern_unused"] == 1
