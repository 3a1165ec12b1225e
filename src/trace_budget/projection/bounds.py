"""What a saving per call does to a step: naive product, exposed share, chain bound, and the propagated interval."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from trace_budget.analysis.floor import Floor
from trace_budget.projection.candidate import FloatArray, Saving
from trace_budget.projection.edges import expected_edges
from trace_budget.projection.match import Match
from trace_budget.projection.shift import POLL_NS, propagate
from trace_budget.projection.timeline import OP_BUDGET, Timeline, stretch
from trace_budget.schema.findings import Int64Array, Steps
from trace_budget.schema.trace import Caveat, Trace

CONTENTION_SHARE = 0.05


@dataclass(frozen=True, slots=True)
class Bounds:
    """Time saved per step in ns: `naive` (saving x calls), `exposed` (heuristic), `chain` and the interval.

    `headroom_ns`: how long the host waits for the device per step (None when no wait is visible): GPU time saved beyond
    it is lost in a loop that runs one step ahead. `host_visible`: launches could be followed. `steps`: steps the
    interval was computed on. `contended`: matched calls share the device, so `high` is the naive product.
    """

    naive: float
    exposed: float
    chain: float
    low: float
    expected: float
    high: float
    headroom_ns: float | None
    host_visible: bool
    steps: int
    contended: bool
    gap_max_ns: int
    caveats: tuple[Caveat, ...] = ()


def bounds(trace: Trace, steps: Steps, found: Match, saving: Saving, floor: Floor, loop: str = "auto") -> Bounds:
    """The interval for one candidate; `saving` holds one value per row of `found.ops` (calls with usable times only)."""
    ops = found.ops
    naive = float(saving.expected.sum()) / found.steps
    share = np.divide(
        ops["solo_ns"].to_numpy(), ops["dur_ns"].to_numpy(), out=np.ones(ops.height), where=ops["dur_ns"].to_numpy() > 0
    )
    exposed = float((saving.expected * share).sum()) / found.steps
    chain = chain_bound(ops["start_ns"].to_numpy(), ops["end_ns"].to_numpy(), saving.high) / found.steps
    total = float(ops["dur_ns"].sum())
    contended = total > 0 and 1.0 - float(ops["solo_ns"].sum()) / total > CONTENTION_SHARE
    lines, count = _lines(trace, steps, floor, loop)
    low, expected, high = _over(lines, found, saving)
    naive_high = float(saving.high.sum()) / found.steps
    headroom = _headroom(lines, count)
    low, expected = _limited(low / count, expected / count, headroom, loop)
    low, expected, high = _ordered(
        low,
        expected,
        naive_high if contended else min(high / count, max(chain, 0.0) if chain > 0 else high / count),
        float(saving.low.sum()) / found.steps,
        naive_high,
    )
    caveats = _caveats(steps, lines, count, contended, headroom, loop)
    return Bounds(
        naive,
        exposed,
        chain,
        low,
        expected,
        high,
        headroom,
        lines[0].host.visible,
        count,
        contended,
        floor.gap_max_ns,
        caveats,
    )


def _lines(trace: Trace, steps: Steps, floor: Floor, loop: str) -> tuple[list[Timeline], int]:
    """The timelines the interval is computed on, and how many used steps they hold.

    With visible launches one run of steps, so that what the host gains in one step reaches the next. Without, each step
    alone: nothing says that a step starts earlier because the one before ended earlier (unless the user says sync).
    """
    used = steps.used.tolist()
    sizes = np.bincount(steps.op_step[steps.op_step >= 0], minlength=steps.frame.height)
    visible = bool(trace.gpu_ops["launch_id"].is_not_null().any())
    if len(used) == 1 or not (visible or loop == "sync"):
        chosen = _within_budget(used, sizes)
        return [stretch(trace, steps, index, index, floor, closing=False) for index in chosen], len(chosen)
    last = used[0]
    total = 0
    for index in range(used[0], used[-1] + 1):
        total += int(sizes[index])
        if total > OP_BUDGET and index > used[0]:
            break
        last = index
    # The last step of the trace has no successor that would show when it is over for the host.
    last = last if last + 1 < steps.frame.height else last - 1
    inside = [index for index in used if index <= last]
    return [stretch(trace, steps, used[0], last, floor, closing=True)], len(inside)


def _within_budget(used: list[int], sizes: Int64Array) -> list[int]:
    chosen: list[int] = []
    total = 0
    for index in used:
        total += int(sizes[index])
        if chosen and total > OP_BUDGET:
            break
        chosen.append(index)
    return chosen


def _over(lines: list[Timeline], found: Match, saving: Saving) -> tuple[float, float, float]:
    """(low, expected, high) time saved over all timelines together."""
    totals = np.zeros(3)
    columns = {"op": found.ops["op_id"].to_numpy()}
    for line in lines:
        rows = _columns(line, columns["op"], saving)
        shifts = propagate(line, expected_edges(line), *rows)
        totals += np.array([float(values[0]) for values in shifts.at_end(line)])
    return float(totals[0]), float(totals[1]), float(totals[2])


def _columns(line: Timeline, op_ids: Int64Array, saving: Saving) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The saving of each op of the timeline, 0 for ops that are not matched; one column."""
    place = np.searchsorted(op_ids, line.op_id)
    hit = (place < op_ids.size) & (op_ids[np.minimum(place, op_ids.size - 1)] == line.op_id)
    if line.next_start is not None:
        hit[line.next_start] = False
    low, expected, high = (
        np.where(hit, values[np.minimum(place, op_ids.size - 1)], 0.0)[:, None]
        for values in (saving.low, saving.expected, saving.high)
    )
    return low, expected, high


