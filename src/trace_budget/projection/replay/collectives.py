"""Several ranks of one job together: a collective ends on all of them when the last one has arrived."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from trace_budget.errors import UsageError
from trace_budget.projection.replay.dependencies import Edges
from trace_budget.projection.replay.meetings import NOBODY, Meetings
from trace_budget.projection.replay.native import Columns
from trace_budget.projection.replay.prepared import Vanishing
from trace_budget.projection.replay.propagation import OP, Shifts, Sweep, timed_events
from trace_budget.projection.replay.stretch import Timeline
from trace_budget.schema.trace import Caveat, Trace


def distinct_ranks(traces: Sequence[Trace]) -> None:
    """Refuse a rank that is given twice, by its file or by its number, with UsageError.

    One recording has one rank of each number, and waits of a rank for itself would narrow the interval.
    """
    for index, trace in enumerate(traces):
        for other in traces[:index]:
            known = trace.rank is not None and other.rank is not None
            same_file = Path(trace.path).resolve() == Path(other.path).resolve()
            if trace.rank == other.rank if known else same_file:
                found = f"rank {trace.rank}, as {other.path}" if known else "the same file twice"
                raise UsageError("a rank is given twice", where=trace.path, expected="another rank", found=found)


def unused_ranks(met: Meetings | None, others: int) -> tuple[Caveat, ...]:
    """The caveat `rank_unused`, where traces of other ranks were given and no collective could be matched."""
    if met is not None or others == 0:
        return ()
    text = (
        f"{others} trace(s) of other ranks change nothing: their collectives cannot be matched with those of this"
        " rank, so it is projected alone"
    )
    return (Caveat("rank_unused", text, others, "warning"),)


def propagate_together(parts: Sequence[tuple[Timeline, Edges, Columns, Vanishing]], met: Meetings) -> list[Shifts]:
    """Shifts of every rank in one pass over all of them; `parts` in the order of the ranks of `met`.

    Each rank goes on until something it needs has not come from another: times of different ranks are not compared.
    """
    runs = [_Run(rank, part, met) for rank, part in enumerate(parts)]
    table = _Table(met, runs)
    while any(not run.done for run in runs):
        if not sum(run.advance(table) for run in runs):
            # What is awaited lies outside of the recordings.
            next(run for run in runs if not run.done).go_on_alone(table)
    return [run.sweep.shifts() for run in runs]


class _Run:
    """One rank's events, and the calls it has entered that others have not let end."""

    def __init__(self, rank: int, part: tuple[Timeline, Edges, Columns, Vanishing], met: Meetings) -> None:
        line = part[0]
        self.rank, self.line, self.sweep = rank, line, Sweep(*part)
        mine = met.rank == rank
        self.meeting = dict(zip(met.row[mine].tolist(), met.number[mine].tolist(), strict=True))
        times, kinds, index = timed_events(line)
        order = np.lexsort((index, kinds, times))
        self.events = list(zip(times[order].tolist(), kinds[order].tolist(), index[order].tolist(), strict=True))
        self.at = 0
        self.entered: dict[int, Columns] = {}

    @property
    def done(self) -> bool:
        return self.at == len(self.events) and not self.entered

    def advance(self, table: _Table) -> bool:
        """Take events up to the end of a call that others hold; whether there were any."""
        before, waiting = self.at, len(self.entered)
        self._leave(table)
        while self.at < len(self.events):
            time, kind, index = self.events[self.at]
            if self.entered and time >= min(int(self.line.end_ns[row]) for row in self.entered):
                self._leave(table)
                if self.entered and time >= min(int(self.line.end_ns[row]) for row in self.entered):
                    break
            self.at += 1
            if kind == OP and index in self.meeting:
                self.entered[index] = self.sweep.begin(index)
                table.enter(self.rank, index, self.meeting[index], self.entered[index])
                self._leave(table)
            else:
                self.sweep.step(kind, index)
        return self.at > before or len(self.entered) != waiting

    def _leave(self, table: _Table) -> None:
        for row in list(self.entered):
            moved = table.moved(self.rank, row, self.meeting[row])
            if moved is not None:
                self._end(row, moved, table)

    def _end(self, row: int, moved: Columns, table: _Table) -> None:
        del self.entered[row]
        self.sweep.finish(row, moved)
        table.left(self.rank, row, self.meeting[row], self.sweep)

    def go_on_alone(self, table: _Table) -> None:
        """End the first call that is held as if its others were not known."""
        if not self.entered:
            self.at = len(self.events)
            return
        row = min(self.entered, key=lambda each: int(self.line.end_ns[each]))
        low, expected, high = self.entered[row]
        self._end(row, (np.minimum(low, 0.0), expected, high), table)


class _Table:
    """Who has come to each meeting, how much earlier, and when its sender was done."""

    def __init__(self, met: Meetings, runs: Sequence[_Run]) -> None:
        self.sender = met.sender.tolist()
        self.missing = np.bincount(met.number).tolist()
        self.came: dict[int, dict[int, Columns]] = {}
        self.sent: dict[int, Columns] = {}
        keys = zip(met.rank.tolist(), met.row.tolist(), strict=True)
        values = zip(met.waited_ns.tolist(), met.slack_ns.tolist(), strict=True)
        self.room = dict(zip(keys, values, strict=True))

    def enter(self, rank: int, row: int, meeting: int, shifts: Columns) -> None:
        """A rank is there, and could have come as much later as it waited."""
        waited = float(self.room[rank, row][0])
        self.came.setdefault(meeting, {})[rank] = (shifts[0] + waited, shifts[1] + waited, shifts[2] + waited)
        self.missing[meeting] -= 1

    def moved(self, rank: int, row: int, meeting: int) -> Columns | None:
        """How much earlier the call of a rank ends; None while it cannot."""
        sender = self.sender[meeting]
        if sender == NOBODY:
            return _least(list(self.came[meeting].values())) if not self.missing[meeting] else None
        mine = self.came[meeting][rank]
        if sender == rank:
            return mine
        if meeting not in self.sent:
            return None
        slack, sent = float(self.room[rank, row][1]), self.sent[meeting]
        return _least([mine, (sent[0] + slack, sent[1] + slack, sent[2] + slack)])

    def left(self, rank: int, row: int, meeting: int, sweep: Sweep) -> None:
        """The sender's end lets the receiver go on."""
        if self.sender[meeting] == rank:
            low, expected, high = (state.end[row].copy() for state in (sweep.low, sweep.expected, sweep.high))
            self.sent[meeting] = (low, expected, high)


def _least(shifts: Sequence[Columns]) -> Columns:
    low, expected, high = (np.min([each[bound] for each in shifts], axis=0) for bound in range(3))
    return low, expected, high
