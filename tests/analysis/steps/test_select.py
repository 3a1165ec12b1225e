"""Which steps count: phases, partial steps, outliers, unlike classes, slices of steps."""

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import DECODE, US, Tape, decode_steps
from trace_budget.analysis.steps import find_steps
from trace_budget.analysis.steps.select import step_slice
from trace_budget.errors import NotInTraceError, UsageError
from trace_budget.schema.findings import Steps
from trace_budget.schema.options import Scope

PREFILL, MIXED = "execute_context_1(512)_generation_0(0)", "execute_context_1(512)_generation_8(8)"
KERNELS = "a b c d e f g h i j "


def run(*steps: tuple[str, str, int], **facts: object) -> Tape:
    """Steps as (annotation, kernels, us per kernel)."""
    tape = Tape()
    for name, kernels, dur in steps:
        with tape.range(name):
            tape.graph(kernels, dur=dur * US)
        tape.idle(10 * US)
    return tape


def why(steps: Steps) -> list[str]:
    return steps.frame["why_out"].to_list()


def codes(steps: Steps) -> dict[str, str]:
    return {caveat.code: caveat.severity for caveat in steps.caveats}


def test_decode_steps_count_where_there_are_any() -> None:
    tape = run(*[(PREFILL, KERNELS * 9, 90)] * 2, (MIXED, KERNELS, 50), *[(DECODE, KERNELS, 10)] * 3)
    steps = find_steps(tape.trace())
    assert steps.phase == "decode"
    # sequences get tokens in mixed steps, too: the mean of all comes first, decode steps alone are another reading
    assert why(steps) == [""] * 6
    alone = steps.others[0]
    assert alone.settle == "--phase decode"
    assert why(alone) == ["other phase"] * 3 + [""] * 3
    assert alone.used.tolist() == [3, 4, 5]


def test_without_decode_the_phase_of_most_device_time_counts() -> None:
    steps = find_steps(run((MIXED, KERNELS, 10), (MIXED, KERNELS, 10), (PREFILL, KERNELS, 30)).trace())
    assert (steps.phase, why(steps)) == ("prefill", ["other phase", "other phase", ""])


@pytest.mark.parametrize(("phase", "used"), [("prefill", [0]), ("mixed", [1]), ("decode", [2, 3])])
def test_a_phase_can_be_asked_for(phase: str, used: list[int]) -> None:
    trace = run((PREFILL, KERNELS, 10), (MIXED, KERNELS, 10), (DECODE, KERNELS, 10), (DECODE, KERNELS, 10)).trace()
    assert find_steps(trace, Scope(phase=phase)).used.tolist() == used


def test_a_phase_that_is_absent_or_no_phase() -> None:
    trace = run((DECODE, KERNELS, 10)).trace()
    with pytest.raises(NotInTraceError, match=r"no step left.*of phase verify.*1 steps, phases decode"):
        find_steps(trace, Scope(phase="verify"))
    with pytest.raises(UsageError, match="no such phase"):
        find_steps(trace, Scope(phase="warm"))


def test_first_and_last_steps_that_lack_kernels_are_partial() -> None:
    tape = run((DECODE, "h i j", 10), *[(DECODE, KERNELS, 10)] * 3, (DECODE, "a b c d e f", 10))
    steps = find_steps(tape.trace())
    assert why(steps) == ["partial", "", "", "", "partial"]
    assert steps.frame["complete"].to_list() == [False, True, True, True, False]
    assert codes(steps) == {"partial_steps": "note"}


def test_a_step_inside_that_lacks_kernels_is_unlike_not_partial() -> None:
    steps = find_steps(run((DECODE, KERNELS, 10), (DECODE, "a b c", 10), *[(DECODE, KERNELS, 10)] * 2).trace())
    assert why(steps) == ["", "other kernels", "", ""]


def test_the_last_step_of_a_cut_file_is_partial() -> None:
    steps = find_steps(decode_steps(3, KERNELS).trace(complete=False))
    assert why(steps) == ["", "", "partial"]


def test_a_trace_of_partial_steps_only_is_refused() -> None:
    with pytest.raises(NotInTraceError, match=r"no whole step.*1 partial.*Record a few more steps"):
        find_steps(decode_steps(1, KERNELS).trace(complete=False))


