"""From what the user says of the new kernel to a saving for each call: every way to say it, with worked numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from trace_budget.errors import UsageError
from trace_budget.projection.claimed_saving import Saving, saving_of
from trace_budget.schema.options import Change

CALLS = np.array([20_000.0, 20_000.0, 22_000.0, 18_000.0])


def saving(floor_ns: int | None = None, effective: np.ndarray = CALLS, **change: Any) -> Saving:
    return saving_of(Change(**change), CALLS, effective, floor_ns)


def us(values: np.ndarray) -> list[float]:
    return [round(float(value) / 1000, 6) for value in values]


def codes(of: Saving) -> set[str]:
    return {caveat.code for caveat in of.caveats}


def test_a_stated_saving_is_the_same_for_every_call() -> None:
    got = saving(saving_us=3.228)
    assert us(got.low) == us(got.expected) == us(got.high) == [3.228] * 4
    assert (got.source, got.kappa, got.invalid, got.caveats) == ("user", None, "", ())


@pytest.mark.parametrize(("times", "slip"), [(19, False), (21, True)])
def test_times_twenty_times_too_large_are_taken_for_ns(times: int, slip: bool) -> None:
    # the kernel takes 20 us in the trace
    assert ("are its times in ns" in saving(saving_us=20 * times).invalid) is slip
    assert ("are its times in ns" in saving(saving_us=3, baseline_us=20 * times).invalid) is slip


def test_a_new_time_saves_the_rest_of_each_call() -> None:
    assert us(saving(new_us=17).expected) == [3, 3, 5, 1]


def test_a_ratio_scales_with_each_call_and_cannot_be_checked() -> None:
    got = saving(speedup=1.25)
    assert us(got.expected) == pytest.approx([4, 4, 4.4, 3.6])
    assert codes(got) == {"ratio_only"}


def test_free_takes_all_that_delays_others_and_is_a_bound_only() -> None:
    got = saving(free=True, effective=CALLS - 500)
    assert us(got.high) == us(got.expected) == [19.5, 19.5, 21.5, 17.5]
    assert (us(got.low), got.source, got.bound_only) == ([0] * 4, "trace", True)


def test_a_proxy_bounds_from_above_only() -> None:
    got = saving(proxy_us=18.24)
    assert (us(got.low), us(got.high)) == ([0] * 4, [1.76] * 4)
    assert got.bound_only
    assert us(saving(proxy_us=53.28, baseline_us=55.04, force=True).high) == [1.76] * 4
    assert us(saving(proxy_us=25).high) == [0] * 4


def test_the_old_kernel_in_the_benchmark_is_the_control() -> None:
    got = saving(saving_us=3, baseline_us=16)
    assert got.kappa == pytest.approx(1.25)
    assert (us(got.low), us(got.expected), us(got.high)) == ([3] * 4, [3] * 4, [3.75] * 4)
    assert codes(got) == {"baseline_differs"}
    smaller = saving(saving_us=3, baseline_us=25)
    assert (us(smaller.low)[0], us(smaller.high)[0]) == pytest.approx((2.4, 3))


def test_a_new_time_with_a_control_spans_both_readings() -> None:
    got = saving(new_us=14, baseline_us=16)
    # Scaled to the trace: 20 - 1.25 x 14 = 2.5; as measured: 16 - 14 = 2.
    assert (us(got.low)[0], us(got.expected)[0], us(got.high)[0]) == pytest.approx((2, 2.25, 2.5))


def test_a_ratio_with_a_control_spans_both_readings() -> None:
    got = saving(speedup=2, baseline_us=16)
    assert (us(got.low)[0], us(got.expected)[0], us(got.high)[0]) == pytest.approx((8, 10, 10))
    assert codes(got) == {"baseline_differs"}


@pytest.mark.parametrize(
    ("baseline", "caveat", "invalid"),
    [
        (20.0, False, False),
        (20 / 1.149, False, False),
        (20 / 0.851, False, False),
        (20 / 1.151, True, False),
        (20 / 0.849, True, False),
        (20 / 1.499, True, False),
        (20 / 0.501, True, False),
        (20 / 1.501, True, True),
        (20 / 0.499, True, True),
    ],
)
def test_how_far_the_control_may_be_off(baseline: float, caveat: bool, invalid: bool) -> None:
    got = saving(saving_us=3, baseline_us=baseline)
    assert ("baseline_differs" in codes(got)) == caveat
    assert got.invalid.startswith("baseline mismatch") == invalid
    assert saving(saving_us=3, baseline_us=baseline, force=True).invalid == ""


def test_a_saving_beyond_the_kernel_is_another_kernel() -> None:
    assert "exceeds the kernel's own 20.000 us" in saving(saving_us=20.5).invalid
    cut = saving(saving_us=20.5, clip=True)
    assert (cut.invalid, us(cut.expected), cut.clipped) == ("", [20, 20, 20.5, 18], 3)
    assert "saving_clipped" in codes(cut)


def test_calls_shorter_than_the_saving_give_what_they_have() -> None:
    got = saving(saving_us=19)
    assert (us(got.expected), got.clipped, got.invalid) == ([19, 19, 19, 18], 1, "")


def test_only_what_delays_others_can_be_saved() -> None:
    assert us(saving(saving_us=9, effective=np.full(4, 8_000.0)).expected) == [8] * 4


def test_costs_come_off_every_call() -> None:
    got = saving(saving_us=3.1084, overhead_us=2.5, extra_bytes=2 * 2**20, bandwidth_gbps=1_200)
    assert us(got.expected) == pytest.approx([-1.139227] * 4)
    assert us(saving(saving_us=3, overhead_us=0.5).high) == [2.5] * 4
    assert us(saving(saving_us=20.5, clip=True, overhead_us=0.5).high) == [19.5, 19.5, 20, 17.5]


def test_a_measured_interval_widens_the_saving() -> None:
    got = saving(saving_us=3, saving_ci_us=_range(2.9, 3.3))
    assert (us(got.low)[0], us(got.expected)[0], us(got.high)[0]) == pytest.approx((2.9, 3, 3.3))


def _range(low: float, high: float) -> Any:
    from trace_budget.schema.options import Range

    return Range(low, high)


def test_bytes_without_a_bandwidth_and_no_saving_at_all_are_refused() -> None:
    with pytest.raises(UsageError, match="bandwidth"):
        saving(saving_us=3, extra_bytes=100)
    with pytest.raises(UsageError, match="no saving given"):
        saving()


def test_below_the_dispatch_floor_only_a_removed_launch_saves() -> None:
    assert codes(saving(floor_ns=4_400, saving_us=16)) == {"below_dispatch_floor"}
    assert codes(saving(floor_ns=4_400, saving_us=15)) == set()
    assert codes(saving(floor_ns=4_400, free=True)) == set()


def test_what_calls_differ_by_is_no_doubt_about_the_new_kernel() -> None:
    durations = np.array([117_000.0, 139_000.0, 143_000.0])
    found = saving_of(Change(new_us=133.0, baseline_us=136.0), durations, durations, None)
    kappa = 139.0 / 136.0
    for values, expected in (
        (found.low, 3_000.0),
        (found.high, 3_000.0 * kappa),
        (found.expected, 1_500.0 * (1 + kappa)),
    ):
        assert values == pytest.approx([expected] * 3)


def test_a_new_time_that_gains_nothing_is_told() -> None:
    durations = np.full(4, 13_000.0)
    for new_us, baseline_us, told in ((13.0, None, True), (14.0, None, True), (12.9, None, False), (14.0, 15.0, False)):
        change = Change(new_us=new_us, baseline_us=baseline_us)
        codes = {caveat.code for caveat in saving_of(change, durations, durations, None).caveats}
        assert ("no_gain" in codes) == told


def test_no_gain_is_judged_by_what_the_calls_take_on_average() -> None:
    """As in real traces: four calls of 117 us and twenty of 140 take 136.2 on average, with a median of 140."""
    durations = np.array([117_000.0] * 4 + [140_000.0] * 20)
    told = [c.text for c in saving_of(Change(new_us=136.4), durations, durations, None).caveats if c.code == "no_gain"]
    assert len(told) == 1
    assert "136.167 us the old one takes here on average" in told[0]
    assert saving_of(Change(new_us=136.1), durations, durations, None).caveats == ()
