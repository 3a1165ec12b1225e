"""The sensitivity curve: what every saving per call between nothing and the whole kernel is worth."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl

from trace_budget.projection.project import Found, Projection, project
from trace_budget.schema.options import Change, Policy, Selection, TokenInput
from trace_budget.schema.page import Curve, Knee, Stated
from trace_budget.units import us_from_ns, us_of_bytes

POINTS = 17
BEND = 0.05  # a change of slope below this share of the first slope is rounding, not a knee


def sensitivity(found: Found, projection: Projection, selection: Selection, asked: TokenInput, policy: Policy) -> Curve:
    """The curve of the kernel of a projection, its costs and hit rate applied, with the candidate's place on it."""
    full_us = us_from_ns(projection.required.ceiling_ns)
    points = _points(found, projection, selection, asked, policy, full_us)
    stated = None if projection.candidate.free else _stated(projection)
    return Curve(
        projection.match.kernel, points, stated, _knees(points), full_us, us_from_ns(projection.token.token_ns),
        projection.pct.ceiling, policy.target_pct, projection.verdict.mde_pct, policy.noise_pct, policy.runs,
    )  # fmt: skip


def _points(
    found: Found, projection: Projection, selection: Selection, asked: TokenInput, policy: Policy, full_us: float
) -> pl.DataFrame:
    """One projection per saving: the one place that knows how the sweep is computed."""
    savings = np.linspace(0.0, full_us, POINTS).tolist()
    swept = [project(found, selection, _saving(projection.candidate, us), asked, policy) for us in savings]
    return pl.DataFrame(
        {
            "saving_us": savings,
            "low_pct": [p.pct.low for p in swept],
            "expected_pct": [p.pct.expected for p in swept],
            "high_pct": [p.pct.high for p in swept],
            "naive_pct": [p.pct.naive for p in swept],
            "expected_us_per_step": [us_from_ns(p.limits.expected) for p in swept],
        }
    )


def _saving(change: Change, saving_us: float) -> Change:
    """The same change with a stated saving, cut to each call where it is longer."""
    return replace(
        change, saving_us=saving_us, new_us=None, speedup=None, free=False, proxy_us=None, baseline_us=None, clip=True
    )


def _stated(projection: Projection) -> Stated:
    """The candidate's own place; its costs per call are part of the curve, not of the saving on its axis."""
    saving_us = us_from_ns(float(projection.saving.expected.mean())) + _cost_us(projection.candidate)
    return Stated(saving_us, projection.pct.low, projection.pct.expected, projection.pct.high)


def _cost_us(change: Change) -> float:
    traffic = (
        us_of_bytes(change.extra_bytes, change.bandwidth_gbps) if change.extra_bytes and change.bandwidth_gbps else 0.0
    )
    return (change.overhead_us or 0.0) + traffic


def _knees(points: pl.DataFrame) -> tuple[Knee, ...]:
    """Points where the expected curve bends down by more than rounding."""
    x, y = points["saving_us"].to_numpy(), points["expected_pct"].to_numpy()
    if x.size < 3 or x[-1] <= x[0]:
        return ()
    slope = np.diff(y) / np.diff(x)
    bends = np.flatnonzero(slope[:-1] - slope[1:] > BEND * max(float(np.abs(slope).max()), 1e-12)) + 1
    return tuple(Knee(float(x[i]), float(y[i])) for i in bends)
