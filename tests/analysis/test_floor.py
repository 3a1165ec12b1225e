"""The dispatch floor: shortest kernels, usual gaps, kernels that touch."""

import pytest

from builders import US, Tape
from trace_budget.analysis.floor import Floor, dispatch_floor


def spaced(gaps_us: list[float], durations_us: list[float] | None = None) -> Floor:
    tape = Tape()
    for number, gap in enumerate(gaps_us):
        dur = (durations_us or [10.0] * len(gaps_us))[number]
        tape.run("k", dur=round(dur * US))
        tape.clock[(0, 7)] += round(gap * US)
    return dispatch_floor(tape.trace())


def test_the_usual_gap_between_neighbours() -> None:
    floor = spaced([1.5] * 20 + [40_000.0] + [1.5] * 20)
    assert (floor.gap_ns, floor.gap_max_ns, floor.abutting_share) == (1_500, 4_500, 0.0)
    assert floor.floor_ns == 10_000


@pytest.mark.parametrize(("gap_us", "most_ns"), [(0.0, 2_000), (0.5, 2_000), (1.0, 3_000), (2.0, 5_000), (30.0, 5_000)])
def test_the_largest_gap_that_means_back_to_back(gap_us: float, most_ns: int) -> None:
    assert spaced([gap_us] * 10).gap_max_ns == most_ns


def test_kernels_that_touch_tell_that_gaps_are_in_durations() -> None:
    assert spaced([0.0, 0.0, 0.002, 3.0, 0.0]).abutting_share == 0.75


def test_the_floor_is_the_first_percentile() -> None:
    assert spaced([0.0] * 101, [float(n) for n in range(1, 102)]).floor_ns == 2_000
    assert spaced([0.0] * 5).floor_ns is None


def test_gaps_are_those_of_one_stream_of_one_device() -> None:
    tape = Tape()
    for number in range(6):
        tape.run("k", stream=number % 2, device=0, at=(100 + 20 * number) * US)
        tape.run("k", stream=None, device=None, at=(103 + 20 * number) * US)
    floor = dispatch_floor(tape.trace())
    # Every 40 us on streams 0 and 1 (gaps of 30), every 20 us on the unknown one (gaps of 10): the usual gap is the
    # host's idle time, and dispatch takes no more of it than the longest gap that is still back to back.
    assert (floor.gap_ns, floor.gap_max_ns) == (5_000, 5_000)


def test_branches_on_one_recorded_stream_follow_what_ended_last() -> None:
    tape = Tape().run("long", at=100 * US, dur=50 * US).run("short", at=110 * US, dur=5 * US)
    tape.run("next", at=151 * US)
    floor = dispatch_floor(tape.trace())
    assert floor.gap_ns == 1_000


def test_too_few_kernels() -> None:
    assert dispatch_floor(Tape().run("k").trace()) == Floor(None, 0, 2_000, 0.0)
    assert dispatch_floor(Tape().run("c c c", kind="memcpy").trace()) == Floor(None, 0, 2_000, 0.0)