def test_warm_up_and_stalls_are_outliers() -> None:
    tape = run((DECODE, KERNELS, 14), *[(DECODE, KERNELS, 10)] * 3, (DECODE, KERNELS, 30), *[(DECODE, KERNELS, 10)] * 3)
    steps = find_steps(tape.trace())
    assert why(steps) == ["outlier", "", "", "", "outlier", "", "", ""]
    assert steps.step_ns == 110 * US
    assert codes(steps) == {"outlier_steps": "note"}


def test_a_pause_of_the_host_after_a_step_makes_it_an_outlier() -> None:
    tape = Tape()
    for number in range(6):
        with tape.range(DECODE):
            tape.graph(KERNELS)
        tape.idle((5000 if number == 2 else 10) * US)
    assert why(find_steps(tape.trace())) == ["", "", "outlier", "", "", ""]


def test_three_steps_tell_no_outlier_and_five_percent_are_none() -> None:
    assert why(find_steps(run((DECODE, KERNELS, 99), *[(DECODE, KERNELS, 10)] * 2).trace())) == ["", "", ""]
    tape = Tape()
    for number in range(6):
        with tape.range(DECODE):
            tape.graph(KERNELS, dur=10_000 + (400 if number == 0 else 0))
    assert why(find_steps(tape.trace())) == [""] * 6


def test_unlike_steps_of_one_phase_that_come_again_all_count() -> None:
    eager = "p q r s t u v w x y z "
    order = (0, 0, 1, 0, 1, 1)
    trace = run(*[(DECODE, (KERNELS, eager * 2)[one], 10) for one in order]).trace()
    steps = find_steps(trace)
    assert why(steps) == [""] * 6
    assert codes(steps) == {"kernels_per_step_vary": "warning"}
    picked = find_steps(trace, Scope(steps=":"))
    assert why(picked) == [""] * 6


def test_unlike_steps_of_one_phase_in_strict_turns_are_parts_of_one() -> None:
    sampler = "p q r s t u v w x y z "
    steps = find_steps(run(*[(DECODE, KERNELS, 10), (DECODE, sampler * 2, 10)] * 3).trace())
    assert steps.frame["kernels"].to_list() == [len(KERNELS.split()) + 22] * 3


def test_nearly_alike_steps_count_together_and_it_is_said() -> None:
    steps = find_steps(run(*[(DECODE, KERNELS * 2, 10), (DECODE, KERNELS * 2 + "k", 10)] * 3).trace())
    assert why(steps) == [""] * 6
    assert codes(steps) == {"kernels_per_step_vary": "note"}


def test_several_batch_sizes_are_told() -> None:
    names = [f"execute_context_0(0)_generation_{n}({n})" for n in (8, 8, 7, 5)]
    steps = find_steps(run(*[(name, KERNELS, 10) for name in names]).trace())
    batches = next(c for c in steps.caveats if c.code == "several_batch_sizes")
    assert (batches.count, batches.severity) == (3, "warning")
    assert "5 to 8" in batches.text


def test_one_step_is_told() -> None:
    steps = find_steps(run((DECODE, KERNELS, 10)).trace())
    assert codes(steps) == {"single_step": "warning"}
    assert steps.step_ns == 100 * US


@pytest.mark.parametrize(
    ("text", "used"),
    [
        ("2:", [2, 3, 4]), (":2", [0, 1]), ("1:3", [1, 2]), ("3", [3]), ("-1", [4]), ("-2:", [3, 4]), (":-3", [0, 1]),
        (":", [0, 1, 2, 3, 4]), ("3:99", [3, 4]), (" 1 : 2 ", [1]), ("", [0, 1, 2, 3, 4]),
    ],
)  # fmt: skip
def test_slices_of_steps(text: str, used: list[int]) -> None:
    steps = find_steps(decode_steps(5, KERNELS).trace(), Scope(steps=text))
    assert steps.used.tolist() == used


def test_steps_the_user_picks_are_kept_though_they_are_outliers() -> None:
    trace = run((DECODE, KERNELS, 30), *[(DECODE, KERNELS, 10)] * 5).trace()
    assert find_steps(trace).used.tolist() == [1, 2, 3, 4, 5]
    assert find_steps(trace, Scope(steps="0:4")).used.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("text", ["7", "-9", "5:", "3:2", "99999999999999999999"])
