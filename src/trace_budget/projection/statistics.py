"""How noisy the step time is, and how small an effect an A/B test of so many runs can see."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

ALPHA = 0.05
POWER = 0.80
RESAMPLES = 2000
_MOST_PICKED = 1 << 22  # values held at once, whatever the number of steps
MOST_RUNS = 100_000
SIGMA_PER_MAD = 1.4826
FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Spread:
    """Median of the step times with its spread; `ci95` is None for fewer than three steps."""

    median: float
    mad: float
    n: int
    n_eff: float
    ci95: tuple[float, float] | None


def spread(values: FloatArray) -> Spread:
    """Median, MAD and a moving-block bootstrap interval of the median (blocks follow the autocorrelation)."""
    median = float(np.median(values))
    mad = float(np.median(np.abs(values - median)))
    phi = _lag_one(values)
    n_eff = values.size * (1 - phi) / (1 + phi)
    return Spread(median, mad, int(values.size), float(n_eff), _bootstrap(values, phi) if values.size >= 3 else None)


def _lag_one(values: FloatArray) -> float:
    """Lag-one autocorrelation, kept in 0 … 0.95."""
    centred = values - values.mean()
    power = float(centred @ centred)
    if values.size < 4 or power == 0:
        return 0.0
    return float(np.clip(centred[1:] @ centred[:-1] / power, 0.0, 0.95))


def _bootstrap(values: FloatArray, phi: float) -> tuple[float, float]:
    """95 % interval of the median by resampling blocks; seeded, so the same trace gives the same interval."""
    block = min(max(1, math.ceil(2 * (1 + phi) / (1 - phi) / 2)), values.size)
    count = math.ceil(values.size / block)
    random = np.random.default_rng(0)
    at_once = max(1, _MOST_PICKED // (count * block))
    medians: list[FloatArray] = []
    for done in range(0, RESAMPLES, at_once):
        rows = min(at_once, RESAMPLES - done)
        starts = random.integers(0, values.size - block + 1, size=(rows, count))
        picked = values[(starts[:, :, None] + np.arange(block)).reshape(rows, -1)[:, : values.size]]
        medians.append(np.median(picked, axis=1, overwrite_input=True))
    low, high = np.quantile(np.concatenate(medians), [0.025, 0.975])
    return float(low), float(high)


def minimum_detectable_pct(noise_pct: float, runs: int) -> float:
    """The smallest effect in % that an A/B of `runs` runs an arm sees (two-sided 5 %, power 80 %, noise sd per run)."""
    return noise_pct * _detectable_sigmas(runs)


def runs_needed(effect_pct: float, noise_pct: float) -> int | None:
    """Runs per arm of an unpaired A/B that sees an effect of this size; None when no effect is left to see."""
    if not _visible(effect_pct, noise_pct):
        return None
    start = _normal_runs(2 * (noise_pct / effect_pct) ** 2)
    if start is None:
        return None
    while minimum_detectable_pct(noise_pct, start) > effect_pct:
        start += 1
    return start


def pairs_needed(effect_pct: float, noise_pct: float, correlation: float = 0.8) -> int | None:
    """Interleaved A/B pairs that see the effect when the arms of a pair share part of the noise."""
    if not _visible(effect_pct, noise_pct):
        return None
    sd = noise_pct * math.sqrt(2 * (1 - correlation))
    pairs = _normal_runs((sd / effect_pct) ** 2)
    while pairs is not None and _power(effect_pct / sd * math.sqrt(pairs), pairs - 1) < POWER:
        pairs += 1
    return pairs


def _visible(effect_pct: float, noise_pct: float) -> bool:
    """Whether an effect is so large that some number of runs could show it; the quotient of others may overflow."""
    return effect_pct > 0 and effect_pct * MOST_RUNS > noise_pct


def _normal_runs(variance_ratio: float) -> int | None:
    """Where the search for a sample size starts: just below the size under a known variance."""
    z = NormalDist().inv_cdf(1 - ALPHA / 2) + NormalDist().inv_cdf(POWER)
    runs = z * z * variance_ratio
    return max(2, math.floor(runs)) if runs < MOST_RUNS else None


@cache
def _detectable_sigmas(runs: int) -> float:
    """Effect in standard deviations of one run that an unpaired test of `runs` an arm sees with the wanted power."""
    if runs < 2:
        return math.inf
    low, high = 0.0, 100.0
    for _ in range(40):
        middle = (low + high) / 2
        if _power(middle * math.sqrt(runs / 2), 2 * runs - 2) < POWER:
            low = middle
        else:
            high = middle
    return high


def _power(shift: float, freedom: int) -> float:
    """Power of a two-sided t test with non-centrality `shift`, by integration over the variance estimate."""
    critical = _t_quantile(1 - ALPHA / 2, freedom)
    scale, weight = _scaled_chi(freedom)
    return float(np.sum(weight * (1 - _normal(critical * scale - shift) + _normal(-critical * scale - shift))))


@cache
def _t_quantile(probability: float, freedom: int) -> float:
    """Quantile of Student's t by bisection on its integral."""
    scale, weight = _scaled_chi(freedom)
    low, high = 0.0, 50.0
    for _ in range(45):
        middle = (low + high) / 2
        if float(np.sum(weight * _normal(middle * scale))) < probability:
            low = middle
        else:
            high = middle
    return high


@cache
def _scaled_chi(freedom: int) -> tuple[FloatArray, FloatArray]:
    """Grid of sqrt(chi2/df) with its weights: the distribution of an estimated standard deviation."""
    spread_of_sd = 1 / math.sqrt(2 * freedom)
    # With few degrees of freedom much of the power lies close to 0.
    points = 301 if freedom > 4 else 4001
    scale = np.linspace(max(1e-6, 1 - 9 * spread_of_sd), 1 + 9 * spread_of_sd, points)
    log_density = (freedom - 1) * np.log(scale) - freedom * scale**2 / 2
    density = np.exp(log_density - log_density.max())
    density[[0, -1]] /= 2
    return scale, density / density.sum()


def _normal(x: FloatArray) -> FloatArray:
    """Standard normal distribution function, to 1e-7 (Abramowitz and Stegun 7.1.26)."""
    z = np.abs(x) / math.sqrt(2)
    t = 1 / (1 + 0.3275911 * z)
    series = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
    half: FloatArray = 0.5 * series * np.exp(-z * z)
    return np.where(x >= 0, 1 - half, half)
