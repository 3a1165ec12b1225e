"""The expected dependencies of each op, with the slack each had: what a calibrated replay moves along.

Slack is measured so that every op keeps at least one cause with slack 0: without a change the replay is the trace.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trace_budget.projection.replay.stretch import Timeline
from trace_budget.schema.findings import Int64Array

HOST_TIGHT_NS = 1_000
JOIN_WINDOW = 256  # ops searched for the join of a branch
UNSEEN_HOST_GAP_NS = 20_000  # without launches in the trace, a longer gap is taken for the host's


@dataclass(frozen=True, slots=True)
class Edges:
    """Per op: `causes` as (op, slack_ns) pairs, and the slack behind its own launch (`host_slack_ns`; -1: unknown).

    `anchored` ops have neither: they start when they did, whatever happens before.
    """

    causes: tuple[tuple[tuple[int, int], ...], ...]
    host_slack_ns: Int64Array
    anchored: np.ndarray


@dataclass(frozen=True, slots=True)
class _Replays:
    """Starts and ends of every node over all replays of one graph: (replays, nodes); they refute and measure pairs."""

    start: Int64Array
    end: Int64Array
    touch_ns: int

    def lags(self, after: int, candidates: list[int]) -> dict[int, int]:
        """The fewest candidates that explain the start of a node in every replay, each with its smallest lag.

        A pair out of order in any replay is no dependency. Of the rest those that touch in most replays are taken,
        the steadiest first, until every replay has one that touches.
        """
        gaps = {before: self.start[:, after] - self.end[:, before] for before in candidates}
        open_pairs = {before: gap for before, gap in gaps.items() if gap.min() >= 0}
        chosen: dict[int, int] = {}
        uncovered = np.ones(self.start.shape[0], dtype=bool)
        while open_pairs and uncovered.any():
            touching = {b: uncovered & (gap <= gap.min() + self.touch_ns) for b, gap in open_pairs.items()}
            best = max(open_pairs, key=lambda b: (int(touching[b].sum()), -float(open_pairs[b].std())))
            if not touching[best].any():
                break
            chosen[best] = int(open_pairs.pop(best).min())
            uncovered &= ~touching[best]
        return chosen


def expected_edges(line: Timeline) -> Edges:
    """Infer the causes of every op: known ones (FIFO, recorded waits), else those whose end touches its start.

    In replays a pair that is out of order in any replay is no dependency, and one that touches in some replay is one in
    all. An op that nothing follows closely is taken to be joined by the next op that may depend on it.
    """
    order = np.argsort(line.end_ns, kind="stable")
    ends = line.end_ns[order]
    latest = np.searchsorted(ends, line.start_ns, side="right")
    earliest = np.searchsorted(ends, line.start_ns - line.touch_ns, side="left")
    host_slack = np.where(line.launch >= 0, np.maximum(line.start_ns - line.release_ns - line.latency_ns[1], 0), -1)
    causes: list[list[tuple[int, int]]] = []
    for op in range(line.size):
        # Nothing near: what ended last is still the best guess, with the slack it had.
        near = [int(p) for p in order[min(earliest[op], max(latest[op] - 1, 0)) : latest[op]] if _before(line, p, op)]
        causes.append(_causes(line, op, near, int(host_slack[op])))
    _repeat_over_replays(line, causes)
    _join_loose_ends(line, causes)
    return _calibrated(line, causes, host_slack)


def _before(line: Timeline, p: int, op: int) -> bool:
    """Whether p comes first; of ops that start together, one of no length may have ended and yet come second."""
    return bool(p < op or line.start_ns[p] < line.start_ns[op])


def _causes(line: Timeline, op: int, near: list[int], host_slack: int) -> list[tuple[int, int]]:
    """Causes of one op from what is known and from ends that touch its start."""
    known = [line.fifo[op], *line.waits_on[op]] if line.replay[op] < 0 else []
    start = int(line.start_ns[op])
    out = [(int(p), _slack(line, start - int(line.end_ns[p]))) for p in known if p >= 0]
    if line.edges_known[op] or any(slack == 0 for _, slack in out):
        return out
    if line.replay[op] < 0 and 0 <= host_slack <= HOST_TIGHT_NS:
        return out
    known_ops = {p for p, _ in out}
    last = max((int(line.end_ns[p]) for p in near), default=0)
    if 0 <= host_slack <= HOST_TIGHT_NS and start - last > line.touch_ns:
        # The launch alone explains the start; what ended well before it did not hold it back.
        last = start - line.gap_ns
    return out + [(p, last - int(line.end_ns[p])) for p in near if p not in known_ops]


def _slack(line: Timeline, gap: int) -> int:
    """Slack behind a gap: none while the gap is one of back-to-back ops."""
    return 0 if gap <= line.touch_ns else gap - line.gap_ns


def _repeat_over_replays(line: Timeline, causes: list[list[tuple[int, int]]]) -> None:
    """Carry dependencies seen in one replay to all replays of the same graph, and drop refuted ones."""
    for members in _same_graphs(line):
        grid = np.stack(members)
        table = _Replays(line.start_ns[grid], line.end_ns[grid], line.touch_ns)
        column = {int(op): place for row in members for place, op in enumerate(row)}
        nearby: dict[int, set[int]] = {}
        for op, place in column.items():
            inside = (p for p, _ in causes[op] if p in column and line.replay[p] == line.replay[op])
            nearby.setdefault(place, set()).update(column[p] for p in inside)
        inner = {after: table.lags(after, sorted(candidates)) for after, candidates in nearby.items()}
        for row in members:
            for place, op in enumerate(row):
                outside = [
                    (p, slack) for p, slack in causes[op] if p not in column or line.replay[p] != line.replay[op]
                ]
                inside_pairs = [
                    (int(row[before]), max(int(line.start_ns[op] - line.end_ns[row[before]]) - lag, 0))
                    for before, lag in inner.get(place, {}).items()
                ]
                causes[op] = outside + inside_pairs


def _same_graphs(line: Timeline) -> list[list[Int64Array]]:
    """Replays of one graph, each as its ops in the order of their identity; only graphs replayed more than once."""
    graphs: dict[bytes, list[Int64Array]] = {}
    for index in range(int(line.replay.max()) + 1 if line.size else 0):
        ops = np.flatnonzero(line.replay == index)
        ordered = ops[np.argsort(line.node[ops], kind="stable")]
        graphs.setdefault(line.node[ordered].tobytes(), []).append(ordered)
    return [members for members in graphs.values() if len(members) > 1]


def _join_loose_ends(line: Timeline, causes: list[list[tuple[int, int]]]) -> None:
    """Give ops that cause nothing a successor: the last op before the next fork of their replay or of another stream.

    Branches of a layer are joined before the next layer forks; any earlier join would only say more than is known.
    A branch that its replay never joins holds back what follows the replay.
    """
    followed = np.zeros(line.size, dtype=bool)
    for pairs in causes:
        followed[[p for p, _ in pairs]] = True
    beside = _runs_beside(line)
    forks = np.append(np.flatnonzero(beside), line.size)
    for op in np.flatnonzero(~followed & beside).tolist():
        first = int(np.searchsorted(line.start_ns, line.end_ns[op], side="left"))
        next_fork = int(forks[np.searchsorted(forks, first, side="left")])
        window = range(min(next_fork, first + JOIN_WINDOW, line.size) - 1, first - 1, -1)
        join = next((later for later in window if _may_join(line, op, later)), None)
        join = _behind_replay(line, op) if join is None and line.replay[op] >= 0 else join
        if join is not None:
            causes[join].append((op, max(int(line.start_ns[join] - line.end_ns[op]) - line.gap_ns, 0)))


def _may_join(line: Timeline, op: int, later: int) -> bool:
    if line.edges_known[later]:
        return False
    return bool(line.replay[later] == line.replay[op] if line.replay[op] >= 0 else line.lane[later] != line.lane[op])


def _behind_replay(line: Timeline, op: int) -> int | None:
    """The first op on the streams of a replay that starts after all of it has ended."""
    nodes = np.flatnonzero(line.replay == line.replay[op])
    first = int(np.searchsorted(line.start_ns, line.end_ns[nodes].max(), side="left"))
    window = np.arange(first, min(first + JOIN_WINDOW, line.size))
    after = window[np.isin(line.lane[window], line.lane[nodes]) & (line.replay[window] != line.replay[op])]
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


def _calibrated(line: Timeline, causes: list[list[tuple[int, int]]], host_slack: Int64Array) -> Edges:
    """Take the least slack of each op off all of its causes, so that one of them holds it back: its calibrated lag.

    Without launches in the trace an op after a long gap is anchored: the host may have been the cause.
    """
    unlimited = np.iinfo(np.int64).max
    on_device = np.array([min((slack for _, slack in pairs), default=unlimited) for pairs in causes])
    launched = line.launch >= 0
    least = np.minimum(on_device, np.where(launched, host_slack, unlimited))
    anchored = ~launched & (_gap_before(line) > UNSEEN_HOST_GAP_NS)
    adjusted = tuple(
        tuple((p, slack - int(lag)) for p, slack in pairs) for pairs, lag in zip(causes, least, strict=True)
    )
    return Edges(adjusted, np.where(launched, host_slack - least, -1), anchored)


def _gap_before(line: Timeline) -> Int64Array:
    """Idle time of the device before each op."""
    reach = np.concatenate(([0], np.maximum.accumulate(line.end_ns)[:-1]))
    gap: Int64Array = np.maximum(line.start_ns - reach, 0)
    return gap
