"""Tandem repeats of a kernel-name sequence: where the same stretch of kernels runs again and again.

Near-linear: candidate periods come from the distances between successive calls of one name, each is checked by one
vectorised comparison of the sequence with itself shifted.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from trace_budget.schema.findings import Int64Array

Flags = npt.NDArray[np.bool_]
CANDIDATES = 24  # distances tried as periods
SHIFTS = 2  # multiples of a distance tried too: a super-period of two layer types is two distances long
MIN_REPEATS = 3
AS_MUCH = 0.97
AS_EXACT = 0.03
MIN_FINER = 4  # kernels of a layer in a stretch of its own
MIN_TWICE = 4  # kernels of a stretch that comes only twice
TWICE_SHARE = 0.6  # and the share of the sequence that both make
MIN_SHARE = 0.05  # a run shorter than this share of the sequence is chance
SLACK = 2.0  # mismatches up to this many periods do not end a run: one odd layer among equal ones
ALIKE = 0.5  # share of the kernels around a break that must be those of the repetition


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

    @property
    def exactness(self) -> float:
        """Share of the positions after the first period that equal the one a period before."""
        return self.matching / max(self.stop - self.first - self.period, 1)


def best_run(codes: Int64Array) -> Run | None:
    """The run that explains most of a sequence; of those that explain as much, as exactly, that of shortest period."""
    loop = _loop_lengths(codes)
    candidates = (_longest_run(codes, period, loop) for period in candidate_periods(codes, MIN_REPEATS))
    runs = [run for run in candidates if run]
    if not runs:
        return None
    most = max(run.matching for run in runs)
    good = [run for run in runs if run.matching + run.period >= AS_MUCH * most]
    exact = max(run.exactness for run in good)
    best = min((run for run in good if run.exactness >= exact - AS_EXACT), key=lambda run: (run.period, -run.matching))
    if best.repeats < MIN_REPEATS or best.stop - best.first < MIN_SHARE * codes.size:
        return None
    return best


def finer_runs(codes: Int64Array, run: Run) -> list[Run]:
    """The run, or where stretches of it repeat with a shorter period for two of its periods and more, these stretches.

    Two stacks of layers that share kernels (an encoder and a decoder) repeat together with a multiple of both periods.
    """
    found: list[Run] = []
    rest = (run.first, run.stop)
    for period in (p for p in range(MIN_FINER, run.period // 2 + 1) if run.period % p == 0):
        part = codes[rest[0] : rest[1]]
        equal = np.concatenate(([False], part[period:] == part[:-period], [False]))
        edges = np.flatnonzero(equal[1:] != equal[:-1])
        if edges.size == 0:
            continue
        longest = int(np.argmax(edges[1::2] - edges[::2]))
        first, stop = int(edges[2 * longest]), int(edges[2 * longest + 1]) + period
        if stop - first < max(2 * run.period, MIN_REPEATS * period):
            continue
        at_begin, at_end = first < period, part.size - stop < period
        if not at_begin and not at_end:
            return [run]
        # A stretch may share the first kernels of the layer behind it, or the last of the one before.
        over = 0 if at_begin and at_end else (stop - first) % period
        low, high = rest[0] + first + (0 if at_begin else over), rest[0] + stop - (over if at_begin else 0)
        found.append(Run(low, high, period, high - low - period))
        rest = (rest[1], rest[1]) if at_begin and at_end else (high, rest[1]) if at_begin else (rest[0], low)
    if not found:
        return [run]
    if rest[1] - rest[0] >= 2 * run.period:
        found.append(Run(*rest, run.period, rest[1] - rest[0] - run.period))
    return sorted(found, key=lambda one: one.first)


def twice(codes: Int64Array) -> Run | None:
    """The longest stretch that comes exactly twice in a row, when it is most of the sequence."""
    loop = _loop_lengths(codes)
    for period in sorted(candidate_periods(codes, 2), reverse=True):
        run = _longest_run(codes, period, loop) if period >= MIN_TWICE else None
        if run and run.matching == period and run.stop - run.first == 2 * period:
            return run if 2 * period >= TWICE_SHARE * codes.size else None
    return None


def _loop_lengths(codes: Int64Array) -> Int64Array:
    """For each place, how many times in a row its kernel has just run."""
    change = np.concatenate(([True], codes[1:] != codes[:-1])) if codes.size else np.zeros(0, bool)
    place = np.arange(codes.size)
    lengths: Int64Array = place - np.maximum.accumulate(np.where(change, place, 0)) + 1
    return lengths


def candidate_periods(codes: Int64Array, repeats: int) -> list[int]:
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


def _longest_run(codes: Int64Array, period: int, loop: Int64Array) -> Run | None:
    """The stretch with most positions equal to the one `period` before, bridging what odd layers break.

    One kernel over and over (a loop of copies) equals itself at any distance and says nothing.
    """
    equal = (codes[period:] == codes[:-period]) & (loop[period:] <= period)
    places = np.flatnonzero(equal)
    if places.size < period:
        return None
    breaks = np.flatnonzero(np.diff(places) > 1)
    starts, stops = places[np.concatenate(([0], breaks + 1))], places[np.concatenate((breaks, [places.size - 1]))] + 1
    low, high = _bridged(codes, period, starts, stops)
    first, last = int(starts[low]), int(stops[high])
    matching = int(np.searchsorted(places, last) - np.searchsorted(places, first))
    # A stretch where most positions differ is not a repetition, only a name that recurs.
    if matching < max(0.5 * (last - first), period):
        return None
    return Run(first, last + period, period, matching)


def _bridged(codes: Int64Array, period: int, starts: Int64Array, stops: Int64Array) -> tuple[int, int]:
    """The stretches, first and last, that make one run with the longest: near each other and of the same kernels."""
    low = high = int(np.argmax(stops - starts))
    if starts.size == 1:
        return low, high
    repeated = np.zeros(int(codes.max()) + 1, dtype=np.bool_)
    repeated[codes[starts[low] : starts[low] + period]] = True
    while high + 1 < starts.size and _same_run(codes, period, repeated, int(stops[high]), int(starts[high + 1])):
        high += 1
    while low > 0 and _same_run(codes, period, repeated, int(stops[low - 1]), int(starts[low])):
        low -= 1
    return low, high


def _same_run(codes: Int64Array, period: int, repeated: Flags, stop: int, start: int) -> bool:
    """Whether the kernels on both sides of a break are mostly those of the repetition, and the break is short."""
    if start - stop > SLACK * period:
        return False
    sides = (codes[max(stop - 1, 0) : stop + period - 1], codes[start : start + period])
    return all(repeated[np.unique(side)].mean() >= ALIKE for side in sides)
