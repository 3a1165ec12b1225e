"""The saving curve of a kernel: what each us saved per call does to the step, its exact knees, and slack per op."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from trace_budget.projection.claimed_saving import FloatArray
from trace_budget.projection.match import Match
from trace_budget.projection.replay.dependencies import Edges
from trace_budget.projection.replay.schedule import Claim, Interval, Schedule, interval
from trace_budget.projection.replay.stretch import Timeline

KNEE_ROUNDS = 24
SAME_NS = 1e-3  # two values of the curve this close (in ns per step) lie on one line


@dataclass(frozen=True, slots=True)
class SavingCurve:
    """Saving per call against saving per step, all in ns; `knees` are points of the expected curve where it bends."""

    saving_ns: FloatArray
    naive: FloatArray
    moved: Interval
    knees: tuple[tuple[float, float], ...]


def sweep(base: Schedule, found: Match, effective_ns: FloatArray, savings_ns: FloatArray) -> SavingCurve:
    """The curve at the given savings per call; no call saves more than it delays others (`effective_ns` per call)."""
    claims = [(_claim(found, effective_ns, float(value)),) for value in savings_ns]
    moved = interval(base, claims)
    naive = np.array([float(claim.expected.sum()) for (claim,) in claims]) / found.steps
    top = float(savings_ns.max(initial=0.0))
    return SavingCurve(savings_ns, naive, moved, knees(base, found, effective_ns, top) if top > 0 else ())


def _claim(found: Match, effective_ns: FloatArray, saving_ns: float) -> Claim:
    values = np.minimum(effective_ns, saving_ns)
    return Claim(found.ops["op_id"].to_numpy(), values, values, values)


def knees(base: Schedule, found: Match, effective_ns: FloatArray, top_ns: float) -> tuple[tuple[float, float], ...]:
    """Where the expected curve bends between 0 and `top_ns`: another path takes over, or calls have nothing left.

    The curve is piecewise linear and concave, so the lines through its known pieces meet at or above each knee: a
    meeting point on the curve is a knee, one above it shows a further piece (Eisner and Severance 1976).
    """

    def at(points: FloatArray) -> FloatArray:
        values: FloatArray = interval(base, [(_claim(found, effective_ns, float(p)),) for p in points]).expected
        return values

    step = top_ns * 1e-6
    pieces = _lines(at, np.array([0.0, top_ns]), top_ns, step)
    for _ in range(KNEE_ROUNDS):
        fresh = {_meet(left, right) for left, right in pairwise(pieces) if left.rises != right.rises}
        points = np.array(sorted(x for x in fresh if step < x < top_ns - step))
        if points.size == 0:
            return ()
        values = at(points)
        above = [x for x, y in zip(points, values, strict=True) if _height(pieces, x) - y > max(SAME_NS, 1e-9 * abs(y))]
        if not above:
            return tuple((float(x), float(y)) for x, y in zip(points, values, strict=True))
        pieces = sorted({*pieces, *_lines(at, np.array(above), top_ns, step)}, key=lambda line: (line.at, -line.rises))
    return tuple((float(x), float(y)) for x, y in zip(points, values, strict=True))


@dataclass(frozen=True, slots=True)
class _Line:
    """The tangent of the curve at one point."""

    at: float
    value: float
    rises: float


def _lines(at: Callable[[FloatArray], FloatArray], points: FloatArray, top_ns: float, step: float) -> list[_Line]:
    """Tangents to the right of each point (to the left of the last)."""
    aside = np.where(points + step <= top_ns, points + step, points - step)
    values = at(np.concatenate((points, aside)))
    here, there = values[: points.size], values[points.size :]
    slopes = np.round((there - here) / (aside - points), 6)
    return [_Line(float(x), float(y), float(g)) for x, y, g in zip(points, here, slopes, strict=True)]


def _meet(left: _Line, right: _Line) -> float:
    """Where two tangents cross."""
    if left.rises == right.rises:
        return right.at
    return (right.value - left.value + left.rises * left.at - right.rises * right.at) / (left.rises - right.rises)


def _height(pieces: list[_Line], x: float) -> float:
    """The lowest tangent at x: nothing on the curve lies above it."""
    return min(line.value + line.rises * (x - line.at) for line in pieces)


def slack_ns(line: Timeline, edges: Edges) -> FloatArray:
    """Total float of each op: how much longer it could take before the end of the stretch moves, by expected causes.

    The reverse of the replay: an op may be late by the least of what its followers can bear plus the slack between.
    """
    late: FloatArray = (line.end_ns.max() - line.end_ns).astype(np.float64)
    causes = edges.causes.lists(line.size)
    for op in range(line.size - 1, -1, -1):
        for before, slack in causes[op]:
            late[before] = min(late[before], late[op] + slack)
    return late
