"""What many replays of one graph say together: a pair out of order in any of them is no dependency."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trace_budget.projection.replay.pairs import Pairs
from trace_budget.projection.replay.stretch import Timeline
from trace_budget.schema.findings import Int64Array


@dataclass(frozen=True, slots=True)
class _Times:
    """Starts and ends of every node over all replays of one graph: (nodes, replays); they refute and measure pairs."""

    start: Int64Array
    end: Int64Array
    touch_ns: int

    def lags_of_one(self, after: Int64Array, before: Int64Array) -> Int64Array:
        """The smallest lag of nodes with one candidate each; negative where that is no dependency."""
        least: Int64Array = (self.start[after] - self.end[before]).min(axis=1)
        return least

    def lags(self, after: int, candidates: list[int]) -> dict[int, int]:
        """The fewest candidates that explain the start of a node in every replay, each with its smallest lag.

        A pair out of order in any replay is no dependency. Of the rest those that touch in most replays are taken,
        the steadiest first, until every replay has one that touches.
        """
        gaps = {before: self.start[after] - self.end[before] for before in candidates}
        open_pairs = {before: gap for before, gap in gaps.items() if gap.min() >= 0}
        chosen: dict[int, int] = {}
        uncovered = np.ones(self.start.shape[1], dtype=bool)
        while open_pairs and uncovered.any():
            touching = {b: uncovered & (gap <= gap.min() + self.touch_ns) for b, gap in open_pairs.items()}
            best = max(open_pairs, key=lambda b: (int(touching[b].sum()), -float(open_pairs[b].std())))
            if not touching[best].any():
                break
            chosen[best] = int(open_pairs.pop(best).min())
            uncovered &= ~touching[best]
        return chosen


def same_graphs(line: Timeline) -> list[Int64Array]:
    """Replays of one graph as (replays, nodes): ops in the order of their identity; graphs replayed more than once."""
    inside = np.flatnonzero(line.replay >= 0)
    ordered = inside[np.lexsort((line.node[inside], line.replay[inside]))]
    cuts = np.flatnonzero(np.diff(line.replay[ordered])) + 1
    graphs: dict[bytes, list[Int64Array]] = {}
    for ops in np.split(ordered, cuts) if ordered.size else ():
        graphs.setdefault(line.node[ops].tobytes(), []).append(ops)
    return [np.stack(members) for members in graphs.values() if len(members) > 1]


def seen_in_all_replays(line: Timeline, members: Int64Array, causes: Pairs) -> Pairs:
    """Carry dependencies seen in one replay to all replays of the same graph, and drop refuted ones."""
    replays, nodes = members.shape
    column = np.full(line.size, -1, dtype=np.int64)
    column[members.ravel()] = np.tile(np.arange(nodes), replays)
    inside = (column[causes.after] >= 0) & (column[causes.before] >= 0)
    inside &= line.replay[causes.after] == line.replay[causes.before]
    places = np.unique(column[causes.after[inside]] * nodes + column[causes.before[inside]])
    table = _Times(line.start_ns[members].T.copy(), line.end_ns[members].T.copy(), line.touch_ns)
    chosen = _chosen(table, places // nodes, places % nodes)
    return causes.where(~inside).and_also(_in_every_replay(line, members, chosen))


def _chosen(table: _Times, after: Int64Array, before: Int64Array) -> Int64Array:
    """Rows of (node, node before, lag): what holds each node back in every replay; `after` is sorted."""
    only = np.bincount(after, minlength=int(after.max(initial=0)) + 1)[after] == 1
    lag = table.lags_of_one(after[only], before[only]) if only.any() else np.zeros(0, dtype=np.int64)
    alone = np.column_stack((after[only], before[only], lag))[lag >= 0]
    nearby: dict[int, list[int]] = {}
    for node, candidate in zip(after[~only].tolist(), before[~only].tolist(), strict=True):
        nearby.setdefault(node, []).append(candidate)
    several = [
        (node, candidate, lag)
        for node, candidates in nearby.items()
        for candidate, lag in table.lags(node, candidates).items()
    ]
    return np.concatenate((alone, np.array(several, dtype=np.int64).reshape(-1, 3)))


def _in_every_replay(line: Timeline, members: Int64Array, chosen: Int64Array) -> Pairs:
    after, before, lag = chosen.T
    later, earlier = members[:, after].ravel(), members[:, before].ravel()
    slack = line.start_ns[later] - line.end_ns[earlier] - np.tile(lag, members.shape[0])
    return Pairs(later, earlier, np.maximum(slack, 0))
