"""Which collectives of the ranks of a job are one: by process group, and the sequence of calls inside it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from trace_budget.projection.replay.stretch import Timeline
from trace_budget.schema.findings import Int64Array
from trace_budget.schema.trace import Trace

STEPS_APART = 2  # recordings of ranks begin this many steps apart at most
ALIKE_NS = 10_000  # differences that vary by this much more than the steadiest ones may be as good
SAME_CLOCK = 0.25  # share of a step by which ends may differ where the clocks are one
WAITING = 3.0  # a call that takes this multiple of the shortest waits
SOME = 0.1
NOBODY = -1
FILLING = 2
_ONE_WAY = re.compile(r" (\d+)>\d+$")  # a group of two, of which one sends; names of kernels may hold a `>` too


@dataclass(frozen=True, slots=True)
class Meetings:
    """Calls of several ranks that belong together; one row for each rank that takes part.

    `number`: of the meeting; `rank`: place among the ranks; `row`: in that rank's timeline; `waited_ns`: how long the
    call waited; `slack_ns`: how much earlier the sender's end could be later (of receivers only). `sender`: the rank
    that ends on its own (per meeting; NOBODY where all end together). `unmet`: rows of the first rank that take part in
    nothing although others of their group do.
    """

    number: Int64Array
    rank: Int64Array
    row: Int64Array
    waited_ns: Int64Array
    slack_ns: Int64Array
    sender: Int64Array
    unmet: int

    @property
    def begins(self) -> int:
        """Steps at the beginning that show nothing of the pace: what they receive was sent before the recordings."""
        return FILLING if (self.sender != NOBODY).any() else 0

    def of_rank(self, rank: int) -> Int64Array:
        """The rows of one rank that meet others."""
        rows: Int64Array = self.row[self.rank == rank]
        return rows


@dataclass(frozen=True, slots=True)
class _Calls:
    """The calls of one group on one rank, in order; absolute times."""

    rank: int
    row: Int64Array
    start_ns: Int64Array
    end_ns: Int64Array
    names: list[str]
    step_calls: int


@dataclass(frozen=True, slots=True)
class _Met:
    """Matched calls of one group: (meetings x ranks) rows, waits, slacks; the place of the sender or NOBODY."""

    ranks: list[int]
    row: Int64Array
    waited_ns: Int64Array
    slack_ns: Int64Array
    sender: int


def meetings(traces: Sequence[Trace], lines: Sequence[Timeline]) -> Meetings | None:
    """Match the collectives of the first rank with those of the others; None when none can be matched.

    The k-th call of a group on one rank is the k-th on the others, counted from where their ends fit together best:
    recordings may begin a step apart. Ranks that meet the first neither themselves nor through others are left out.
    """
    groups: dict[str, list[_Calls]] = {}
    sizes: dict[str, int] = {}
    for rank, (trace, line) in enumerate(zip(traces, lines, strict=True)):
        for key, (calls, size) in _calls(trace, line, rank).items():
            groups.setdefault(key, []).append(calls)
            sizes[key] = size or len(traces)
    known = [trace.rank for trace in traces]
    found = [
        met
        for key, members in groups.items()
        if len(members) == sizes[key] > 1 and (met := _match(key, members, known)) is not None
    ]
    found = _reached(found)
    return _stacked(found, groups) if found else None


def _calls(trace: Trace, line: Timeline, rank: int) -> dict[str, tuple[_Calls, int | None]]:
    """The collectives of a timeline by group; without a group those of one name belong together."""
    rows = np.flatnonzero(line.waited_ns >= 0)
    if line.next_start is not None:
        rows = rows[rows != line.next_start]
    ops = trace.gpu_ops.select(pl.col("name").cast(pl.String), "group", "group_size")[line.op_id[rows]]
    origin = int(trace.gpu_ops["start_ns"][int(line.op_id[0])])
    frame = ops.with_columns(pl.Series("row", rows), pl.coalesce("group", "name").alias("key"))
    out: dict[str, tuple[_Calls, int | None]] = {}
    for (key,), part in frame.group_by("key", maintain_order=True):
        row = part["row"].to_numpy()
        times = line.start_ns[row] + origin, line.end_ns[row] + origin
        calls = _Calls(rank, row, *times, part["name"].to_list(), -(-row.size // max(line.steps, 1)))
        out[str(key)] = calls, part["group_size"][0]
    return out


def _match(key: str, members: list[_Calls], known: list[int | None]) -> _Met | None:
    sender = NOBODY
    if one_way := _ONE_WAY.search(key):
        source = one_way[1]
        senders = [place for place, calls in enumerate(members) if str(known[calls.rank]) == source]
        if len(members) != 2 or len(senders) != 1:
            return None
        sender = senders[0]
        members = [members[sender], members[1 - sender]]
    begins = _aligned(members, sender != NOBODY)
    count = min(calls.row.size - begin for calls, begin in zip(members, begins, strict=True)) if begins else 0
    if count < 1:
        return None
    kept = [slice(begin, begin + count) for begin in begins]
    row, start, end = (
        np.stack([getattr(calls, name)[part] for calls, part in zip(members, kept, strict=True)], axis=1)
        for name in ("row", "start_ns", "end_ns")
    )
    ranks, length = [calls.rank for calls in members], end - start
    if sender == NOBODY or np.mean(length[:, 0] > WAITING * length.min()) > SOME:
        return _Met(ranks, row, length - length.min(axis=1, keepdims=True), np.zeros_like(row), NOBODY)
    return _one_way(ranks, row, length, end)


def _one_way(ranks: list[int], row: Int64Array, length: Int64Array, end: Int64Array) -> _Met:
    """A sender that goes on at once, and a receiver that waits for what was sent."""
    transfer = length.min()
    waited = np.stack((np.zeros_like(length[:, 0]), length[:, 1] - transfer), axis=1)
    behind = end[:, 1] - end[:, 0]
    waits = waited[:, 1] > (WAITING - 1) * transfer
    # Where receivers wait the shortest way is the transfer, whatever the clocks; else only the clocks show it.
    shortest = int(behind[waits].min()) if waits.any() else int(transfer)
    slack = np.maximum(behind - shortest, 0)
    return _Met(ranks, row, waited, np.stack((np.zeros_like(slack), slack), axis=1), 0)


def _aligned(members: list[_Calls], one_way: bool) -> list[int]:
    """Where the common sequence begins on each rank; empty when nothing fits."""
    first = members[0]
    shifts = [0] + [_shift(first, calls, one_way) for calls in members[1:]]
    if any(shift is None for shift in shifts):
        return []
    known = [shift for shift in shifts if shift is not None]
    return [shift - min(known) for shift in known]


def _shift(one: _Calls, other: _Calls, one_way: bool) -> int | None:
    """By how many calls the other rank's recording begins before the first one's (negative: later).

    Of all shifts with the same names in a row, the one whose ends differ most steadily; of several equal ones the one
    that has the clocks together, else the smallest.
    """
    most = STEPS_APART * max(one.step_calls, other.step_calls)
    tried: list[tuple[float, float, int]] = []
    for shift in range(-most, most + 1):
        mine, theirs = slice(max(-shift, 0), None), slice(max(shift, 0), None)
        count = min(one.end_ns[mine].size, other.end_ns[theirs].size)
        if count * 2 < min(one.row.size, other.row.size) or count == 0:
            continue
        if not one_way and one.names[mine][:count] != other.names[theirs][:count]:
            continue
        apart = other.end_ns[theirs][:count] - one.end_ns[mine][:count]
        middle = float(np.median(apart))
        tried.append((float(np.median(np.abs(apart - middle))), abs(middle), shift))
    if not tried:
        return None
    steadiest = min(spread for spread, *_ in tried)
    if not one_way and steadiest > 0:
        steadiest *= 2
    far, _, closest = min((far, abs(shift), shift) for spread, far, shift in tried if spread <= steadiest + ALIKE_NS)
    span = int(one.end_ns[-1] - one.end_ns[0]) / max(one.end_ns.size - 1, 1)
    if far <= SAME_CLOCK * span * one.step_calls:
        return closest
    # Clocks of different machines say nothing: recordings are taken to begin together.
    return min((abs(shift), shift) for spread, _, shift in tried if spread <= steadiest + ALIKE_NS)[1]


def _reached(found: list[_Met]) -> list[_Met]:
    """Those that the first rank takes part in, and those that reach it through others."""
    inside = {0}
    while True:
        more = {rank for met in found if inside & set(met.ranks) for rank in met.ranks}
        if more <= inside:
            return [met for met in found if inside & set(met.ranks)]
        inside |= more


def _stacked(found: list[_Met], groups: dict[str, list[_Calls]]) -> Meetings:
    number, rank, row, waited, slack, sender = ([] for _ in range(6))  # type: ignore[var-annotated]
    count = 0
    for met in found:
        size, members = met.row.shape
        number.append(np.repeat(np.arange(count, count + size), members))
        rank.append(np.tile(np.array(met.ranks), size))
        sender.append(np.full(size, met.ranks[met.sender] if met.sender != NOBODY else NOBODY))
        for column, values in ((row, met.row), (waited, met.waited_ns), (slack, met.slack_ns)):
            column.append(values.ravel())
        count += size
    ids, ranks, rows = (np.concatenate(part).astype(np.int64) for part in (number, rank, row))
    room, spare, from_rank = (np.concatenate(part).astype(np.int64) for part in (waited, slack, sender))
    return Meetings(ids, ranks, rows, room, spare, from_rank, _unmet(rows[ranks == 0], groups))


def _unmet(met: Int64Array, groups: dict[str, list[_Calls]]) -> int:
    """Calls of the first rank that meet nobody; not those at the ends of its recording, where others' are missing."""
    unmet = 0
    for members in groups.values():
        for calls in (calls for calls in members if calls.rank == 0):
            place = np.flatnonzero(np.isin(calls.row, met))
            unmet += calls.row.size if not place.size else int(place[-1] - place[0] + 1 - place.size)
    return unmet
