"""Several ranks of one job together: a collective ends on all of them when the last one has arrived."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from trace_budget.errors import UsageError
from trace_budget.projection.replay.dependencies import Edges
from trace_budget.projection.replay.native import Columns
from trace_budget.projection.replay.prepared import Vanishing
from trace_budget.projection.replay.propagation import OP, Shifts, Sweep, timed_events
from trace_budget.projection.replay.stretch import Timeline
from trace_budget.schema.findings import Int64Array
from trace_budget.schema.trace import Caveat, Trace


@dataclass(frozen=True, slots=True)
class Meetings:
    """Collectives of a job: `ops` (meetings x ranks) rows of each rank's timeline, `waited_ns` alike.

    `offset_ns`: what to add to a rank's times so that collectives end together: host clocks need not agree.
    """

    ops: Int64Array
    waited_ns: Int64Array
    offset_ns: Int64Array


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


def meetings(traces: Sequence[Trace], lines: Sequence[Timeline]) -> Meetings | None:
    """Match the k-th call of each collective over all ranks; None when the ranks do not run the same ones.

    The pure transfer time of a collective is its shortest duration over the ranks: the last to arrive does not wait.
    """
    keys = [_keys(trace, line) for trace, line in zip(traces, lines, strict=True)]
    if not keys[0] or any(list(other) != list(keys[0]) for other in keys[1:]):
        return None
    ops = np.array([[rank[key] for rank in keys] for key in keys[0]], dtype=np.int64)
    length = np.stack([line.end_ns[ops[:, r]] - line.start_ns[ops[:, r]] for r, line in enumerate(lines)], axis=1)
    ends = np.stack([line.end_ns[ops[:, r]] for r, line in enumerate(lines)], axis=1)
    offset = np.median(ends[:, :1] - ends, axis=0).astype(np.int64)
    return Meetings(ops, length - length.min(axis=1, keepdims=True), offset)


def _keys(trace: Trace, line: Timeline) -> dict[tuple[int, str, int], int]:
    """(step, name, turn) -> row for the collectives of a timeline, in time order."""
    rows = np.flatnonzero(line.waited_ns >= 0)
    if line.next_start is not None:
        rows = rows[rows != line.next_start]
    names = trace.gpu_ops["name"].gather(line.op_id[rows]).cast(pl.String)
    frame = pl.DataFrame({"step": line.step[rows] - line.step[0], "name": names})
    turn = frame.select(pl.int_range(pl.len()).over("step", "name").alias("turn"))["turn"]
    return dict(zip(zip(frame["step"], frame["name"], turn, strict=True), rows.tolist(), strict=True))


def propagate_together(parts: Sequence[tuple[Timeline, Edges, Columns, Vanishing]], met: Meetings) -> list[Shifts]:
    """Shifts of every rank in one pass over all of them; `parts` in the order of the columns of `met`."""
    sweeps = [Sweep(*part) for part in parts]
    waiting: dict[int, list[Columns | None]] = {}
    place = [{int(op): meeting for meeting, op in enumerate(met.ops[:, rank])} for rank in range(len(parts))]
    queue = sorted(
        (time + int(met.offset_ns[rank]), rank, order, kind, index)
        for rank, (line, *_) in enumerate(parts)
        for order, (time, kind, index) in enumerate(sorted(zip(*(v.tolist() for v in timed_events(line)), strict=True)))
    )
    for _, rank, _, kind, index in queue:
        meeting = place[rank].get(index) if kind == OP else None
        if meeting is None:
            sweeps[rank].step(kind, index)
            continue
        arrived = waiting.setdefault(meeting, [None] * len(parts))
        arrived[rank] = sweeps[rank].begin(index)
        if all(shifts is not None for shifts in arrived):
            _leave(sweeps, met, meeting, [shifts for shifts in arrived if shifts is not None])
    return [sweep.shifts() for sweep in sweeps]


def _leave(sweeps: list[Sweep], met: Meetings, meeting: int, arrived: list[Columns]) -> None:
    """All ranks are there: the collective moves as much as the rank that lets it move least."""
    moved = tuple(
        np.min([arrived[r][k] + float(met.waited_ns[meeting, r]) for r in range(len(sweeps))], axis=0) for k in range(3)
    )
    for rank, sweep in enumerate(sweeps):
        sweep.finish(int(met.ops[meeting, rank]), (moved[0], moved[1], moved[2]))
