"""From what the user knows about the new kernel to a saving for each matched call, as a range."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from trace_budget.errors import UsageError
from trace_budget.schema.band import Band, in_order
from trace_budget.schema.options import Change
from trace_budget.schema.trace import Caveat
from trace_budget.units import ns_from_us, us_of_bytes

KAPPA_FINE = 0.15
KAPPA_LIMIT = 0.5
OVERRIDE = "; --force overrides"  # where a saving is projected, not where it is set beside what came of it
FEW_UNLIKE = 0.1  # of the calls: so many may have waited
UNIT_SLIP = 20.0  # times apart: no load, cache or profiler does that, another unit does
FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Saving:
    """Saving of each matched call in ns, costs taken off, and what was known about it.

    `low`, `expected`, `high`: one value per call. `kappa`: in-trace median / standalone time of the old kernel.
    `invalid`: why this candidate must not be projected; empty when it may. `bound_only`: an upper bound, no estimate.
    """

    low: FloatArray
    expected: FloatArray
    high: FloatArray
    source: str
    kappa: float | None
    invalid: str
    caveats: tuple[Caveat, ...]
    bound_only: bool = False
    clipped: int = 0

    @property
    def mean_ns(self) -> Band:
        """Saving per call, mean over the calls."""
        return in_order(float(self.low.mean()), float(self.expected.mean()), float(self.high.mean()))


def saving_of(change: Change, durations_ns: FloatArray, effective_ns: FloatArray, floor_ns: int | None) -> Saving:
    """The saving of each call, given its duration and the part of it that delays what follows (effective).

    UsageError unless exactly one way to state the saving is given.
    """
    median = float(np.median(durations_ns))
    kappa = median / ns_from_us(change.baseline_us) if change.baseline_us else None
    low, expected, high = _gross(change, durations_ns, effective_ns, median, kappa)
    gross = np.median(high)
    caveats = [
        *_kappa_caveats(kappa, change),
        *_unlike_caveats(durations_ns, median, change),
        *_no_gain_caveats(float(durations_ns.mean()), change),
        *_floor_caveats(median, float(np.median(expected)), floor_ns, change),
    ]
    invalid = _invalid(change, median, float(gross), kappa)
    cost = _cost_ns(change)
    clipped = int(np.count_nonzero(high > effective_ns))
    if clipped and not change.free:
        caveats.append(
            Caveat(
                "saving_clipped",
                f"{clipped} matched calls are shorter than the saving; theirs is cut to their own time",
                clipped,
                "note",
            )
        )
    return Saving(
        np.minimum(low, effective_ns) - cost,
        np.minimum(expected, effective_ns) - cost,
        np.minimum(high, effective_ns) - cost,
        "trace" if change.free else "user",
        kappa,
        invalid,
        tuple(caveats),
        change.proxy_us is not None or change.free,
        clipped,
    )


def _gross(
    change: Change, durations: FloatArray, effective: FloatArray, median: float, kappa: float | None
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Saving per call before costs: (low, expected, high)."""
    ones = np.ones_like(durations)
    if change.free:
        return np.zeros_like(durations), effective, effective
    if change.saving_us is not None:
        stated = ns_from_us(change.saving_us)
        scaled = stated * kappa if kappa else stated
        measured = change.saving_ci_us
        lowest = min(stated, scaled, ns_from_us(measured.low) if measured else stated)
        highest = max(stated, scaled, ns_from_us(measured.high) if measured else stated)
        return lowest * ones, stated * ones, highest * ones
    if change.speedup is not None:
        gain = 1.0 - 1.0 / change.speedup
        here = durations * gain
        there = ns_from_us(change.baseline_us) * gain * ones if change.baseline_us else here
        return np.minimum(here, there), here, np.maximum(here, there)
    if change.new_us is not None:
        new = ns_from_us(change.new_us)
        plain = durations - new
        if kappa is None or change.baseline_us is None:
            return plain, plain, plain
        # The same for every call: what calls differ by from each other is no doubt about the new kernel.
        stated_gain = ns_from_us(change.baseline_us) - new
        lowest, highest = sorted((kappa * stated_gain, stated_gain))
        return lowest * ones, (lowest + highest) / 2 * ones, highest * ones
    if change.proxy_us is not None:
        old = ns_from_us(change.baseline_us) if change.baseline_us else median
        bound = max(old - ns_from_us(change.proxy_us), 0.0)
        return np.zeros_like(durations), bound * ones, bound * ones
    raise UsageError(
        "no saving given", where="project", expected="one of --saving-us, --new-us, --speedup, --free, --proxy-us"
    )


