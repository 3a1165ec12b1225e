"""From what the user knows about the new kernel to a saving for each matched call, as a range."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from trace_budget.errors import UsageError
from trace_budget.projection.sites import Sites
from trace_budget.projection.stated_time import KAPPA_FINE, KAPPA_LIMIT, fitting, gross_saving
from trace_budget.schema.band import Band, in_order
from trace_budget.schema.options import Change
from trace_budget.schema.trace import Caveat
from trace_budget.units import ns_from_us, us_from_ns, us_of_bytes

OVERRIDE = "; --force overrides"  # where a saving is projected, not where it is set beside what came of it
FEW_UNLIKE = 0.1  # of the calls: so many may have waited
MOST_OF_IT = 0.5  # of the saving
DISPATCH_NS = (
    5_000  # no device needs longer to dispatch a kernel: where all kernels of a trace are long, shorter ones may be
)
ROUNDING_NS = 1e-6
FloatArray = npt.NDArray[np.float64]
UNIT_SLIP = 20.0  # times apart: no load, cache or profiler does that, another unit does


@dataclass(frozen=True, slots=True)
class Saving:
    """Saving of each matched call in ns, costs taken off, and what was known about it.

    `low`, `expected`, `high`: one value per call. `kappa`: in-trace median / standalone time of the old kernel, of the
    calls that fit it. `invalid`: why this candidate must not be projected; empty when it may. `bound_only`: an upper
    bound, no estimate. `clipped`: calls shorter than the saving. `sites`: unlike call sites that one stated time cannot
    fit. `impossible`: why no kernel of this trace can be so short; empty where one can.
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
    sites: Sites | None = None
    impossible: str = ""

    @property
    def mean_ns(self) -> Band:
        """Saving per call, mean over the calls."""
        return in_order(float(self.low.mean()), float(self.expected.mean()), float(self.high.mean()))


def saving_of(
    change: Change,
    durations_ns: FloatArray,
    effective_ns: FloatArray,
    floor_ns: int | None,
    sites: Sites | None = None,
) -> Saving:
    """The saving of each call, given its duration and the part of it that delays what follows (effective).

    `sites`: unlike call sites, if there are any. UsageError unless exactly one way to state the saving is given.
    """
    sites = sites if _is_absolute(change) else None
    meant = fitting(change, sites) if sites else []
    measured = durations_ns[sites.those(meant)] if sites else durations_ns
    median = float(np.median(measured))
    kappa = median / ns_from_us(change.baseline_us) if change.baseline_us else None
    low, expected, high = gross_saving(change, durations_ns, effective_ns, sites)
    # Of a kernel shorter than all others nothing says how short it can be; halving is taken for possible.
    shortest = min(floor_ns or 0, DISPATCH_NS, float(durations_ns.min()) / 2)
    too_short = expected > durations_ns - shortest + ROUNDING_NS
    impossible = _impossible(change, durations_ns, expected, too_short, shortest)
    caveats = [
        *_kappa_caveats(kappa, change),
        *(_site_caveats(sites) if sites else _unlike_caveats(durations_ns, median, change)),
        *_no_gain_caveats(float(durations_ns.mean()), change),
        *([Caveat("below_dispatch_floor", impossible, 1, "warning")] if impossible else []),
    ]
    most = float(sites.means_ns[meant].max()) if sites else median
    invalid = _invalid(change, median, most, float(np.median(expected if sites else high)), kappa)
    clipped = int(np.count_nonzero(high > effective_ns))
    if clipped and not change.free:
        text = f"{clipped} matched calls are shorter than the saving; theirs is cut to their own time"
        caveats.append(Caveat("saving_clipped", text, clipped, "note"))
    ceiling_only = change.proxy_us is not None or change.free
    # No kernel is shorter than the shortest of the trace, so nothing beyond that is proven.
    proven = low if ceiling_only else np.minimum(low, np.maximum(durations_ns - shortest, 0.0))
    cost = _cost_ns(change)
    return Saving(
        np.minimum(proven, effective_ns) - cost,
        np.minimum(expected, effective_ns) - cost,
        np.minimum(high, effective_ns) - cost,
        "trace" if change.free else "user",
        kappa,
        invalid,
        tuple(caveats),
        ceiling_only or _cut_to_nothing(expected, durations_ns),
        clipped,
        sites,
        impossible,
    )


def _is_absolute(change: Change) -> bool:
    """Whether a time was stated, which belongs to the calls it was measured for; a ratio is for all of them."""
    return any(value is not None for value in (change.saving_us, change.new_us, change.proxy_us))


def _cut_to_nothing(expected: FloatArray, durations: FloatArray) -> bool:
    """Whether most of what is saved is calls taken away whole: then it is `free` in other words."""
    whole = expected >= durations
    return bool(expected[whole].sum() > MOST_OF_IT * max(float(expected.sum()), 1.0))


def _impossible(
    change: Change, durations: FloatArray, expected: FloatArray, too_short: npt.NDArray[np.bool_], floor: float
) -> str:
    """Why the new kernel cannot be as short as stated, where that is of weight; else ''."""
    saved = float(expected.clip(0).sum())
    ceiling_only = change.free or change.proxy_us is not None
    if ceiling_only or saved <= 0 or float(expected[too_short].sum()) <= MOST_OF_IT * saved:
        return ""
    left = us_from_ns(float(np.median(np.maximum(durations - expected, 0.0)[too_short])))
    if left == 0:
        return f"the new kernel would take {left:.2f} us: no kernel takes no time; that is what --free asks"
    return (
        f"the new kernel would take {left:.2f} us, below the shortest kernels of this trace "
        f"({us_from_ns(floor):.2f} us, the dispatch floor): only removing the launch can save that"
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


def _invalid(change: Change, median: float, most: float, gross_ns: float, kappa: float | None) -> str:
    if kappa is not None and abs(kappa - 1.0) > KAPPA_LIMIT and not change.force:
        return (
            f"baseline mismatch: the kernel takes {us_from_ns(median):.3f} us in the trace, the baseline"
            f" {change.baseline_us:.3f} us (ratio {kappa:.3f}, allowed 0.5 to 1.5): {_slip(1 / kappa, 1)}"
            f"{OVERRIDE}"
        )
    if change.saving_us is not None and gross_ns > most and not change.clip:
        return (
            f"the saving of {us_from_ns(gross_ns):.3f} us exceeds the kernel's own {us_from_ns(most):.3f} us (median in"
            f" the trace): {_slip(gross_ns, most)}; --clip cuts it to the kernel"
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
        f"{us_from_ns(median):.3f} us: other shapes, or waits; what was measured for one does not speak for all "
        "(--grid, --position, --phase pick calls that are alike)"
    )
    return [Caveat("unlike_calls", text, unlike, "warning")]


def _no_gain_caveats(mean: float, change: Change) -> list[Caveat]:
    """A time measured elsewhere, without the old kernel's beside it, may say that nothing is gained at all."""
    if change.new_us is None or change.baseline_us is not None or change.new_us * 1000 < mean:
        return []
    text = (
        f"the new kernel's {change.new_us:g} us are no less than the {us_from_ns(mean):.6g} us the old one takes here"
        " on average: if it was faster in your benchmark, give the old one's time there too (--baseline-us)"
    )
    return [Caveat("no_gain", text, 1, "warning")]


def _site_caveats(sites: Sites) -> list[Caveat]:
    text = (
        f"the calls are of several kinds ({sites.listed}) and one stated time is of one of them: low counts only those "
        "it can be of, high scales the others alike; name the one that was measured"
    )
    return [Caveat("unlike_sites", text, len(sites.calls), "warning")]
