"""What a saving per call does to a step: naive product, exposed share, chain bound, and the propagated interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from trace_budget.projection.claimed_saving import FloatArray, Saving
from trace_budget.projection.match import Match
from trace_budget.projection.replay.clocks import clock_caveats
from trace_budget.projection.replay.schedule import Claim, Schedule, interval
from trace_budget.schema.band import Band, in_order
from trace_budget.schema.findings import Int64Array
from trace_budget.schema.trace import Caveat

CONTENTION_SHARE = 0.05
OUTSIDE_TEXT = (
    "host and device idle together for a good part of each step: what they wait for is not on record, so the saving "
    "may only lengthen the pause and low is 0; --loop sync says that the host works in it"
)


@dataclass(frozen=True, slots=True)
class Bounds(Band):
    """Time saved per step in ns: the band, beside `naive` (saving x calls), `exposed` (heuristic) and `chain`.

    `headroom_ns`: what the host leaves of a step (None when nothing shows it): GPU time saved beyond it is lost in a
    loop that runs ahead. `pace`: device, host, outside or unknown. `host_visible`: launches could be followed.
    `steps`: steps the interval was computed on. `contended`: matched calls share the device, so `high` exceeds what a
    schedule can show.
    """

    naive: float
    exposed: float
    chain: float
    headroom_ns: float | None
    host_visible: bool
    steps: int
    contended: bool
    gap_max_ns: int
    caveats: tuple[Caveat, ...] = ()
    pace: str = "unknown"


@dataclass(frozen=True, slots=True)
class Untimed:
    """What calls without usable times would save per step in ns, if they are like the others (`expected`, `high`).

    `beside`: the same on the other ranks, high. `cost`: what all of them may cost, 0 or less. They take part in every
    bound that may not be too low, and in `low` only with their cost.
    """

    expected: float = 0.0
    high: float = 0.0
    beside: float = 0.0
    cost: float = 0.0


ALL_TIMED = Untimed()


def claim_of(found: Match, saving: Saving) -> Claim:
    """The saving of each matched call as a claim on its op."""
    return Claim(found.ops["op_id"].to_numpy(), saving.low, saving.expected, saving.high)


def moved_by(base: Schedule, claims: Sequence[tuple[Claim, ...]]) -> list[Band]:
    """What each of several claims (one per rank) saves per step in ns, as far as the replay alone can say."""
    moved = interval(base, claims)
    ends = (values.tolist() for values in (moved.low, moved.expected, moved.high))
    return [in_order(low, expected, high) for low, expected, high in zip(*ends, strict=True)]


def held(saved: Band, ceiling_ns: float, token_ns: float) -> Band:
    """No bound lies above what the calls take (`ceiling_ns`) or a step's tokens take (`token_ns`), all per step."""
    return saved.at_most(min(ceiling_ns, token_ns))


def bounds_of(
    base: Schedule,
    found: Match,
    saving: Saving,
    claim: Claim,
    moved: Band,
    loop: str,
    untimed: Untimed = ALL_TIMED,
) -> Bounds:
    """Bring a propagated interval together with the simpler bounds and the rules of loop and contention."""
    ops = found.ops
    naive = float(saving.expected.sum()) / found.steps + untimed.expected
    most = float(saving.high.sum()) / found.steps + untimed.high
    duration, solo = ops["dur_ns"].to_numpy(), ops["solo_ns"].to_numpy()
    alone = np.divide(solo, duration, out=np.ones(ops.height), where=duration > 0)
    chain = chain_bound(ops["start_ns"].to_numpy(), ops["end_ns"].to_numpy(), saving.high) / found.steps + untimed.high
    shared = 1.0 - float(solo.sum()) / max(float(duration.sum()), 1.0)
    contended = shared > CONTENTION_SHARE
    headroom = base.headroom_ns
    low, expected = _limited(moved.low + untimed.cost, moved.expected, headroom, loop)
    furthest = moved.high + untimed.high + untimed.beside
    high = _highest(furthest, most, chain, shared, contended)
    # Launches that vanish may save host time beyond what the calls take.
    high = max(high, furthest) if claim.vanishing.size else high
    worst = float(np.minimum(claim.low, 0.0).sum()) / found.steps + untimed.cost
    # A candidate cannot cost more than all of its costs in a row.
    saved = in_order(low, expected, high).at_least(worst)
    return Bounds(
        *saved.ends,
        naive,
        float((saving.expected * alone).sum()) / found.steps,
        chain,
        headroom,
        base.host_visible,
        base.steps,
        contended,
        base.lines[0][0].gap_max_ns,
        _caveats(base, contended, loop),
        base.pace,
    )


