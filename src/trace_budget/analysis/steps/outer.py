"""The outer structure of a kernel sequence: whether what repeats is steps, or only the layers of longer passes."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import polars as pl

from trace_budget.analysis.layers.tandem import best_run
from trace_budget.schema.findings import Int64Array

AT_ENDS = 3  # kernels at each end of the trace among which one that runs once closes a single pass
EVEN = 0.02  # distances of what runs once a pass differ by at most this share
COVERS = 0.6  # share of the sequence that the passes must hold
ALIKE = 0.9  # Bray-Curtis similarity of two passes
MOST_NAMES = 8
MOST_COUNTS = 16
IN_LAYERS = 0.4  # share of a pass that repeats inside
APART = 2.0  # steps idle this many times longer before them than before their other kernels


def coarser(codes: Int64Array, period: int, units: int) -> tuple[int, int] | None:
    """(name, distance) of kernels that run once in several of the `units` of `period` kernels: those are passes."""
    names, counts = np.unique(codes, return_counts=True)
    rare = np.unique(counts[(counts >= 2) & (2 * counts <= units)])[::-1][:MOST_COUNTS]
    for count in rare.tolist():
        for name in names[counts == count][:MOST_NAMES].tolist():
            places = np.flatnonzero(codes == name)
            distance = _even_distance(codes, places)
            if distance is not None and distance >= 2 * period:
                return name, distance
    return None


def two_passes(codes: Int64Array) -> tuple[int, int] | None:
    """(name, distance) of a kernel that runs twice, once in each half of a trace that holds two equal passes."""
    names, counts = np.unique(codes, return_counts=True)
    for name in names[counts == 2][:MOST_NAMES].tolist():
        places = np.flatnonzero(codes == name)
        distance = _even_distance(codes, places)
        if distance is None:
            continue
        inside = best_run(codes[places[0] : places[1]])
        if inside is not None and inside.stop - inside.first >= IN_LAYERS * distance:
            return name, distance
    return None


def _even_distance(codes: Int64Array, places: Int64Array) -> int | None:
    """The distance of calls of one kernel, if it is always the same, covers the trace, and what lies between is too."""
    gaps = np.diff(places)
    usual = int(np.median(gaps))
    if np.abs(gaps - usual).max() > max(EVEN * usual, 1.0) or usual * places.size < COVERS * codes.size:
        return None
    size = int(codes.max()) + 1
    # calls may stand anywhere in the pass: a stretch between two calls is one pass, turned
    stretches = [(int(low), int(high)) for low, high in pairwise(places)]
    before, after = places[0] - usual, places[-1] + usual
    if len(stretches) == 1:
        # what is left before the first call and after the second makes up the other pass
        rest = np.concatenate((codes[max(before, 0) : places[0]], codes[places[-1] : after]))
        return usual if _similar(codes[places[0] : places[-1]], rest, size) else None
    first = codes[stretches[0][0] : stretches[0][1]]
    return usual if all(_similar(first, codes[low:high], size) for low, high in stretches[1:]) else None


def _similar(one: Int64Array, other: Int64Array, size: int) -> bool:
    left, right = np.bincount(one, minlength=size), np.bincount(other, minlength=size)
    return bool(2.0 * np.minimum(left, right).sum() >= ALIKE * (left.sum() + right.sum()))


def closed_once(codes: Int64Array) -> tuple[bool, bool]:
    """Whether a kernel that runs once in the whole trace stands at its begin, and at its end."""
    names, counts = np.unique(codes, return_counts=True)
    once = names[counts == 1]
    return bool(np.isin(codes[:AT_ENDS], once).any()), bool(np.isin(codes[-AT_ENDS:], once).any())


def stands_apart(idle_ns: Int64Array, first: Int64Array, period: int) -> bool:
    """Whether the device idles longer before units than anywhere inside them: steps of a host, not layers."""
    inner = first[:, None] + np.arange(1, period)[None, :]
    inside = np.where(inner < idle_ns.size, idle_ns[np.minimum(inner, idle_ns.size - 1)], 0)
    usual = np.median(inside, axis=0).max() if period > 1 else 0.0
    begun = first[1:][first[1:] < idle_ns.size]  # what closes its step at the very end begins no further one
    border = float(np.median(idle_ns[begun])) if begun.size else 0.0
    return border > APART * float(usual) and border > 0


def nearest(trace_starts: pl.Series, trace_ends: pl.Series, rows: Int64Array, others: Int64Array) -> Int64Array:
    """For each of `others` (copies, fills) the place in `rows` (kernels, in time order) it stands closest to."""
    start, end = trace_starts.to_numpy(), trace_ends.to_numpy()
    after = np.searchsorted(start[rows], start[others], side="left")
    before = np.maximum(after - 1, 0)
    following = np.minimum(after, rows.size - 1)
    lead = start[others] - end[rows[before]]
    lag = start[rows[following]] - end[others]
    place: Int64Array = np.where((after == 0) | ((after < rows.size) & (lag < lead)), following, before)
    return place