def _cost_ns(change: Change) -> float:
    """What integration adds to every call: launch or conversion overhead, and extra memory traffic."""
    cost = ns_from_us(change.overhead_us or 0.0)
    if change.extra_bytes:
        if not change.bandwidth_gbps:
            raise UsageError(
                "extra bytes need a bandwidth",
                where="--extra-bytes",
                expected="--bandwidth-gbps with an achieved figure",
            )
        cost += ns_from_us(us_of_bytes(change.extra_bytes, change.bandwidth_gbps))
    return cost


def _invalid(change: Change, median: float, gross: float, kappa: float | None) -> str:
    if kappa is not None and abs(kappa - 1.0) > KAPPA_LIMIT and not change.force:
        return (
            f"baseline mismatch: the kernel takes {median / 1000:.3f} us in the trace, the baseline"
            f" {change.baseline_us:.3f} us (ratio {kappa:.3f}, allowed 0.5 to 1.5): {_slip(1 / kappa, 1)}"
            f"{OVERRIDE}"
        )
    if change.saving_us is not None and gross > median and not change.clip:
        return (
            f"the saving of {gross / 1000:.3f} us exceeds the kernel's own {median / 1000:.3f} us (median in the"
            f" trace): {_slip(gross, median)}; --clip cuts it to the kernel"
        )
    return ""


def _slip(given: float, measured: float) -> str:
    """What most likely makes a time so much larger than it is in the trace."""
    if given > UNIT_SLIP * measured:
        return "are its times in ns? They are given in us"
    return "another shape, layout or kernel was benchmarked"


def _kappa_caveats(kappa: float | None, change: Change) -> list[Caveat]:
    if kappa is None:
        text = "a ratio without the old kernel's standalone time cannot be checked against the trace (--baseline-us)"
        return [Caveat("ratio_only", text, 1, "warning")] if change.speedup is not None else []
    if abs(kappa - 1.0) <= KAPPA_FINE:
        return []
    text = (
        f"in the trace the kernel takes {kappa:.2f} times its standalone baseline: warm against cold caches, another"
        " shape, clocks or profiler; the saving is a range"
    )
    return [Caveat("baseline_differs", text, 1, "warning")]


def _unlike_caveats(durations: FloatArray, median: float, change: Change) -> list[Caveat]:
    """Calls so far from the median that a baseline which fits it would be refused for them, unless they are few."""
    apart = np.abs(durations - median)
    unlike = int(np.count_nonzero((apart > 0) & (apart >= KAPPA_LIMIT * median)))
    if change.free or unlike <= max(1.0, FEW_UNLIKE * durations.size):
        return []
    text = (
        f"{unlike} of {durations.size} matched calls take no more than half or no less than 1.5 times the median of "
        f"{median / 1000:.3f} us: other shapes, or waits; what was measured for one does not speak for all "
        "(--grid, --position, --phase pick calls that are alike)"
    )
    return [Caveat("unlike_calls", text, unlike, "warning")]


def _no_gain_caveats(mean: float, change: Change) -> list[Caveat]:
    """A time measured elsewhere, without the old kernel's beside it, may say that nothing is gained at all."""
    if change.new_us is None or change.baseline_us is not None or change.new_us * 1000 < mean:
        return []
    text = (
        f"the new kernel's {change.new_us:g} us are no less than the {mean / 1000:.6g} us the old one takes here on "
        "average: if it was faster in your benchmark, give the old one's time there too (--baseline-us)"
    )
    return [Caveat("no_gain", text, 1, "warning")]


def _floor_caveats(median: float, saving: float, floor_ns: int | None, change: Change) -> list[Caveat]:
    if floor_ns is None or change.free or median - saving >= floor_ns:
        return []
    text = (
        f"the new kernel would take {max(median - saving, 0) / 1000:.2f} us, below the shortest kernels of this trace "
        f"({floor_ns / 1000:.2f} us, the dispatch floor): only removing the launch can save that"
    )
    return [Caveat("below_dispatch_floor", text, 1, "warning")]
