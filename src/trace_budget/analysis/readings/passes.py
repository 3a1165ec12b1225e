"""Passes: where a stretch of work that was taken for one step runs one model several times."""

from __future__ import annotations

import numpy as np

from trace_budget.analysis.layers.sequence import cut_sequence
from trace_budget.schema.findings import Int64Array

SHORTEST = 6  # kernels of a pass
REGULAR = 0.1  # two passes differ by at most this share of their kernels (experts vary)
ALIKE = 0.9  # Bray-Curtis similarity of two passes of one model
MOST_TRIED = 12
AT_ENDS = 3  # kernels at each end of a stretch that show whether it begins and ends as its passes do


def passes_in(codes: Int64Array, is_kernel: np.ndarray) -> Int64Array | None:
    """Where each pass of a stretch begins (first 0), or None when it is one pass.

    A stretch is k passes when something outside of the layers (embedding, head, sampler) runs exactly k times, evenly
    spaced, and the kernels at its ends run as often. A block of unlike layers that recurs in one pass has nothing
    outside of them, and an embedding before the first or a head behind the last.
    """
    names, counts = np.unique(codes, return_counts=True)
    kernels = codes[is_kernel]
    if kernels.size < 2 * SHORTEST:
        return None
    ends = np.concatenate((kernels[:AT_ENDS], kernels[-AT_ENDS:]))
    fewest = int(counts[np.searchsorted(names, ends)].min())
    for times in np.unique(counts[(counts >= 2) & (counts <= fewest)])[::-1][:MOST_TRIED].tolist():
        if codes.size < times * SHORTEST:
            continue
        starts = _evenly(codes, names[counts == times], times)
        if starts is not None and _is_pass(codes, is_kernel, starts):
            return starts
    return None


def _evenly(codes: Int64Array, names: Int64Array, times: int) -> Int64Array | None:
    """Starts of `times` stretches of (nearly) one length that run alike; the first begins where the whole does."""
    length = codes.size / times
    first: Int64Array | None = None
    for name in names:
        places = np.flatnonzero(codes == name)
        if np.abs(np.diff(places) - length).max() > max(REGULAR * length, 1.0):
            continue
        if first is None or places[0] < first[0]:
            first = places
    if first is None:
        return None
    starts = first - first[0]
    return starts if _alike(codes, starts) else None


def _alike(codes: Int64Array, starts: Int64Array) -> bool:
    """Whether all stretches run the kernels of the first about equally often."""
    size = int(codes.max()) + 1
    edges = np.append(starts, codes.size)
    first = np.bincount(codes[edges[0] : edges[1]], minlength=size)
    for low, high in zip(edges[1:-1].tolist(), edges[2:].tolist(), strict=True):
        other = np.bincount(codes[low:high], minlength=size)
        if 2.0 * np.minimum(first, other).sum() < ALIKE * (first.sum() + other.sum()):
            return False
    return True


def _is_pass(codes: Int64Array, is_kernel: np.ndarray, starts: Int64Array) -> bool:
    """Whether one stretch is a whole model: layers, and something that runs once outside of them."""
    piece = codes[: int(starts[1])][is_kernel[: int(starts[1])]]
    return has_ends(piece)


def has_ends(codes: Int64Array) -> bool:
    """Whether a sequence holds layers and kernels that run once, outside of them: an embedding, a head, a sampler."""
    cut = cut_sequence(codes)
    if cut.layers < 2:
        return False
    names, counts = np.unique(codes, return_counts=True)
    return bool(np.isin(codes[cut.layer < 0], names[counts == 1]).any())