def chain_bound(start_ns: Int64Array, end_ns: Int64Array, saving_ns: FloatArray) -> float:
    """The most a set of calls that never overlap can save: weighted interval scheduling in O(n log n).

    A path through the step visits calls one after the other, so no path can collect the savings of two that overlap.
    """
    order = np.argsort(end_ns, kind="stable")
    starts, ends, gains = start_ns[order], end_ns[order], np.maximum(saving_ns[order], 0.0)
    if order.size == 0:
        return 0.0
    if np.all(starts[1:] >= ends[:-1]):
        return float(gains.sum())
    before = np.searchsorted(ends, starts, side="right")
    best = [0.0]
    for place, gain in zip(before.tolist(), gains.tolist(), strict=True):
        best.append(max(best[-1], best[min(place, len(best) - 1)] + gain))
    return best[-1]


def _headroom(lines: list[Timeline], count: int) -> float | None:
    """Time per step in which the host only waits for the device; None when no wait is visible."""
    if not any(line.host.waits_visible for line in lines):
        return None
    blocked = 0
    for line in lines:
        waits = line.host.is_wait & (line.host.own_op < 0)
        length = line.host.end_ns[waits] - line.host.start_ns[waits]
        blocked += int(length[length > POLL_NS].sum())
    return blocked / count


def _limited(low: float, expected: float, headroom: float | None, loop: str) -> tuple[float, float]:
    """In a loop that runs one step ahead the step cannot get shorter than the host's own work."""
    if loop != "async" or low < 0:
        return low, expected
    return (0.0, expected) if headroom is None else (min(low, headroom), min(expected, headroom))


def _ordered(
    low: float, expected: float, high: float, naive_low: float, naive_high: float
) -> tuple[float, float, float]:
    """Keep low <= expected <= high, and all of them within what the calls can save or cost at all."""
    high = min(high, naive_high) if naive_high > 0 else high
    low = min(low, high)
    low = max(low, min(naive_low, 0.0))
    return low, min(max(expected, low), high), high


def _caveats(
    steps: Steps, lines: list[Timeline], count: int, contended: bool, headroom: float | None, loop: str
) -> tuple[Caveat, ...]:
    out: list[Caveat] = []
    if contended:
        out.append(
            Caveat(
                "contention_unmodelled",
                "matched calls share the device with other work; how they slow each other down is not in the trace, so the high bound is the naive product",
                1,
                "warning",
            )
        )
    if not lines[0].host.visible:
        out.append(
            Caveat(
                "host_invisible",
                "no launches in this trace: whether the host or the device sets the pace is unknown, so nothing is carried from step to step",
                1,
                "warning",
            )
        )
    if count < len(steps.used) - 1:
        out.append(
            Caveat(
                "interval_on_sample",
                f"the interval was computed on {count} of {len(steps.used)} counted steps; counts and naive figures are over all",
                count,
                "note",
            )
        )
    if loop == "async" and headroom is None:
        out.append(
            Caveat(
                "headroom_unknown",
                "no host waits in this trace: how much GPU time the asynchronous loop can still lose is unknown",
                1,
                "warning",
            )
        )
    return tuple(out)


def effective_of(found: Match, effective: Int64Array) -> FloatArray:
    """Effective duration of each matched call in ns."""
    values: FloatArray = effective[found.ops["op_id"].to_numpy()].astype(np.float64)
    return values


def usable(found: Match) -> Match:
    """The match without calls whose times are not usable (they stay in counts, not in timing)."""
    return Match(found.kernel, found.names, found.ops.filter(pl.col("dur_ns").is_not_null()), found.steps, found.layers)
