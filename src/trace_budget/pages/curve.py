"""The sensitivity curve: what every saving per call between nothing and the whole kernel is worth."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl

from trace_budget.projection.bounds import effective_of
from trace_budget.projection.candidates import Candidate
from trace_budget.projection.claimed_saving import FloatArray
from trace_budget.projection.project import Prepared, Projection, project_many
from trace_budget.projection.replay.knees import knees
from trace_budget.projection.target import target_of
from trace_budget.schema.options import Change
from trace_budget.schema.page import Curve, Knee, Stated
from trace_budget.units import ns_from_us, us_from_ns, us_of_bytes

POINTS = 17


def sensitivity(ready: Prepared, candidate: Candidate, projection: Projection) -> Curve:
    """The curve of the kernel of a projection, its costs and hit rate applied, with the candidate's place on it.

    Every point is a projection of its own; all of them cost one pass over the trace.
    """
    full_ns, policy = projection.required.ceiling_ns, ready.policy
    shortest_ns, bends = _bends(ready, candidate, full_ns)
    savings = np.unique(np.concatenate((np.linspace(0.0, full_ns, POINTS), bends)))
    swept = project_many(ready, [_saving(candidate, us_from_ns(float(ns))) for ns in savings])
    places = [int(np.searchsorted(savings, bend)) for bend in bends]
    return Curve(
        projection.match.kernel,
        _points(savings, swept),
        None if projection.candidate.free else _stated(projection),
        tuple(Knee(us_from_ns(float(savings[at])), swept[at].pct.expected) for at in places),
        us_from_ns(full_ns), us_from_ns(shortest_ns), us_from_ns(projection.token.token_ns), projection.pct.ceiling,
        policy.target_pct, projection.verdict.mde_pct, policy.noise_pct, policy.runs, ready.found.trace.complete,
    )  # fmt: skip


def _bends(ready: Prepared, candidate: Candidate, full_ns: float) -> tuple[float, FloatArray]:
    """What the shortest call delays others by, in ns, and the knees up to there.

    Beyond it call after call runs out: each bends the curve a little, and none of that is another path taking over.
    """
    rank = ready.ranks[0]
    target = target_of(rank, _saving(candidate, 0.0))
    effective = effective_of(target.timed, rank.effective)
    shortest = max(float(effective.min()), 0.0)
    top = min(shortest, full_ns)
    found = knees(ready.base, target.timed, effective, top) if top > 0 else ()
    return shortest, np.array([saving for saving, _ in found], dtype=np.float64)


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
    return Stated(saving_us, *projection.pct.ends)


def _cost_us(change: Change) -> float:
    traffic = 0.0
    if change.extra_bytes and change.bandwidth_gbps:
        traffic = us_of_bytes(change.extra_bytes, change.bandwidth_gbps)
    return (change.overhead_us or 0.0) + traffic
