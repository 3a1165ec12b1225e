"""The ends of layers: what stands between two of them, odd layers before and after, where the last one ends."""

from __future__ import annotations

import numpy as np

from trace_budget.analysis.layers.names import OPAQUE, Names
from trace_budget.analysis.layers.tandem import Run
from trace_budget.schema.findings import Int64Array

USUAL = 0.9  # share of the layers in which a kernel runs exactly once
EDGE_SHARE = 1 / 3  # share of these kernels that makes an odd layer at the edge of a run
LONGEST = 2  # usual layers that one odd layer may be long


def with_edges(
    codes: Int64Array, starts: Int64Array, run: Run, bounds: tuple[int, int], names: Names = OPAQUE
) -> tuple[Int64Array, int]:
    """Starts of the layers of a run and of the odd ones beside it, inside bounds; and where the last one ends.

    A dense layer before MoE layers, or a last layer with other fusions, is not in the repetition but runs much of what
    every layer runs. What follows the last layer may begin as one more layer would: the final norm.
    """
    core = _core(codes, starts, run.stop)
    turned = _turned(codes, starts, run, core, bounds[0])
    if turned is not None:
        starts, core = turned, _core(codes, turned, run.stop)
    if core.size == 0:
        usual = int(np.median(np.diff(np.append(starts, run.stop))))
        return starts, min(int(starts[-1]) + usual, bounds[1])
    stop = _core_end(codes, int(starts[-1]), _usual(starts, run), core, bounds[1])
    low, high = _room(codes, (int(starts[0]), stop), bounds, names)
    before = _odd(codes[low : starts[0]], core, names) + low
    after = _odd(codes[stop:high], core, names) + stop
    every = np.concatenate((before, starts, after))
    stop = _core_end(codes, int(every[-1]), _usual(starts, run), core, bounds[1])
    return _snapped(codes, every, stop, core, bounds, names)


def _usual(starts: Int64Array, run: Run) -> int:
    return int(np.median(np.diff(starts))) if starts.size > 1 else run.period


def _core(codes: Int64Array, starts: Int64Array, stop: int) -> Int64Array:
    """Kernels that run once in (nearly) every layer; the last layer may be cut and does not count beside others."""
    known = starts[:-1] if starts.size > 2 else starts
    end = int(starts[-1]) if starts.size > 2 else stop
    layer = np.repeat(np.arange(known.size), np.diff(np.append(known, end)))
    names, code = np.unique(codes[known[0] : end], return_inverse=True)
    table = np.zeros((names.size, known.size), dtype=np.int64)
    np.add.at(table, (code, layer), 1)
    core: Int64Array = names[(table == 1).mean(axis=1) >= USUAL]
    return core


def _turned(codes: Int64Array, starts: Int64Array, run: Run, core: Int64Array, bound: int) -> Int64Array | None:
    """Starts that begin with the first core kernel before the run, if the core goes on before it; else None.

    A repetition begins behind what is odd in the first layer: the part before that is no layer of its own.
    """
    head = codes[starts[0] : starts[1]] if starts.size > 1 else codes[:0]
    cycle = head[np.isin(head, core)]
    before = np.flatnonzero(np.isin(codes[bound : starts[0]], core)) + bound
    far = np.flatnonzero(np.diff(np.append(before, starts[0])) > _usual(starts, run))
    before = before[int(far[-1]) + 1 :] if far.size else before
    if cycle.size < 2 or before.size == 0:
        return None
    turn = np.argmax(cycle[None, :] == codes[before][:, None], axis=1)
    since = (turn - turn[0]) % cycle.size
    if turn[0] == 0 or np.any((np.diff(since) <= 0) & (since[1:] > 0)):
        return None
    marks = np.flatnonzero(codes[before[0] : run.stop] == codes[before[0]]) + int(before[0])
    last = np.isin(codes[marks[-1] : run.stop], core)
    return marks if np.count_nonzero(last) >= 0.5 * cycle.size else marks[:-1]


def _core_end(codes: Int64Array, begin: int, usual: int, core: Int64Array, bound: int) -> int:
    """Behind the last core kernel of the layer that begins there, before any of them comes again."""
    here = codes[begin : min(begin + LONGEST * usual, bound)]
    places = np.flatnonzero(np.isin(here, core))
    if places.size == 0:
        return min(begin + usual, bound)
    _, first = np.unique(here[places], return_index=True)
    again = np.setdiff1d(np.arange(places.size), first)
    return begin + int(places[again[0] - 1 if again.size else -1]) + 1