def test_a_slice_that_holds_no_step(text: str) -> None:
    with pytest.raises(NotInTraceError, match="no step left to count"):
        find_steps(decode_steps(5, KERNELS).trace(), Scope(steps=text))


@pytest.mark.parametrize("text", ["a", "1:2:3", "1-3", "1:b", "1.5", "::", "9" * 5000])
def test_a_slice_that_is_none(text: str) -> None:
    with pytest.raises(UsageError, match="not a step range"):
        find_steps(decode_steps(5, KERNELS).trace(), Scope(steps=text))


@given(st.integers(-8, 8), st.integers(-8, 8), st.integers(0, 6))
def test_slices_are_those_of_python(start: int, stop: int, count: int) -> None:
    indexes = list(range(count))
    assert list(step_slice(f"{start}:{stop}", count)) == indexes[start:stop]
    assert list(step_slice(f"{start}", count)) == ([indexes[start]] if -count <= start < count else [])


def test_intervals_go_to_the_next_step_of_any_phase() -> None:
    frame = find_steps(run((DECODE, KERNELS, 10), (PREFILL, KERNELS, 90), (DECODE, KERNELS, 10)).trace()).frame
    assert frame["interval_ns"].to_list() == [110 * US, 910 * US, None]


def test_steps_of_unknown_time_count_but_have_none() -> None:
    trace = decode_steps(5, KERNELS).trace()
    nothing = pl.lit(None, dtype=pl.Int64)
    ops = trace.gpu_ops.with_columns(nothing.alias("start_ns"), nothing.alias("end_ns"))
    steps = find_steps(type(trace)(trace.path, trace.format, ops, trace.calls, trace.markers))
    assert steps.used.tolist() == [0, 1, 2, 3, 4]
    assert steps.frame["kernels"].to_list() == [10] * 5
    for column in ("start_ns", "end_ns", "window_ns", "busy_ns", "interval_ns"):
        assert steps.frame[column].null_count() == 5
    assert steps.step_ns != steps.step_ns


def outliers(windows_us: list[int]) -> list[int]:
    """The steps of these lengths that are left out."""
    steps = find_steps(run(*[(DECODE, KERNELS, us // 10) for us in windows_us]).trace())
    assert set(why(steps)) <= {"", "outlier"}
    return [index for index, reason in enumerate(why(steps)) if reason]


SPREAD = [1_900, 2_000, 2_100]  # us: half of what follows lies 100 us from the median, 148 us are a sigma


@pytest.mark.parametrize(("long_us", "left_out"), [(2_700, []), (2_780, [4])])
def test_five_sigmas_make_an_outlier(long_us: int, left_out: list[int]) -> None:
    # 5 x 1.4826 x 100 us are 741: a step of 2,700 us is within, one of 2,780 is not
    assert outliers([*SPREAD, 2_000, long_us, *SPREAD * 4, 1_900, 2_100]) == left_out


@pytest.mark.parametrize(
    ("steps", "long", "gone"), [(8, 2, True), (8, 3, False), (40, 3, True), (40, 4, True), (40, 5, False)]
)
def test_a_tenth_of_the_steps_or_two_of_few_are_outliers_more_are_not(steps: int, long: int, gone: bool) -> None:
    # far apart, so that no pause and no neighbour makes more of them
    at = [1 + 2 * n for n in range(long)]
    windows = [3_000 if index in at else 1_000 for index in range(steps)]
    assert outliers(windows) == (at if gone else [])


@pytest.mark.parametrize(("us", "kept"), [(19, True), (21, False)])
def test_variants_of_a_step_last_at_most_twice_as_long(us: int, kept: bool) -> None:
    # two of each, of the same kernels in other numbers, under a mark that names no phase; most time is in the short one
    variant = KERNELS + "a " * 5
    tape = run(*[("ProfilerStep#1", KERNELS, 15)] * 6, *[("ProfilerStep#1", variant, us)] * 2)
    steps = find_steps(tape.trace())
    assert steps.frame["class_index"].n_unique() == 2
    assert why(steps) == [""] * 6 + ["" if kept else "other kernels"] * 2
