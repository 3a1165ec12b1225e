"""The layers of one kernel sequence: main repetition, odd layers at its edges, further segments, or plain counts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trace_budget.analysis.layers.split import edge_layers, layer_starts
from trace_budget.analysis.layers.tandem import Run, best_run
from trace_budget.schema.findings import Int64Array

MAIN_PERIOD = 2  # a layer has at least this many kernels
FURTHER_PERIOD = 4  # further segments must be clearer than the main one
FURTHER_SHARE = 0.1
MODE_NAMES = 3  # kernels that must share a count before counts alone tell the layers
NOTHING = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Piece:
    """One repetition inside a sequence."""

    first: int
    period: int
    repeats: int
    layers: int


@dataclass(frozen=True, slots=True)
class Cut:
    """A sequence cut into layers: the start of each, where the last one stops, and how it was found.

    `gaps` marks places between segments that belong to no layer.
    """

    starts: Int64Array
    stop: int
    layers: int
    segments: tuple[Piece, ...]
    method: str
    confidence: str
    gaps: np.ndarray | None = None


@dataclass(frozen=True, slots=True)
class _Found:
    piece: Piece
    starts: Int64Array
    stop: int


def cut_sequence(codes: Int64Array, wanted: int | None = None) -> Cut:
    """Cut the kernel names of one lane (integer codes in order) into layers; `wanted` is the count the user knows."""
    run = best_run(codes)
    found = _main(codes, run) if run and run.period >= MAIN_PERIOD else None
    layers = found.starts.size if found else 0
    if found is None or (wanted is not None and layers != wanted):
        return _by_counts(codes, wanted) or (
            _joined(codes, [found]) if found else Cut(NOTHING, 0, 0, (), "none", "low")
        )
    further = [
        more
        for low, high in ((0, int(found.starts[0])), (found.stop, codes.size))
        if (more := _further(codes, low, high))
    ]
    return _joined(codes, sorted([found, *further], key=lambda f: int(f.starts[0])))


def _main(codes: Int64Array, run: Run, bounds: tuple[int, int] | None = None) -> _Found:
    """The layers of one run and the odd ones at its edges."""
    starts = layer_starts(codes, run)
    before, after = edge_layers(codes, starts, run.stop, bounds or (0, codes.size))
    stop = run.stop
    if after.size:
        usual = int(np.median(np.diff(np.append(starts, run.stop))))
        stop = min(int(after[-1]) + usual, codes.size)
    every = np.concatenate((before, starts, after))
    return _Found(Piece(run.first, run.period, run.repeats, int(every.size)), every, stop)


def _further(codes: Int64Array, low: int, high: int) -> _Found | None:
    """Another repetition before or after the main one: other regimes of the same step (encoder, dense layers)."""
    rest = codes[low:high]
    if rest.size < max(FURTHER_SHARE * codes.size, 2 * FURTHER_PERIOD):
        return None
    run = best_run(rest)
    if run is None or run.period < FURTHER_PERIOD or run.stop - run.first < FURTHER_SHARE * codes.size:
        return None
    moved = Run(run.first + low, run.stop + low, run.period, run.matching)
    return _main(codes, moved, (low, high))


def _joined(codes: Int64Array, parts: list[_Found]) -> Cut:
    """Segments one after the other, with the places between them marked as belonging to no layer."""
    gaps = np.ones(codes.size, dtype=bool)
    for part in parts:
        gaps[int(part.starts[0]) : part.stop] = False
    starts = np.concatenate([part.starts for part in parts])
    pieces = tuple(part.piece for part in parts)
    modal = _usual_count(codes)
    # Two independent signs agree: the repetition, and how often most kernels run.
    agrees = len(parts) == 1 and modal is not None and abs(modal[0] - starts.size) <= 1
    return Cut(starts, parts[-1].stop, int(starts.size), pieces, "period", "high" if agrees else "medium", gaps)


def _usual_count(codes: Int64Array) -> tuple[int, int] | None:
    """(count, names): the commonest number of calls among kernels that run at least three times."""
    _, counts = np.unique(codes, return_counts=True)
    values, votes = np.unique(counts[counts >= 3], return_counts=True)
    if values.size == 0:
        return None
    best = int(np.argmax(votes))
    return int(values[best]), int(votes[best])


def _by_counts(codes: Int64Array, wanted: int | None) -> Cut | None:
    """Layers from counts alone: cut at the calls of the first kernel that runs once a layer."""
    usual = _usual_count(codes)
    layers = wanted if wanted is not None else usual[0] if usual and usual[1] >= MODE_NAMES else None
    if layers is None or layers < 2:
        return None
    names, counts = np.unique(codes, return_counts=True)
    once = names[counts == layers]
    if once.size == 0:
        return None
    anchor = min(once, key=lambda name: int(np.flatnonzero(codes == name)[0]))
    starts = np.flatnonzero(codes == anchor)
    usual_length = int(np.median(np.diff(starts)))
    stop = min(int(starts[-1]) + usual_length, codes.size)
    piece = Piece(int(starts[0]), usual_length, layers, layers)
    return Cut(
        starts, stop, layers, (piece,), "counts" if wanted is None else "user", "low" if wanted is None else "medium"
    )