def _odd(rest: Int64Array, core: Int64Array, names: Names) -> Int64Array:
    """Places in a leftover stretch where odd layers begin: as many as most core kernels occur there.

    Where tokens mix as in the layers there is a layer, whatever else it runs.
    """
    present = np.array([np.count_nonzero(rest == name) for name in core])
    mixing = np.unique(present[names.are("mixers", core)])
    values, votes = np.unique(present[present > 0], return_counts=True)
    if mixing.size == 1 and mixing[0] > 0:
        many = mixing[0]
    elif values.size == 0 or votes.max() < max(EDGE_SHARE * core.size, 2):
        return np.zeros(0, np.int64)
    else:
        many = values[np.argmax(votes)]
    candidates = core[present == many]
    first = min(candidates, key=lambda name: int(np.flatnonzero(rest == name)[0]))
    return np.flatnonzero(rest == first)


def _room(codes: Int64Array, inside: tuple[int, int], bounds: tuple[int, int], names: Names) -> tuple[int, int]:
    """The bounds, drawn in to the nearest embedding or head: beyond these another model's layers begin."""
    ends = names.are("ends", codes) & ~np.isin(codes, codes[inside[0] : inside[1]])
    before = np.flatnonzero(ends[bounds[0] : inside[0]])
    behind = np.flatnonzero(ends[inside[1] : bounds[1]])
    low = bounds[0] + int(before[-1]) + 1 if before.size else bounds[0]
    return low, inside[1] + int(behind[0]) if behind.size else bounds[1]


def _snapped(
    codes: Int64Array, starts: Int64Array, stop: int, core: Int64Array, bounds: tuple[int, int], names: Names
) -> tuple[Int64Array, int]:
    """Starts moved to where kernels between two cores belong: to the next layer if they also lead the first.

    A repetition begins at its first equal kernel; where the first layer differs there, that is inside the layer.
    """
    lengths = np.diff(np.append(starts, stop))
    inside = np.isin(codes[starts[0] : stop], core)
    places = np.flatnonzero(inside) + starts[0]
    # A piece without any core kernel is no layer of its own.
    _, index = np.unique(np.repeat(np.arange(starts.size), lengths)[places - starts[0]], return_index=True)
    firsts, lasts = places[index], places[np.append(index[1:], places.size) - 1]
    gaps = list(zip((lasts[:-1] + 1).tolist(), firsts[1:].tolist(), strict=True))
    filled = [(low, high) for low, high in gaps if low < high]
    lead = max((_alike(codes, (bounds[0], int(firsts[0])), gap, -1) for gap in filled), default=0)
    trail = max((_alike(codes, (stop, bounds[1]), (low, high - lead), 1) for low, high in filled), default=0)
    if lead == 0:
        return firsts, stop + trail
    begin = int(firsts[0]) - lead
    moved = [low + _alike(codes, (stop, stop + trail), (low, high - lead), 1) for low, high in gaps]
    if names.are("norms", codes[begin : begin + 1])[0]:
        moved = _at_norms(codes, gaps, moved, (begin, lead), names)
    return np.array([begin, *moved], dtype=np.int64), stop + trail


def _at_norms(
    codes: Int64Array, gaps: list[tuple[int, int]], moved: list[int], opening: tuple[int, int], names: Names
) -> list[int]:
    """The cuts between layers that open with a norm, where what leads the first layer says how many norms come before.

    A layer of another kind leads in otherwise; it opens with as many norms behind the core of the layer before.
    """
    begin, lead = opening
    like_first = [
        (low, high - lead) for low, high in gaps if _alike(codes, (begin, begin + lead), (low, high), -1) == lead
    ]
    norms = np.concatenate(([0], np.cumsum(names.are("norms", codes))))
    skipped = min((int(norms[stop] - norms[low]) for low, stop in like_first), default=0)
    places = np.flatnonzero(names.are("norms", codes))
    opens = [int(norms[low]) + skipped for low, _ in gaps]
    return [
        int(places[at]) if at < places.size and places[at] < high else place
        for at, place, (_, high) in zip(opens, moved, gaps, strict=True)
    ]


def _alike(codes: Int64Array, left: tuple[int, int], right: tuple[int, int], step: int) -> int:
    """How many kernels two stretches share from their begin on (`step` 1) or from their end on (-1)."""
    size = min(left[1] - left[0], right[1] - right[0])
    if size <= 0:
        return 0
    one, other = codes[left[0] : left[1]][::step][:size], codes[right[0] : right[1]][::step][:size]
    unlike = np.flatnonzero(one != other)
    return int(unlike[0]) if unlike.size else size
