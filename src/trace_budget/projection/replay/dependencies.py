"""The expected dependencies of each op, with the slack each had: what a calibrated replay moves along.

Slack is measured so that every op keeps at least one cause with slack 0: without a change the replay is the trace.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trace_budget.projection.replay.pairs import NO_PAIRS, Pairs, least_slack
from trace_budget.projection.replay.replays import same_graphs, seen_in_all_replays
from trace_budget.projection.replay.stretch import Timeline
from trace_budget.schema.findings import Int64Array

HOST_TIGHT_NS = 1_000
JOIN_WINDOW = 256  # ops searched for the join of a branch
UNSEEN_HOST_GAP_NS = 20_000  # without launches in the trace, a longer gap is taken for the host's


@dataclass(frozen=True, slots=True)
class Edges:
    """`causes` of the ops with their slack, and per op the slack behind its own launch (`host_slack_ns`; -1: unknown).

    `anchored` ops have neither: they start when they did, whatever happens before.
    """

    causes: Pairs
    host_slack_ns: Int64Array
    anchored: np.ndarray


def expected_edges(line: Timeline) -> Edges:
    """Infer the causes of every op: known ones (FIFO, recorded waits), else those whose end touches its start.

    In replays a pair that is out of order in any replay is no dependency, and one that touches in some replay is one in
    all. An op that nothing follows closely is taken to be joined by the next op that may depend on it.
    """
    host_slack = np.where(line.launch >= 0, np.maximum(line.start_ns - line.release_ns - line.latency_ns[1], 0), -1)
    causes = _seen(line, host_slack)
    for members in same_graphs(line):
        causes = seen_in_all_replays(line, members, causes)
    causes = causes.and_also(_joins(line, causes)).by_op()
    return _calibrated(line, causes, host_slack)


def _seen(line: Timeline, host_slack: Int64Array) -> Pairs:
    """Causes of each op from what is known, else from ends that touch its start."""
    known = _known(line)
    explained = line.edges_known.copy()
    explained[known.after[known.slack_ns == 0]] = True
    tight = (host_slack >= 0) & (host_slack <= HOST_TIGHT_NS)
    explained |= tight & (line.replay < 0)
    near = _near(line, ~explained)
    ended = np.zeros(line.size, dtype=np.int64)
    np.maximum.at(ended, near.after, line.end_ns[near.before])
    # The launch alone explains the start; what ended well before it did not hold it back.
    alone = tight & (line.start_ns - ended > line.touch_ns)
    ended = np.where(alone, line.start_ns - line.gap_ns, ended)
    near = Pairs(near.after, near.before, ended[near.after] - line.end_ns[near.before])
    return known.and_also(near.without(known))


def _known(line: Timeline) -> Pairs:
    """What eager ops are known to follow: the op before on their stream, and what they wait for."""
    follows = np.flatnonzero((line.fifo >= 0) & (line.replay < 0))
    waiting = [op for op in np.flatnonzero(line.replay < 0) if line.waits_on[op]] if any(line.waits_on) else []
    waits = [(op, before) for op in waiting for before in line.waits_on[op]]
    pairs = np.concatenate((np.column_stack((follows, line.fifo[follows])), np.array(waits, np.int64).reshape(-1, 2)))
    gap = line.start_ns[pairs[:, 0]] - line.end_ns[pairs[:, 1]]
    return Pairs(pairs[:, 0], pairs[:, 1], np.where(gap <= line.touch_ns, 0, gap - line.gap_ns))


def _near(line: Timeline, wanted: np.ndarray) -> Pairs:
    """For the wanted ops those whose ends touch their start; else what ended last: the best guess there is."""
    order = np.argsort(line.end_ns, kind="stable")
    ends, start = line.end_ns[order], line.start_ns[wanted]
    latest = np.searchsorted(ends, start, side="right")
    earliest = np.searchsorted(ends, start - line.touch_ns, side="left")
    first = np.minimum(earliest, np.maximum(latest - 1, 0))
    count = latest - first
    after = np.repeat(np.flatnonzero(wanted), count)
    place = np.arange(after.size) - np.repeat(np.cumsum(count) - count, count) + np.repeat(first, count)
    before = order[place]
    # Of ops that start together, one of no length may have ended and yet come second.
    earlier = (before < after) | (line.start_ns[before] < line.start_ns[after])
    return Pairs(after[earlier], before[earlier], np.zeros(int(earlier.sum()), dtype=np.int64))


def _joins(line: Timeline, causes: Pairs) -> Pairs:
    """A successor for ops that cause nothing: the last op before the next fork of their replay or of another stream.

    Branches of a layer are joined before the next layer forks; any earlier join would only say more than is known.
    A branch that its replay never joins holds back what follows the replay.
    """
    followed = np.zeros(line.size, dtype=bool)
    followed[causes.before] = True
    beside = _runs_beside(line)
    loose = np.flatnonzero(~followed & beside)
    if loose.size == 0:
        return NO_PAIRS
    forks = np.append(np.flatnonzero(beside), line.size)
    first = np.searchsorted(line.start_ns, line.end_ns[loose], side="left")
    next_fork = forks[np.searchsorted(forks, first, side="left")]
    last = np.minimum(np.minimum(next_fork, first + JOIN_WINDOW), line.size)
    replay_ends = _ends_of_replays(line)
    joined: list[tuple[int, int]] = []
    for op, begin, end in zip(loose.tolist(), first.tolist(), last.tolist(), strict=True):
        fits = np.flatnonzero(_may_join(line, op, slice(begin, end)))
        join = begin + int(fits[-1]) if fits.size else _behind_replay(line, op, replay_ends)
        if join is not None:
            joined.append((join, op))
    pairs = np.array(joined, dtype=np.int64).reshape(-1, 2)
    gap = line.start_ns[pairs[:, 0]] - line.end_ns[pairs[:, 1]]
    return Pairs(pairs[:, 0], pairs[:, 1], np.maximum(gap - line.gap_ns, 0))


def _may_join(line: Timeline, op: int, later: slice) -> np.ndarray:
    """Which of these ops may wait for a branch that ends with `op`."""
    inside = line.replay[op] >= 0
    joins: np.ndarray = line.replay[later] == line.replay[op] if inside else line.lane[later] != line.lane[op]
    joins &= ~line.edges_known[later]
    return joins


def _ends_of_replays(line: Timeline) -> tuple[Int64Array, tuple[Int64Array, ...]]:
    """When each replay has ended, and the streams its ops show."""
    inside = np.flatnonzero(line.replay >= 0)
    count = int(line.replay.max(initial=-1)) + 1
    ended = np.zeros(count, dtype=np.int64)
    np.maximum.at(ended, line.replay[inside], line.end_ns[inside])
    ordered = inside[np.argsort(line.replay[inside], kind="stable")]
    cuts = np.searchsorted(line.replay[ordered], np.arange(1, count))
    return ended, tuple(np.unique(line.lane[part]) for part in np.split(ordered, cuts)) if count else ()


def _behind_replay(line: Timeline, op: int, replays: tuple[Int64Array, tuple[Int64Array, ...]]) -> int | None:
    """The first op on the streams of a replay that starts after all of it has ended."""
    replay = int(line.replay[op])
    if replay < 0:
        return None
    first = int(np.searchsorted(line.start_ns, replays[0][replay], side="left"))
    window = np.arange(first, min(first + JOIN_WINDOW, line.size))
    after = window[np.isin(line.lane[window], replays[1][replay]) & (line.replay[window] != replay)]
    return int(after[0]) if after.size else None


def _runs_beside(line: Timeline) -> np.ndarray:
    """Ops that share some time with another one: only those can be joined later than by their neighbour."""
    reach = np.maximum.accumulate(line.end_ns)
    shared = np.zeros(line.size, dtype=bool)
    shared[1:] = line.start_ns[1:] < reach[:-1]
    shared[:-1] |= line.start_ns[1:] < line.end_ns[:-1]
    # The long op under which short ones run shares time with all of them.
    covering = np.searchsorted(line.start_ns, line.end_ns, side="left") - 1 > np.arange(line.size)
    return shared | covering


def _calibrated(line: Timeline, causes: Pairs, host_slack: Int64Array) -> Edges:
    """Take the least slack of each op off all of its causes, so that one of them holds it back: its calibrated lag.

    Without launches in the trace an op after a long gap is anchored: the host may have been the cause.
    """
    launched = line.launch >= 0
    least = np.minimum(least_slack(causes, line.size), np.where(launched, host_slack, np.iinfo(np.int64).max))
    anchored = ~launched & (_gap_before(line) > UNSEEN_HOST_GAP_NS)
    adjusted = Pairs(causes.after, causes.before, causes.slack_ns - least[causes.after])
    return Edges(adjusted, np.where(launched, host_slack - least, -1), anchored)


def _gap_before(line: Timeline) -> Int64Array:
    """Idle time of the device before each op."""
    reach = np.concatenate(([0], np.maximum.accumulate(line.end_ns)[:-1]))
    gap: Int64Array = np.maximum(line.start_ns - reach, 0)
    return gap
