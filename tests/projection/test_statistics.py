"""Sample sizes, detectable effects and intervals, against tables of exact t tests and against simulation."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import pytest

from trace_budget.projection.statistics import (
    _power,
    _t_quantile,
    minimum_detectable_pct,
    pairs_needed,
    runs_needed,
    spread,
)

# Exact t tests at 5 % two-sided and 80 % power; pairs with correlation 0.8.
RUNS = {
    (0.192, 0.42): (77, 18), (0.192, 1.0): (427, 88), (0.192, 2.35): (2353, 473),
    (0.339, 0.42): (26, 7), (0.339, 1.0): (138, 30), (0.339, 2.35): (756, 153),
    (1.0, 0.42): (4, 3), (1.0, 1.0): (17, 6), (1.0, 2.35): (88, 20),
}  # fmt: skip
DETECTABLE = {
    0.42: {3: 1.29, 5: 0.85, 10: 0.56, 20: 0.38},
    1.0: {3: 3.07, 5: 2.02, 10: 1.32, 20: 0.91},
    2.35: {3: 7.22, 5: 4.76, 10: 3.11, 20: 2.14},
}


@pytest.mark.parametrize(("effect", "noise"), RUNS)
def test_runs_and_pairs_are_those_of_exact_t_tests(effect: float, noise: float) -> None:
    runs, pairs = RUNS[effect, noise]
    assert runs_needed(effect, noise) == pytest.approx(runs, abs=1)
    assert pairs_needed(effect, noise) == pytest.approx(pairs, abs=1)


@pytest.mark.parametrize("noise", DETECTABLE)
def test_the_smallest_effect_a_few_runs_can_see(noise: float) -> None:
    got = {runs: minimum_detectable_pct(noise, runs) for runs in DETECTABLE[noise]}
    assert got == pytest.approx(DETECTABLE[noise], abs=0.011)


def test_a_large_effect_needs_few_runs_and_none_needs_none() -> None:
    assert runs_needed(3.0, 0.42) == 2
    assert runs_needed(1e-300, 1.0) is None
    assert pairs_needed(1e-300, 1.0) is None
    assert runs_needed(3.0, 1.0) == 4
    assert runs_needed(3.0, 2.35) == pytest.approx(11, abs=1)
    for needed in (runs_needed, pairs_needed):
        assert needed(0.0, 1.0) is None
        assert needed(-1.0, 1.0) is None
        assert needed(1e-6, 1.0) is None


def test_one_run_sees_nothing() -> None:
    assert minimum_detectable_pct(1.0, 1) == math.inf


@pytest.mark.parametrize(("freedom", "quantile"), [(1, 12.7062), (2, 4.3027), (4, 2.7764), (8, 2.3060), (30, 2.0423)])
def test_quantiles_of_student(freedom: int, quantile: float) -> None:
    assert _t_quantile(0.975, freedom) == pytest.approx(quantile, rel=5e-3)


def test_power_is_the_share_of_tests_that_reject() -> None:
    random, runs, effect = np.random.default_rng(1), 6, 1.8
    one, other = random.normal(0, 1, (40_000, runs)), random.normal(effect, 1, (40_000, runs))
    pooled = np.sqrt((one.var(axis=1, ddof=1) + other.var(axis=1, ddof=1)) / 2)
    t = (other.mean(axis=1) - one.mean(axis=1)) / (pooled * math.sqrt(2 / runs))
    rejected = float(np.mean(np.abs(t) > 2.2281))
    assert _power(effect * math.sqrt(runs / 2), 2 * runs - 2) == pytest.approx(rejected, abs=0.01)


def test_many_runs_follow_the_normal_rule() -> None:
    z = NormalDist().inv_cdf(0.975) + NormalDist().inv_cdf(0.8)
    assert runs_needed(0.1, 1.0) == pytest.approx(2 * (z * 1.0 / 0.1) ** 2, rel=0.01)


def test_spread_of_known_values() -> None:
    got = spread(np.array([10.0, 11.0, 12.0, 13.0, 100.0]))
    assert (got.median, got.mad, got.n) == (12.0, 1.0, 5)
    assert got.ci95 is not None
    assert got.ci95[0] <= 12.0 <= got.ci95[1]


@pytest.mark.parametrize("count", [1, 2])
def test_one_or_two_steps_have_no_interval(count: int) -> None:
    got = spread(np.full(count, 7.0))
    assert (got.median, got.mad, got.ci95) == (7.0, 0.0, None)


def test_equal_steps_have_an_interval_of_no_width() -> None:
    assert spread(np.full(20, 44_000.0)).ci95 == (44_000.0, 44_000.0)


def test_the_interval_is_the_same_every_time_and_covers_the_median() -> None:
    random = np.random.default_rng(3)
    samples = random.normal(100.0, 2.0, (200, 40))
    intervals = [spread(sample).ci95 for sample in samples]
    assert intervals[0] == spread(samples[0]).ci95
    inside = [low <= 100.0 <= high for low, high in intervals if low is not None]  # type: ignore[misc]
    assert 0.85 <= np.mean(inside) <= 1.0


def test_steps_that_follow_each_other_count_for_less() -> None:
    random = np.random.default_rng(5)
    noise = random.normal(size=400)
    drifting = np.zeros(400)
    for i in range(1, 400):
        drifting[i] = 0.8 * drifting[i - 1] + noise[i]
    independent, dependent = spread(noise), spread(drifting)
    assert independent.n_eff > 0.8 * 400
    assert dependent.n_eff == pytest.approx(400 * 0.2 / 1.8, rel=0.35)
