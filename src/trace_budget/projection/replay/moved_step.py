"""A step as measured and as projected, op by op: where each moves to, and what holds it back before and after."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from trace_budget.analysis.floor import dispatch_floor
from trace_budget.projection.claimed_saving import FloatArray
from trace_budget.projection.replay.dependencies import Edges, expected_edges
from trace_budget.projection.replay.prepared import Vanishing
from trace_budget.projection.replay.propagation import Shifts, propagate
from trace_budget.projection.replay.schedule import Claim
from trace_budget.projection.replay.stretch import Timeline, stretch
from trace_budget.schema.findings import Findings, Int64Array

LAUNCH = -1  # held back by its own launch, as far as the trace shows
NOTHING = -2
TIGHT_NS = 0.5  # a cause this close to the earliest start is what held the op back
EXPECTED = 1
LAUNCH_GRAIN_NS = 200  # an op this close to the shortest launch latency was held back by nothing else


@dataclass(frozen=True, slots=True)
class MovedStep:
    """Ops of a stretch of steps, by start; times in ns from its first op.

    `start_ns`, `end_ns`: as recorded; `new_start_ns`, `new_end_ns`: as expected after the change (`gone` ops are not
    there any more). `saved_ns` (low, expected, high x ops): how much earlier each op ends. `held_by`, `new_held_by`:
    the row of the op whose end let each one start; LAUNCH, or NOTHING for the first. `hit`: ops the candidate takes.
    """

    line: Timeline
    start_ns: Int64Array
    end_ns: Int64Array
    new_start_ns: Int64Array
    new_end_ns: Int64Array
    saved_ns: FloatArray
    held_by: Int64Array
    new_held_by: Int64Array
    hit: npt.NDArray[np.bool_]
    gone: npt.NDArray[np.bool_]

    def path(self, projected: bool) -> list[int]:
        """The critical path: from the last op to end back along what held each op, in order of time."""
        held, ends = (self.new_held_by, self.new_end_ns) if projected else (self.held_by, self.end_ns)
        last = np.where(self.gone, -1, ends) if projected else ends
        rows: list[int] = []
        row = int(np.argmax(last)) if ends.size else NOTHING
        while row >= 0:
            if not (projected and self.gone[row]):
                rows.append(row)
            row = int(held[row])
        return rows[::-1]


def moved_step(found: Findings, claims: tuple[Claim, ...], first: int, last: int) -> MovedStep:
    """Steps first … last (step indexes, both included) with and without the claims of the candidates."""
    trace = found.trace
    line = stretch(trace, found.steps, first, last, dispatch_floor(trace), closing=False)
    edges = expected_edges(line)
    columns, vanishing, hit = _claimed(line, claims, trace.gpu_ops.height)
    shifts = propagate(line, edges, *columns, vanishing)
    # Shifts are relative to the first start; what was recorded is drawn as it was recorded.
    start, end = (trace.gpu_ops[name].gather(line.op_id).to_numpy() for name in ("start_ns", "end_ns"))
    origin = int(start.min()) if start.size else 0
    start, end = start - origin, end - origin
    moved_end = np.rint(end - shifts.end[EXPECTED][:, 0]).astype(np.int64)
    moved_start = np.minimum(np.rint(start - shifts.start[EXPECTED][:, 0]).astype(np.int64), moved_end)
    # The first op stays, and no other overtakes it: one that ran beside it and would start earlier starts with it.
    too_early = np.maximum(-moved_start, 0)
    gone = np.isin(np.arange(line.size), list(vanishing))
    return MovedStep(
        line, start, end, moved_start + too_early, moved_end + too_early, _saved(shifts, end, too_early),
        _held(line, edges, None), _held(line, edges, shifts), hit, gone,
    )  # fmt: skip


def _saved(shifts: Shifts, end_ns: Int64Array, too_early: Int64Array) -> FloatArray:
    """How much earlier each op ends: low, expected, high, in this order op by op as they are step by step."""
    low, expected, high = (values[:, 0] for values in shifts.end)
    expected, high = expected - too_early, np.minimum(high, end_ns)
    return np.stack((np.minimum(low, expected), expected, np.maximum(high, expected)))


def _claimed(
    line: Timeline, claims: tuple[Claim, ...], size: int
) -> tuple[tuple[FloatArray, FloatArray, FloatArray], Vanishing, npt.NDArray[np.bool_]]:
    """The claims as one column per bound, the rows that vanish, and the rows touched."""
    place = np.full(size, -1, dtype=np.int64)
    place[line.op_id] = np.arange(line.size)
    low, expected, high = (np.zeros((line.size, 1)) for _ in range(3))
    vanishing: Vanishing = {}
    hit = np.zeros(line.size, dtype=bool)
    for claim in claims:
        here = place[claim.op_id] >= 0
        rows = place[claim.op_id][here]
        hit[rows] = True
        for column, values in ((low, claim.low), (expected, claim.expected), (high, claim.high)):
            column[rows, 0] += values[here]
        pairs = zip(place[claim.vanishing].tolist(), place[claim.behind].tolist(), strict=True)
        vanishing.update({op: [(0, before)] for op, before in pairs if op >= 0 and before >= 0})
    hit[list(vanishing)] = True
    return (low, expected, high), vanishing, hit


def _held(line: Timeline, edges: Edges, shifts: Shifts | None) -> Int64Array:
    """What held each op back: of the causes without room to spare the last to end, or the launch if it came later."""
    out = np.full(line.size, NOTHING, dtype=np.int64)
    start, ended, host_slack = line.start_ns.tolist(), line.end_ns.tolist(), edges.host_slack_ns.tolist()
    moved_end = shifts.end[EXPECTED][:, 0].tolist() if shifts else [0.0] * line.size
    moved_start = shifts.start[EXPECTED][:, 0].tolist() if shifts else [0.0] * line.size
    ready = (line.release_ns + line.latency_ns[0]).tolist()
    launched, anchored = (line.launch >= 0).tolist(), edges.anchored.tolist()
    for op, causes in enumerate(edges.causes.lists(line.size)):
        if anchored[op]:
            continue
        room = moved_start[op] + TIGHT_NS
        # Ops in order of time: an op of no length and one that starts with it cannot hold back each other.
        tight = [p for p, slack in causes if p < op and moved_end[p] + slack <= room]
        late = start[op] - ready[op]
        by_launch = launched[op] and (not tight or min(host_slack[op], late) <= room)
        last = max(tight, key=lambda p: ended[p], default=LAUNCH)
        lag = start[op] - ended[last] - line.gap_ns if tight else start[op]
        if by_launch and late <= max(lag, LAUNCH_GRAIN_NS):
            out[op] = LAUNCH
        elif tight:
            out[op] = last
    return out
