"""The layers of one kernel sequence: main repetition, odd layers at its edges, further segments, or plain counts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trace_budget.analysis.layers.edges import with_edges
from trace_budget.analysis.layers.norms import opened_by_norms
from trace_budget.analysis.layers.split import layer_starts
from trace_budget.analysis.layers.tandem import Run, best_run, twice
from trace_budget.schema.findings import Int32Array, Int64Array

FURTHER_PERIOD = 4  # further segments must be clearer than the main one
FURTHER_SHARE = 0.1
MODE_NAMES = 3  # kernels that must share a count before counts alone tell the layers
NO_NORMS = np.zeros(0, dtype=np.int64)
TAKES_TURNS = 0.8  # and the share of layers in which each of them must run once: equal counts alone are chance


@dataclass(frozen=True, slots=True)
class Piece:
    """One repetition inside a sequence: `period` kernels, `repeats` times, hold `layers` layers."""

    first: int
    period: int
    repeats: int
    layers: int


@dataclass(frozen=True, slots=True)
class Cut:
    """A sequence cut into layers: the layer of each kernel (-1 for none), their number, and how it was found."""

    layer: Int32Array
    layers: int
    segments: tuple[Piece, ...]
    method: str
    confidence: str


@dataclass(frozen=True, slots=True)
class _Found:
    piece: Piece
    starts: Int64Array
    stop: int


def cut_sequence(codes: Int64Array, wanted: int | None = None, norms: Int64Array = NO_NORMS) -> Cut:
    """Cut the kernel names of one lane (integer codes in order) into layers.

    `wanted` is the count the user knows, `norms` the codes of kernels that open a layer where they stand.
    """
    run = best_run(codes)
    found = _main(codes, run, (0, codes.size), norms) if run else None
    if found is None:
        return _by_counts(codes, wanted) or _twice(codes, wanted, norms) or uncut(codes.size)
    further = (_further(codes, 0, int(found.starts[0]), norms), _further(codes, found.stop, codes.size, norms))
    parts = sorted((part for part in (found, *further) if part), key=lambda part: int(part.starts[0]))
    whole = _joined(codes, parts)
    if wanted is None or whole.layers == wanted:
        return whole
    main = _joined(codes, [found])
    return main if main.layers == wanted else _by_counts(codes, wanted) or whole


def uncut(size: int) -> Cut:
    """A sequence without layers."""
    return Cut(np.full(size, -1, dtype=np.int32), 0, (), "none", "low")


def _main(codes: Int64Array, run: Run, bounds: tuple[int, int], norms: Int64Array) -> _Found | None:
    """The layers of one run and the odd ones at its edges; None when it holds but one."""
    starts, stop = with_edges(codes, layer_starts(codes, run), run, bounds)
    starts, stop = opened_by_norms(codes, starts, stop, norms, bounds[0])
    piece = Piece(run.first, run.period, run.repeats, int(starts.size))
    return _Found(piece, starts, stop) if starts.size > 1 else None


def _further(codes: Int64Array, low: int, high: int, norms: Int64Array) -> _Found | None:
    """Another repetition before or after the main one: other regimes of the same step (encoder, dense layers)."""
    rest = codes[low:high]
    if rest.size < max(FURTHER_SHARE * codes.size, 2 * FURTHER_PERIOD):
        return None
    run = best_run(rest)
    if run is None or run.period < FURTHER_PERIOD or run.stop - run.first < FURTHER_SHARE * codes.size:
        return None
    moved = Run(run.first + low, run.stop + low, run.period, run.matching)
    return _main(codes, moved, (low, high), norms)


def _twice(codes: Int64Array, wanted: int | None, norms: Int64Array) -> Cut | None:
    """Two equal halves of a step: weak evidence of layers, but all that a model of two layers can show."""
    run = twice(codes) if wanted in (None, 2) else None
    if run is None:
        return None
    found = _main(codes, run, (0, codes.size), norms)
    return _cut(codes.size, [found], "period", "low") if found else None


def _joined(codes: Int64Array, parts: list[_Found]) -> Cut:
    """Segments one after the other; places between them belong to no layer."""
    count = sum(part.starts.size for part in parts)
    modal = _usual_count(codes)
    # Two independent signs agree: the repetition, and how often most kernels run.
    agrees = len(parts) == 1 and modal is not None and abs(modal[0] - count) <= 1
    return _cut(codes.size, parts, "period", "high" if agrees else "medium")


def _cut(size: int, parts: list[_Found], method: str, confidence: str) -> Cut:
    layer = np.full(size, -1, dtype=np.int32)
    done = 0
    for part in parts:
        place = np.arange(int(part.starts[0]), part.stop)
        layer[place] = done + np.searchsorted(part.starts, place, side="right") - 1
        done += part.starts.size
    return Cut(layer, done, tuple(part.piece for part in parts), method, confidence)


def _usual_count(codes: Int64Array) -> tuple[int, int] | None:
    """(count, names): the commonest number of calls among kernels that run at least three times."""
    _, counts = np.unique(codes, return_counts=True)
    values, votes = np.unique(counts[counts >= 3], return_counts=True)
    if values.size == 0:
        return None
    best = int(np.argmax(votes))
    return int(values[best]), int(votes[best])


def _once_a_piece(codes: Int64Array, starts: Int64Array, names: Int64Array) -> float:
    """Share of the pieces between starts in which each of the names runs exactly once: 1 for layers in any order."""
    piece = np.searchsorted(starts, np.arange(codes.size), side="right") - 1
    inside = np.isin(codes, names) & (piece >= 0)
    table = np.zeros((names.size, starts.size), dtype=np.int64)
    np.add.at(table, (np.searchsorted(names, codes[inside]), piece[inside]), 1)
    return float((table == 1).mean())


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
    if wanted is None and _once_a_piece(codes, starts, once) < TAKES_TURNS:
        return None
    length = int(np.median(np.diff(starts)))
    piece = Piece(int(starts[0]), length, layers, layers)
    found = _Found(piece, starts, min(int(starts[-1]) + length, codes.size))
    method, confidence = ("counts", "low") if wanted is None else ("user", "medium")
    return _cut(codes.size, [found], method, confidence)
