"""The sensitivity curve: what every saving per call between nothing and the whole kernel is worth."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl

from trace_budget.projection.bounds import beyond_budget, effective_of
from trace_budget.projection.candidates import Candidate
from trace_budget.projection.claimed_saving import FloatArray
from trace_budget.projection.project import Ask, Projection, common_facts, conclude
from trace_budget.projection.replay.ground import Ground, interval
from trace_budget.projection.replay.knees import knees
from trace_budget.projection.target import Site, common_ground, site_of, target_of
from trace_budget.schema.options import Change
from trace_budget.schema.page import Curve, Knee, Stated
from trace_budget.units import ns_from_us, us_from_ns, us_of_bytes

POINTS = 17


def sensitivity(ask: Ask, projection: Projection) -> Curve:
    """The curve of the kernel of a projection, its costs and hit rate applied, with the candidate's place on it.

    Every point is a projection of its own; all of them cost one pass over the trace.
    """
    site = site_of(ask.found)
    base = common_ground([site], ask.token.loop)
    full_ns = projection.required.ceiling_ns
    shortest_ns, bends = _bends(site, base, ask.candidate, full_ns)
    savings = np.unique(np.concatenate((np.linspace(0.0, full_ns, POINTS), bends)))
    swept = _swept(ask, site, base, savings)
    places = [int(np.searchsorted(savings, bend)) for bend in bends]
    return Curve(
        projection.match.kernel,
        _points(savings, swept),
        None if projection.candidate.free else _stated(projection),
        tuple(Knee(us_from_ns(float(savings[at])), swept[at].pct.expected) for at in places),
        us_from_ns(full_ns), us_from_ns(shortest_ns), us_from_ns(projection.token.token_ns), projection.pct.ceiling,
        ask.policy.target_pct, projection.verdict.mde_pct, ask.policy.noise_pct, ask.policy.runs,
        ask.found.trace.complete,
    )  # fmt: skip


def _bends(site: Site, base: Ground, candidate: Candidate, full_ns: float) -> tuple[float, FloatArray]:
    """What the shortest call delays others by, in ns, and the knees up to there.

    Beyond it call after call runs out: each bends the curve a little, and none of that is another path taking over.
    """
    target = target_of(site, _saving(candidate, 0.0))
    effective = effective_of(target.timed, site.effective)
    shortest = max(float(effective.min()), 0.0)
    top = min(shortest, full_ns)
    found = knees(base, target.timed, effective, top) if top > 0 else ()
    return shortest, np.array([saving for saving, _ in found], dtype=np.float64)


def _swept(ask: Ask, site: Site, base: Ground, savings_ns: FloatArray) -> list[Projection]:
    candidates = [_saving(ask.candidate, us_from_ns(float(ns))) for ns in savings_ns]
    targets = [target_of(site, candidate) for candidate in candidates]
    moved = interval(base, [(target.claim,) for target in targets])
    common = common_facts(ask.found, ask.token)
    out = []
    for place, (candidate, target) in enumerate(zip(candidates, targets, strict=True)):
        scale = beyond_budget(base, target.timed, target.saving)
        low, expected, high = (float(values[place]) * scale for values in (moved.low, moved.expected, moved.high))
        out.append(conclude(replace(ask, candidate=candidate), base, (target,), (low, expected, high), common))
    return out


def _saving(candidate: Candidate, saving_us: float) -> Candidate:
    """The same candidate with a stated saving, cut to each call where it is longer."""
    change = replace(
        candidate.change, saving_us=saving_us, new_us=None, speedup=None, free=False, proxy_us=None, baseline_us=None,
        clip=True,
    )  # fmt: skip
    return replace(candidate, change=change)


def _points(savings_ns: FloatArray, swept: list[Projection]) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "saving_us": savings_ns / ns_from_us(1.0),
            "low_pct": [p.pct.low for p in swept],
            "expected_pct": [p.pct.expected for p in swept],
            "high_pct": [p.pct.high for p in swept],
            "naive_pct": [p.pct.naive for p in swept],
            "expected_us_per_step": [us_from_ns(p.limits.expected) for p in swept],
        }
    )


def _stated(projection: Projection) -> Stated:
    """The candidate's own place; its costs per call are part of the curve, not of the saving on its axis."""
    saving_us = us_from_ns(float(projection.saving.expected.mean())) + _cost_us(projection.candidate)
    return Stated(saving_us, projection.pct.low, projection.pct.expected, projection.pct.high)


def _cost_us(change: Change) -> float:
    traffic = 0.0
    if change.extra_bytes and change.bandwidth_gbps:
        traffic = us_of_bytes(change.extra_bytes, change.bandwidth_gbps)
    return (change.overhead_us or 0.0) + traffic
