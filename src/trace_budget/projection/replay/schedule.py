"""What every projection on a trace shares: timelines and dependencies; all claims on them cost one pass together."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

import numpy as np

from trace_budget.analysis.floor import Floor
from trace_budget.projection.claimed_saving import FloatArray
from trace_budget.projection.replay.collectives import propagate_together
from trace_budget.projection.replay.dependencies import Edges, expected_edges
from trace_budget.projection.replay.meetings import Meetings, meetings
from trace_budget.projection.replay.native import chosen_library
from trace_budget.projection.replay.pace import AHEAD, POLL_NS
from trace_budget.projection.replay.propagation import propagate
from trace_budget.projection.replay.stretch import Timeline, stretch
from trace_budget.schema.findings import Int64Array, Steps
from trace_budget.schema.trace import Trace

REPLAYED_OPS = 20_000  # replayed in Python, op by op; later steps of longer traces repeat earlier ones
REPLAYED_OPS_NATIVE = 10_000_000
CELLS_AT_ONCE, CLAIMS_AT_ONCE = 2_000_000, 11  # ops x claims of one pass, and claims of a part of a larger one


@dataclass(frozen=True, slots=True)
class Schedule:
    """Timelines with their expected dependencies, and how many used steps they measure; `sampled` when not all fit.

    `others`: the timeline of each further rank of the job, `met` how their collectives belong together (both only when
    every rank is one timeline and runs the same collectives).
    """

    lines: tuple[tuple[Timeline, Edges], ...]
    steps: int
    used_steps: int
    sampled: bool
    others: tuple[tuple[Timeline, Edges], ...] = ()
    met: Meetings | None = None

    @property
    def host_visible(self) -> bool:
        """Whether launches can be followed to their ops."""
        return self.lines[0][0].host.visible

    @property
    def unseen_collectives(self) -> int:
        """Ops that exchange data with ranks nobody shows."""
        if self.met is not None:
            return self.met.unmet
        return sum(int(np.count_nonzero(line.waited_ns >= 0)) for line, _ in self.lines)

    @property
    def pace(self) -> str:
        """What sets the pace of the loop: device, host, outside of what is recorded, or unknown."""
        return self.lines[0][0].pace.setter

    @property
    def headroom_ns(self) -> float | None:
        """Time per step that the launching threads do not need for themselves; None when nothing shows it."""
        pace = self.lines[0][0].pace
        shown = pace.headroom_ns is not None and (pace.waits_visible or pace.loop == AHEAD)
        return pace.headroom_ns[1] if pace.headroom_ns and shown else _waited_ns(self.lines)


def _waited_ns(lines: Sequence[tuple[Timeline, Edges]]) -> float | None:
    """Time per step in which the host only waits for the device; None when no wait is visible."""
    if not any(line.host.waits_visible for line, _ in lines):
        return None
    blocked, counted = 0, 0
    for line, _ in lines:
        waits = line.host.is_wait & (line.host.own_op < 0)
        # Host and device are a step apart; only what lies in the device's own window is of these steps.
        until = int(line.start_ns[line.next_start]) if line.next_start is not None else int(line.end_ns.max())
        length = np.diff(np.clip([line.host.start_ns[waits], line.host.end_ns[waits]], 0, until), axis=0)
        blocked += int(length[length > POLL_NS].sum())
        counted += line.steps
    return blocked / counted


@dataclass(frozen=True, slots=True)
class Claim:
    """What one candidate takes off each op it touches, in ns: `op_id` sorted, one low/expected/high value each.

    `vanishing` ops are gone with their launches: each ends where its op of `behind` does.
    """

    op_id: Int64Array
    low: FloatArray
    expected: FloatArray
    high: FloatArray
    vanishing: Int64Array = field(default_factory=lambda: np.zeros(0, np.int64))
    behind: Int64Array = field(default_factory=lambda: np.zeros(0, np.int64))


@dataclass(frozen=True, slots=True)
class Interval:
    """(low, expected, high) time saved per step in ns, one value per claim."""

    low: FloatArray
    expected: FloatArray
    high: FloatArray


def schedule_of(trace: Trace, steps: Steps, floor: Floor, loop: str = "auto") -> Schedule:
    """The timelines projections on this trace are computed on.

    With visible launches one run of steps, so that what the host gains in one step reaches the next. Without, each step
    alone: nothing says that a step starts earlier because the one before ended earlier (unless `loop` says sync).
    """
    used = steps.used.tolist()
    sizes = np.bincount(steps.op_step[steps.op_step >= 0], minlength=steps.frame.height)
    visible = bool(trace.gpu_ops["launch_id"].is_not_null().any())
    if len(used) == 1 or not (visible or loop == "sync"):
        chosen = _within_budget(used, sizes)
        sampled = len(chosen) < len(used)
        lines = [stretch(trace, steps, index, index, floor, closing=False) for index in chosen]
    else:
        last = _within_budget(list(range(used[0], used[-1] + 1)), sizes)[-1]
        sampled = last < used[-1]
        lines = [stretch(trace, steps, used[0], last, floor, closing=True)]
        chosen = [index for index in used if index <= last]
    if loop == "sync":
        # The user knows that the host works in the pause.
        lines = [replace(line, pace=replace(line.pace, outside=False)) for line in lines]
    return Schedule(tuple((line, expected_edges(line)) for line in lines), len(chosen), len(used), sampled)


def _within_budget(used: list[int], sizes: Int64Array) -> list[int]:
    """The first steps that hold at most as many ops together as the engine replays, at least one."""
    most = REPLAYED_OPS if chosen_library() is None else REPLAYED_OPS_NATIVE
    total = np.cumsum(sizes[used])
    return used[: max(int(np.searchsorted(total, most, side="right")), 1)]


def join_ranks(bases: Sequence[Schedule], traces: Sequence[Trace]) -> Schedule:
    """One schedule for several ranks of a job, the first being the one that is reported on.

    Ranks that cannot be joined (other collectives, no launches) leave the first alone with its assumptions.
    """
    first = bases[0]
    if any(len(base.lines) != 1 or not base.host_visible for base in bases):
        return first
    met = meetings(traces, [base.lines[0][0] for base in bases])
    return replace(first, others=tuple(base.lines[0] for base in bases[1:]), met=met) if met else first


def interval(base: Schedule, claims: Sequence[tuple[Claim, ...]]) -> Interval:
    """The interval of each candidate, all in one pass; a candidate is one claim per rank, the first rank's first."""
    if base.met is not None:
        return _interval_of_ranks(base, base.met, claims)
    totals = np.zeros((3, len(claims)))
    for line, edges in base.lines:
        totals += _moved(line, edges, [candidate[0] for candidate in claims], base.steps // len(base.lines))
    low, expected, high = totals / len(base.lines)
    return Interval(low, expected, high)


def _interval_of_ranks(base: Schedule, met: Meetings, claims: Sequence[tuple[Claim, ...]]) -> Interval:
    """All ranks in one pass; the step is over when the rank that gains least is done with it."""
    parts = []
    for rank, (line, edges) in enumerate((base.lines[0], *base.others)):
        mine = [candidate[min(rank, len(candidate) - 1)] for candidate in claims]
        columns = _stacked(line, mine)
        rows = met.of_rank(rank)
        length = line.end_ns[rows] - line.start_ns[rows] - met.waited_ns[met.rank == rank]
        for values in columns:
            values[rows] = np.minimum(values[rows], length[:, None])
        parts.append((line, edges, columns, _vanishing(line, mine)))
    moved = np.stack(
        [
            shifts.per_step(line, base.steps, met.begins)
            for rank, (shifts, (line, *_)) in enumerate(zip(propagate_together(parts, met), parts, strict=True))
            if (met.rank == rank).any()
        ]
    )
    low, high = moved[:, 0].min(axis=0), moved[:, 2].max(axis=0)
    return Interval(low, np.median(moved[:, 1], axis=0), high)


def _moved(line: Timeline, edges: Edges, claims: Sequence[Claim], counted: int) -> FloatArray:
    """(low, expected, high) x claims per step; many claims on a long stretch in parts, as many at once as cores."""

    def of(part: Sequence[Claim]) -> FloatArray:
        return propagate(line, edges, *_stacked(line, part), _vanishing(line, part)).per_step(line, counted)

    if line.size * len(claims) <= CELLS_AT_ONCE:
        return of(claims)
    parts = [claims[first : first + CLAIMS_AT_ONCE] for first in range(0, len(claims), CLAIMS_AT_ONCE)]
    with ThreadPoolExecutor(min(len(parts), os.cpu_count() or 1)) as pool:
        return np.concatenate(list(pool.map(of, parts)), axis=1)


def _stacked(line: Timeline, claims: Sequence[Claim]) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The claims as (ops x claims) columns for the three bounds, 0 where they take nothing."""
    low, expected, high = (np.zeros((line.size, len(claims))) for _ in range(3))
    for column, claim in enumerate(claims):
        rows, place = _places(line, claim)
        for values, taken in ((low, claim.low), (expected, claim.expected), (high, claim.high)):
            values[rows, column] = taken[place]
    return low, expected, high


def _vanishing(line: Timeline, claims: Sequence[Claim]) -> dict[int, list[tuple[int, int]]]:
    """(column, row it ends with) of every row that a claim lets vanish."""
    out: dict[int, list[tuple[int, int]]] = {}
    row = {int(op): place for place, op in enumerate(line.op_id)} if any(c.vanishing.size for c in claims) else {}
    for column, claim in enumerate(claims):
        for op, before in zip(claim.vanishing.tolist(), claim.behind.tolist(), strict=True):
            if op in row and before in row and row[op] != line.next_start:
                out.setdefault(row[op], []).append((column, row[before]))
    return out


def _places(line: Timeline, claim: Claim) -> tuple[Int64Array, Int64Array]:
    """Rows of the timeline that a claim takes something of, and where each stands in the claim."""
    if claim.op_id.size == 0:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    place = np.minimum(np.searchsorted(claim.op_id, line.op_id), claim.op_id.size - 1)
    hit = claim.op_id[place] == line.op_id
    if line.next_start is not None:
        hit[line.next_start] = False
    rows = np.flatnonzero(hit)
    return rows, place[rows]
