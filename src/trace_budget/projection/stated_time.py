"""The saving of each call, costs not yet off, from a stated time, saving or ratio and the call sites it can be of."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from trace_budget.errors import UsageError
from trace_budget.projection.sites import Sites
from trace_budget.schema.options import Change
from trace_budget.units import ns_from_us

KAPPA_FINE = 0.15
KAPPA_LIMIT = 0.5
FloatArray = npt.NDArray[np.float64]
Gross = tuple[FloatArray, FloatArray, FloatArray]


def gross_saving(change: Change, durations: FloatArray, effective: FloatArray, sites: Sites | None) -> Gross:
    """(low, expected, high) of each call in ns. UsageError when nothing was stated.

    Of unlike `sites`, low counts those that the stated time can be of, high scales the others by their ratio.
    """
    if change.free:
        return np.zeros_like(durations), effective, effective
    return _alike(change, durations) if sites is None else _by_site(change, durations, sites)


def fitting(change: Change, sites: Sites) -> list[int]:
    """The groups of sites that a stated time can be of: near the baseline, else those that gain by it; never none."""
    means = sites.means_ns
    if change.baseline_us is not None:
        off = np.abs(means / ns_from_us(change.baseline_us) - 1.0)
        near = np.flatnonzero(off <= KAPPA_FINE)
        return near.tolist() if near.size else [int(off.argmin())]
    stated = next(us for us in (change.saving_us, change.new_us, change.proxy_us) if us is not None)
    gaining = np.flatnonzero(means > ns_from_us(stated))
    return gaining.tolist() if gaining.size else list(range(means.size))


def _by_site(change: Change, durations: FloatArray, sites: Sites) -> Gross:
    meant = fitting(change, sites)
    ways = [meant] if change.baseline_us is not None else [[group] for group in meant]
    each = [_as_if_of(change, durations, sites.those(groups)) for groups in ways]
    low = min((way[0] for way in each), key=lambda values: float(values.sum()))
    if change.saving_us is not None:
        expected = np.full_like(durations, ns_from_us(change.saving_us))
    else:
        # The mildest change is the likeliest: kernels that gain a third are more frequent than threefold ones.
        expected = min((way[1] for way in each), key=lambda values: float(values.sum()))
    high = np.maximum.reduce([expected, *(way[2] for way in each)])
    return np.minimum(low, expected), expected, high


def _as_if_of(change: Change, durations: FloatArray, chosen: npt.NDArray[np.bool_]) -> Gross:
    """As if the stated time were of the chosen calls: the others gain nothing at worst, the same ratio at best."""
    own = _alike(change, durations[chosen])
    mean = float(durations[chosen].mean())
    low = np.zeros_like(durations)
    expected, high = (durations * (float(values.mean()) / mean) for values in own[1:])
    low[chosen], expected[chosen], high[chosen] = own
    return low, expected, high


def _alike(change: Change, durations: FloatArray) -> Gross:
    """The same for calls of which one time can be true."""
    ones = np.ones_like(durations)
    median = float(np.median(durations))
    baseline = ns_from_us(change.baseline_us) if change.baseline_us is not None else None
    kappa = median / baseline if baseline else None
    if change.saving_us is not None:
        stated, measured = ns_from_us(change.saving_us), change.saving_ci_us
        ends = [stated, stated * kappa if kappa else stated]
        ends += [ns_from_us(measured.low), ns_from_us(measured.high)] if measured else []
        return min(ends) * ones, stated * ones, max(ends) * ones
    if change.speedup is not None:
        here = durations * (1.0 - 1.0 / change.speedup)
        there = here / kappa if kappa else here
        return np.minimum(here, there), here, np.maximum(here, there)
    if change.new_us is not None:
        new = ns_from_us(change.new_us)
        if kappa is None or baseline is None:
            return durations - new, durations - new, durations - new
        # The same for every call: what calls differ by from each other is no doubt about the new kernel.
        lowest, highest = sorted((kappa * (baseline - new), baseline - new))
        return lowest * ones, (lowest + highest) / 2 * ones, highest * ones
    if change.proxy_us is not None:
        bound = max((baseline or median) - ns_from_us(change.proxy_us), 0.0)
        return np.zeros_like(durations), bound * ones, bound * ones
    raise UsageError(
        "no saving given", where="project", expected="one of --saving-us, --new-us, --speedup, --free, --proxy-us"
    )
