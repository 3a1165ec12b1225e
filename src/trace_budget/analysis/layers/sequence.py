"""The layers of one kernel sequence: main repetition, odd layers at its edges, further segments, or plain counts."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from trace_budget.analysis.layers.boundaries import with_edges
from trace_budget.analysis.layers.doubts import lacks_mixing, possible_counts
from trace_budget.analysis.layers.mixing import taking_turns
from trace_budget.analysis.layers.names import OPAQUE, Names
from trace_budget.analysis.layers.norms import opened_by_norms
from trace_budget.analysis.layers.passes import equal_passes
from trace_budget.analysis.layers.split import layer_starts
from trace_budget.analysis.layers.tandem import Run, best_run, finer_runs, twice
from trace_budget.schema.findings import Int32Array, Int64Array

FURTHER_PERIOD = 4  # further segments must be clearer than the main one
FURTHER_SHARE = 0.1
MODE_NAMES = 3  # kernels that must share a count before counts alone show the layers
TAKES_TURNS = 0.8  # and the share of layers in which each of them must run once: equal counts alone are chance
FEW = 4  # heads are this many times fewer than layers, at least
MOSTLY = 0.5  # share of a repetition between two heads
CLEARER = 1.03  # how much more of a sequence names that are alike must explain than the names themselves


@dataclass(frozen=True, slots=True)
class Piece:
    """One repetition inside a sequence: `period` kernels, `repeats` times, hold `layers` layers."""

    first: int
    period: int
    repeats: int
    layers: int


@dataclass(frozen=True, slots=True)
class Layering:
    """A sequence cut into layers: the layer of each kernel (-1 for none), their number, and how it was found.

    `possible`: the numbers of layers it may have, where that is in doubt (`layers` is 0 then). `passes`: how often the
    model runs. `shown`: the layers that the sequence shows, where the user's number was taken instead. `coarse`: names
    that differ in number formats and shapes were taken for one.
    """

    layer: Int32Array
    layers: int
    segments: tuple[Piece, ...]
    method: str
    confidence: str
    possible: tuple[int, ...] = ()
    passes: int = 1
    shown: int | None = None
    coarse: bool = False


@dataclass(frozen=True, slots=True)
class _Found:
    piece: Piece
    starts: Int64Array
    stop: int


def cut_sequence(codes: Int64Array, wanted: int | None = None, names: Names = OPAQUE) -> Layering:
    """Cut the kernel names of one lane (integer codes in order) into layers.

    `wanted` is the count the user knows, `names` what the names say.
    """
    parts = equal_passes(codes, names)
    if parts is None:
        return _cut_pass(codes, wanted, names)
    one = _cut_pass(codes[parts[0] : parts[1]], wanted, names)
    ends = np.append(parts[1:], codes.size)
    layer = np.full(codes.size, -1, dtype=np.int32)
    for low, high in zip(parts.tolist(), ends.tolist(), strict=True):
        layer[low : min(low + one.layer.size, high)] = one.layer[: high - low]
    return replace(one, layer=layer, passes=parts.size)


def _cut_pass(codes: Int64Array, wanted: int | None, names: Names) -> Layering:
    """The layers of one pass: as the sequence shows them, unless the user knows another number."""
    like = names.alike(codes)
    shown = _shown(codes, names)
    if names.like.size and (like != codes).any():
        alike = _shown(like, names)
        shown = _clearer(codes, shown, like, replace(alike, coarse=True))
    if wanted is None or shown.layers == wanted:
        return shown
    main = _main_alone(like if shown.coarse else codes, names) if len(shown.segments) > 1 else None
    if main is not None and main.layers == wanted:
        return replace(main, coarse=shown.coarse)
    stated = _by_counts(codes, wanted) or (_twice(codes, wanted, names) if wanted == 2 else None) or shown
    contradicts = bool(shown.layers) or (bool(shown.possible) and wanted not in shown.possible)
    return replace(stated, shown=(shown.layers or shown.possible[0]) if contradicts else None)


def _clearer(codes: Int64Array, exact: Layering, like: Int64Array, coarse: Layering) -> Layering:
    """The cut by names as they are, unless names that are alike explain clearly more, or something at all."""
    if coarse.layers == exact.layers or not coarse.layers:
        return exact
    if not exact.layers and not exact.possible:
        return coarse
    one, other = best_run(codes), best_run(like)
    if other is None:
        return exact
    return coarse if one is None or other.matching > CLEARER * one.matching else exact


def _shown(codes: Int64Array, names: Names) -> Layering:
    """The layers as the sequence shows them."""
    run = best_run(codes)
    parts = _segments(codes, run, names) if run else []
    if not parts:
        return _by_counts(codes, None) or _twice(codes, None, names) or uncut(codes.size)
    whole = _joined(codes, parts)
    spans = [(part.starts, part.stop) for part in parts]
    possible = possible_counts(codes, spans, names) or _with_strays(codes, whole, run, names)
    return replace(uncut(codes.size), possible=possible, segments=whole.segments) if possible else whole


def _with_strays(codes: Int64Array, cut: Layering, run: Run | None, names: Names) -> tuple[int, ...]:
    """The numbers of layers, where kernels that mix tokens in layers also run beside them; () where none does."""
    low, high = _between_heads(codes, run, names)[1] if run else (0, codes.size)
    mixers = names.are("mixers", codes)
    inside = mixers & (cut.layer >= 0)
    stray = np.flatnonzero(mixers[low:high] & (cut.layer[low:high] < 0)) + low
    stray = stray[np.isin(codes[stray], codes[inside])]
    if stray.size == 0:
        return ()
    _, counts = np.unique(codes[stray], return_counts=True)
    return cut.layers, cut.layers + int(counts.max())


def _segments(codes: Int64Array, run: Run, names: Names) -> list[_Found]:
    """The main repetition, in stretches where it is several, and what repeats before and behind it, in order."""
    run, room = _between_heads(codes, run, names)
    runs = finer_runs(codes, run)
    edges = [room[0], *(each.first for each in runs[1:]), room[1]]
    main = [_main(codes, each, (edges[i], edges[i + 1]), names) for i, each in enumerate(runs)]
    found = [part for part in main if part]
    if not found:
        return []
    further = (
        _further(codes, room[0], int(found[0].starts[0]), names),
        _further(codes, found[-1].stop, room[1], names),
    )
    parts = sorted((part for part in (*found, *further) if part), key=lambda part: int(part.starts[0]))
    return _as_turns_tell(codes, parts, room, names)


def _as_turns_tell(codes: Int64Array, parts: list[_Found], room: tuple[int, int], names: Names) -> list[_Found]:
    """The parts, unless mixing and MLP take turns between embedding and head and make another number of layers."""
    turns = taking_turns(codes[room[0] : room[1]], names)
    if turns is None:
        return parts
    bare = any(lacks_mixing(codes, (part.starts, part.stop), names) for part in parts)
    if turns.size == sum(part.starts.size for part in parts) and not bare:
        return parts
    starts = turns + room[0]
    longest = max(parts, key=lambda part: part.starts.size).piece
    rest = codes[int(starts[-1]) : room[1]]
    marked = np.flatnonzero(names.are("activations", rest))
    norms = np.flatnonzero(names.are("norms", rest))
    stop = next((at for at in norms.tolist() if at > marked[-1]), rest.size)
    return [_Found(replace(longest, layers=starts.size), starts, int(starts[-1]) + stop)]


def _between_heads(codes: Int64Array, run: Run, names: Names) -> tuple[Run, tuple[int, int]]:
    """The run without what lies beyond a head, and the room between heads: behind one another pass begins.

    A layer of token prediction behind the head is like the others; a draft model repeats layers of its own.
    """
    heads = np.unique(codes[names.are("heads", codes)])
    mixing = np.unique(codes[names.are("mixers", codes)], return_counts=True)[1]
    repeats = max(run.repeats, int(mixing.max()) if mixing.size else 0)
    seldom = [name for name in heads if np.count_nonzero(codes == name) * FEW <= repeats]
    places = np.flatnonzero(np.isin(codes, seldom))
    edges = np.concatenate(([-1], places, [codes.size]))
    covered = np.minimum(edges[1:], run.stop) - np.maximum(edges[:-1] + 1, run.first)
    best = int(np.argmax(covered))
    low, high = int(edges[best]) + 1, int(edges[best + 1])
    first, stop = max(run.first, low), min(run.stop, high)
    if stop - first < MOSTLY * (run.stop - run.first):
        return run, (0, codes.size)
    return Run(first, stop, run.period, max(run.matching - (run.stop - run.first) + stop - first, 1)), (low, high)


def _main_alone(codes: Int64Array, names: Names) -> Layering | None:
    """The layers of the main repetition alone: of a model with several stacks the user may mean one."""
    run = best_run(codes)
    found = _main(codes, run, (0, codes.size), names) if run else None
    return _joined(codes, [found]) if found else None


def uncut(size: int) -> Layering:
    """A sequence without layers."""
    return Layering(np.full(size, -1, dtype=np.int32), 0, (), "none", "low")


def _main(codes: Int64Array, run: Run, bounds: tuple[int, int], names: Names) -> _Found | None:
    """The layers of one run and the odd ones at its edges; None when it holds but one."""
    plain, end = layer_starts(codes, run, names), min(run.stop, bounds[1])
    starts, stop = with_edges(codes, plain, run, bounds, names)
    starts, stop = opened_by_norms(codes, starts, stop, names, bounds[0])
    # An edge drawn through a layer whose only norm is inside leaves a piece that mixes nothing.
    if lacks_mixing(codes, (starts, stop), names) and not lacks_mixing(codes, (plain, end), names):
        starts, stop = plain, end
    piece = Piece(run.first, run.period, run.repeats, int(starts.size))
    return _Found(piece, starts, stop) if starts.size > 1 else None


def _further(codes: Int64Array, low: int, high: int, names: Names) -> _Found | None:
    """Another repetition before or after the main one: other regimes of the same step (encoder, dense layers)."""
    rest = codes[low:high]
    share = FURTHER_SHARE * codes.size if not names.are("mixers", rest).any() else 0
    if rest.size < max(share, 2 * FURTHER_PERIOD):
        return None
    run = best_run(rest)
    if run is None or run.period < FURTHER_PERIOD or run.stop - run.first < share:
        return None
    if not share and not names.are("mixers", rest[run.first : run.stop]).any():
        return None
    moved = Run(run.first + low, run.stop + low, run.period, run.matching)
    return _main(codes, moved, (low, high), names)


def _twice(codes: Int64Array, wanted: int | None, names: Names) -> Layering | None:
    """Two equal halves of a step: weak evidence of layers, but all that a model of two layers can show."""
    run = twice(codes) if wanted in (None, 2) else None
    if run is None:
        return None
    found = _main(codes, run, (0, codes.size), names)
    return _cut(codes.size, [found], "period", "low") if found else None


def _joined(codes: Int64Array, parts: list[_Found]) -> Layering:
    """Segments one after the other; places between them belong to no layer."""
    count = sum(part.starts.size for part in parts)
    modal = _usual_count(codes)
    # Two independent signs agree: the repetition, and how often most kernels run.
    agrees = len(parts) == 1 and modal is not None and abs(modal[0] - count) <= 1
    return _cut(codes.size, parts, "period", "high" if agrees else "medium")


def _cut(size: int, parts: list[_Found], method: str, confidence: str) -> Layering:
    layer = np.full(size, -1, dtype=np.int32)
    done = 0
    for part in parts:
        place = np.arange(int(part.starts[0]), part.stop)
        layer[place] = done + np.searchsorted(part.starts, place, side="right") - 1
        done += part.starts.size
    return Layering(layer, done, tuple(part.piece for part in parts), method, confidence)


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


def _by_counts(codes: Int64Array, wanted: int | None) -> Layering | None:
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
    found = _Found(piece, starts, min(int(starts[-1]) + length, codes.size) if wanted is None else _end(codes, starts))
    method, confidence = ("counts", "low") if wanted is None else ("user", "medium")
    return _cut(codes.size, [found], method, confidence)


def _end(codes: Int64Array, starts: Int64Array) -> int:
    """Where the last of layers of several lengths ends: at a kernel that none before runs, or as the longest does."""
    last = codes[int(starts[-1]) : int(starts[-1]) + int(np.diff(starts).max())]
    strange = np.flatnonzero(~np.isin(last, codes[int(starts[0]) : int(starts[-1])]))
    return int(starts[-1]) + (int(strange[0]) if strange.size else last.size)