def unsampled_factor(base: Schedule, found: Match, saving: Saving) -> float:
    """Claim per step over all used steps, relative to the covered ones: 1 while the trace fits the budget."""
    if not base.sampled:
        return 1.0
    covered = np.zeros(found.ops.height, dtype=bool)
    ids = found.ops["op_id"].to_numpy()
    for line, _ in base.lines:
        covered |= np.isin(ids, line.op_id)
    here = float(saving.expected[covered].sum()) / base.steps
    return float(saving.expected.sum()) / found.steps / here if here else 1.0


def _highest(moved: float, naive: float, chain: float, shared: float, contended: bool) -> float:
    """The upper bound: no schedule saves more than a chain of calls; kernels that slow each other down may.

    Work taken off a contended kernel saves the slowed-down time, at most as much again for the share that is contended.
    """
    if contended:
        return max(naive, 0.0) * (1.0 + shared) if naive > 0 else moved
    return min(moved, chain, naive) if naive > 0 else moved


def chain_bound(start_ns: Int64Array, end_ns: Int64Array, saving_ns: FloatArray) -> float:
    """The most a set of calls that never overlap can save: weighted interval scheduling in O(n log n).

    A path through the step visits calls one after the other, so no path can collect the savings of two that overlap.
    """
    order = np.argsort(end_ns, kind="stable")
    starts, ends, gains = start_ns[order], end_ns[order], np.maximum(saving_ns[order], 0.0)
    if order.size == 0 or np.all(starts[1:] >= ends[:-1]):
        return float(gains.sum())
    before = np.searchsorted(ends, starts, side="right")
    best = [0.0]
    for place, gain in zip(before.tolist(), gains.tolist(), strict=True):
        best.append(max(best[-1], best[min(place, len(best) - 1)] + gain))
    return best[-1]


def _limited(low: float, expected: float, headroom: float | None, loop: str) -> tuple[float, float]:
    """In a loop that runs one step ahead the step cannot get shorter than the host's own work."""
    if loop != "async" or low < 0:
        return low, expected
    return (0.0, expected) if headroom is None else (min(low, headroom), min(expected, headroom))


def _caveats(base: Schedule, contended: bool, loop: str) -> tuple[Caveat, ...]:
    checks = (
        (
            contended,
            "contention_unmodelled",
            "matched calls share the device with other work; how they slow each other down is not in a trace, "
            "so the high bound is the naive product plus the contended share",
        ),
        (
            not base.host_visible,
            "host_invisible",
            "no launches in this trace: whether the host or the device sets the pace is unknown, "
            "so nothing is carried from step to step",
        ),
        (
            base.unseen_collectives > 0,
            "one_rank",
            f"{base.unseen_collectives} collective calls wait for ranks this trace does not show: expected "
            "assumes that all ranks gain alike, low that the others gain nothing",
        ),
        (base.pace == "outside", "paced_outside", OUTSIDE_TEXT),
        (
            loop == "async" and base.headroom_ns is None,
            "headroom_unknown",
            "no host waits in this trace: how much GPU time an asynchronous loop can lose is unknown",
        ),
    )
    out = [Caveat(code, text, 1, "warning") for holds, code, text in checks if holds]
    out += clock_caveats([line.clock for line, _ in (*base.lines, *base.others)])
    if base.sampled:
        text = (
            f"the interval was computed on {base.steps} of {base.used_steps} counted steps; counts and naive "
            "figures are over all"
        )
        out.append(Caveat("interval_on_sample", text, base.steps))
    return tuple(out)


def effective_of(found: Match, effective: Int64Array) -> FloatArray:
    """Effective duration of each matched call in ns."""
    values: FloatArray = effective[found.ops["op_id"].to_numpy()].astype(np.float64)
    return values


def usable(found: Match) -> Match:
    """The match without calls whose times are not usable (they stay in counts, not in timing)."""
    ops = found.ops.filter(pl.col("dur_ns").is_not_null())
    return Match(found.kernel, found.names, ops, found.steps, found.layers, types=found.types)
