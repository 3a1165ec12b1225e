"""Tandem repeats of a kernel-name sequence: where the same stretch of kernels runs again and again.

Near-linear: candidate periods come from the distances between successive calls of one name, each is checked by one
vectorised comparison of the sequence with itself shifted.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trace_budget.schema.findings import Int64Array

CANDIDATES = 24  # distances tried as periods
SHIFTS = 2  # multiples of a distance tried too: a super-period of two layer types is two distances long
MIN_REPEATS = 3
MIN_TWICE = 4  # kernels of a stretch that comes only twice
TWICE_SHARE = 0.6  # and the share of the sequence that both make
MIN_SHARE = 0.05  # a run shorter than this share of the sequence is chance
SLACK = 1.0  # mismatches up to this many periods do not end a run: one odd layer among equal ones


@dataclass(frozen=True, slots=True)
class Run:
    """codes[first:stop] repeats with `period`; `matching` positions equal the one a period before."""

    first: int
    stop: int
    period: int
    matching: int

    @property
    def repeats(self) -> int:
        """How many periods the run holds, rounded."""
        return max(round((self.stop - self.first) / self.period), 1)


def best_run(codes: Int64Array) -> Run | None:
    """The run that explains most of the sequence; of those that explain nearly as much, the one of shortest period."""
    candidates = (_longest_run(codes, period) for period in _candidate_periods(codes, MIN_REPEATS))
    runs = [run for run in candidates if run and not _constant(codes, run)]
    if not runs:
        return None
    most = max(run.matching for run in runs)
    good = [run for run in runs if run.matching + run.period >= 0.97 * most]
    best = min(good, key=lambda run: (run.period, -run.matching))
    if best.repeats < MIN_REPEATS or best.stop - best.first < MIN_SHARE * codes.size:
        return None
    return best


def twice(codes: Int64Array) -> Run | None:
    """The longest stretch that comes exactly twice in a row, when it is most of the sequence."""
    for period in sorted(_candidate_periods(codes, 2), reverse=True):
        run = _longest_run(codes, period) if period >= MIN_TWICE else None
        if run and run.matching == period and run.stop - run.first == 2 * period and not _constant(codes, run):
            return run if 2 * period >= TWICE_SHARE * codes.size else None
    return None


def _constant(codes: Int64Array, run: Run) -> bool:
    """Whether the stretch is one kernel over and over: a loop of copies, not layers."""
    return bool(np.all(codes[run.first : run.stop] == codes[run.first]))


def _candidate_periods(codes: Int64Array, repeats: int) -> list[int]:
    """The commonest distances between successive calls of one name, and their small multiples."""
    order = np.argsort(codes, kind="stable")
    same = codes[order][1:] == codes[order][:-1]
    distances = np.diff(order)[same]
    if distances.size == 0:
        return []
    values, counts = np.unique(distances, return_counts=True)
    # A distance d seen c times accounts for c * d positions; long periods have few but heavy distances.
    top = values[np.argsort(-(counts * values), kind="stable")][:CANDIDATES]
    wide = {int(v) * k for v in top for k in range(1, SHIFTS + 1)}
    return sorted(v for v in wide if 1 <= v <= codes.size // repeats)


def _longest_run(codes: Int64Array, period: int) -> Run | None:
    """The stretch with most positions equal to the one `period` before, bridging mismatches up to a period long."""
    equal = codes[period:] == codes[:-period]
    places = np.flatnonzero(equal)
    if places.size < period:
        return None
    breaks = np.flatnonzero(np.diff(places) > SLACK * period + 1)
    starts = np.concatenate(([0], breaks + 1))
    stops = np.concatenate((breaks, [places.size - 1]))
    longest = int(np.argmax(stops - starts))
    first, last = int(places[starts[longest]]), int(places[stops[longest]])
    matching = int(stops[longest] - starts[longest] + 1)
    # A stretch where most positions differ is not a repetition, only a name that recurs.
    if matching < 0.5 * (last - first + 1):
        return None
    return Run(first, last + period + 1, period, matching)
