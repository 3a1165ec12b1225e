"""From a tandem run to single layers: divide super-periods, cut the run, add odd layers at its edges."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trace_budget.analysis.layers.tandem import Run
from trace_budget.schema.findings import Int64Array

BLOCK_MIN = 4  # kernels that the layers of a super-period must share in one stretch
BLOCK_SHARE = 0.34  # and their share of a layer
EDGE_SHARE = 1 / 3  # share of the every-layer kernels that makes an odd layer at the edge of a run
SHORT = 0.5  # a piece shorter than this share of a layer belongs to its neighbour


@dataclass(frozen=True, slots=True)
class Block:
    """A stretch of kernels that occurs `count` times in one period; `starts` are its places in the unit."""

    starts: Int64Array
    length: int

    @property
    def count(self) -> int:
        """How often the block occurs in the period."""
        return int(self.starts.size)


def layer_starts(codes: Int64Array, run: Run) -> Int64Array:
    """Where each layer of a run begins (indexes into codes)."""
    unit = codes[run.first : run.first + run.period]
    block = _shared_block(unit)
    per_period = block.count if block else 1
    name, offset = _anchor(codes, run, unit, block, per_period)
    places = np.flatnonzero(codes[run.first : run.stop] == name) + run.first
    if per_period == 1 and places.size == 0:
        return run.first + run.period * np.arange(run.repeats)
    return _cut(places + offset, run, run.period / per_period)


def _shared_block(unit: Int64Array) -> Block | None:
    """The longest stretch that occurs k >= 2 times in the (cyclic) unit while every kernel keeps one count per layer.

    Two kinds of layers in one period (sliding and full attention, linear and full attention) still share such a
    stretch, their MLP; two norms inside one layer do not.
    """
    names, counts = np.unique(unit, return_counts=True)
    best: Block | None = None
    for name in names[counts >= 2]:
        block = _extend(unit, np.flatnonzero(unit == name))
        long_enough = block.length >= max(BLOCK_MIN, BLOCK_SHARE * unit.size / block.count)
        if not long_enough or not _regular(unit, block.starts):
            continue
        if best is None or (block.count, block.length) > (best.count, best.length):
            best = block
    return best


def _extend(unit: Int64Array, places: Int64Array) -> Block:
    """Grow the occurrences of one kernel to both sides as long as all of them agree and do not meet."""
    room = int(np.diff(np.append(places, places[0] + unit.size)).min())
    left = right = 0
    while left + right + 1 < room and np.all(
        unit[(places + right + 1) % unit.size] == unit[(places[0] + right + 1) % unit.size]
    ):
        right += 1
    while left + right + 1 < room and np.all(
        unit[(places - left - 1) % unit.size] == unit[(places[0] - left - 1) % unit.size]
    ):
        left += 1
    return Block(np.sort((places - left) % unit.size), left + right + 1)


def _regular(unit: Int64Array, starts: Int64Array) -> bool:
    """Whether every kernel runs m times or not at all in each piece between block starts."""
    piece = (np.searchsorted(starts, np.arange(unit.size), side="right") - 1) % starts.size
    _, codes = np.unique(unit, return_inverse=True)
    table = np.zeros((int(codes.max()) + 1, starts.size), dtype=np.int64)
    np.add.at(table, (codes, piece), 1)
    most = table.max(axis=1, keepdims=True)
    return bool(np.all((table == 0) | (table == most)))


def _anchor(codes: Int64Array, run: Run, unit: Int64Array, block: Block | None, per_period: int) -> tuple[int, int]:
    """The kernel whose calls mark the layers, and how far before or after it a layer begins.

    Of the kernels that run once a layer the one met most regularly over the whole run, then the earliest, is taken.
    """
    names, counts = np.unique(unit, return_counts=True)
    once = names[counts == per_period]
    if once.size == 0:
        return -1, 0
    region = codes[run.first : run.stop]
    total = np.array([np.count_nonzero(region == name) for name in once])
    place = np.array([int(np.flatnonzero(unit == name)[0]) for name in once])
    off_by = np.abs(total - run.repeats * per_period)
    if block is None:
        best = int(np.lexsort((place, off_by))[0])
        return int(once[best]), -int(place[best])
    inside = (place[:, None] - block.starts[None, :]) % unit.size
    depth = inside.min(axis=1)
    usable = depth < block.length
    best = int(np.lexsort((place, off_by, ~usable))[0])
    # The run begins at a layer: if that is inside or right behind a block, layers begin there in every block.
    begin = (0 - block.starts) % unit.size
    cut = int(begin.min()) if begin.min() <= block.length else block.length
    return int(once[best]), cut - int(depth[best])


def _cut(cuts: Int64Array, run: Run, usual: float) -> Int64Array:
    """Layer starts inside the run: the cuts plus the run's own begin, without pieces too short to be a layer."""
    inside = np.unique(cuts[(cuts > run.first) & (cuts < run.stop)])
    starts = np.concatenate(([run.first], inside))
    length = np.diff(np.append(starts, run.stop))
    keep = length >= SHORT * usual
    if not keep[0] and starts.size > 1:
        # A short first piece is the head of the first layer.
        starts[1], keep[1] = starts[0], True
    kept: Int64Array = starts[keep] if keep.any() else starts[:1]
    return kept


def edge_layers(
    codes: Int64Array, starts: Int64Array, stop: int, bounds: tuple[int, int]
) -> tuple[Int64Array, Int64Array]:
    """Starts of odd layers right before and right after a run, inside bounds.

    A dense layer before MoE layers, or a last layer with other fusions, is not in the repetition but runs much of what
    every layer runs.
    """
    every = _every_layer(codes, starts, stop)
    before = _odd(codes[bounds[0] : starts[0]], every)
    after = _odd(codes[stop : bounds[1]], every)
    head = np.zeros(0, np.int64) if before.size == 0 else before + bounds[0] - min(int(before[0]), every[1])
    return np.maximum(head, bounds[0]), after + stop


def _every_layer(codes: Int64Array, starts: Int64Array, stop: int) -> tuple[Int64Array, int]:
    """Kernels that run exactly once in every layer of the run, and how deep in a layer the first of them stands."""
    lengths = np.diff(np.append(starts, stop))
    layer = np.repeat(np.arange(starts.size), lengths)
    region = codes[starts[0] : stop]
    names, code = np.unique(region, return_inverse=True)
    table = np.zeros((names.size, starts.size), dtype=np.int64)
    np.add.at(table, (code, layer), 1)
    every = names[(table == 1).all(axis=1)]
    first = np.flatnonzero(np.isin(region[: lengths[0]], every))
    return every, int(first[0]) if first.size else 0


def _odd(rest: Int64Array, every: tuple[Int64Array, int]) -> Int64Array:
    """Places in a leftover stretch where odd layers begin: as many as most every-layer kernels occur there."""
    names = every[0]
    present = np.array([np.count_nonzero(rest == name) for name in names])
    if names.size == 0 or not present.any():
        return np.zeros(0, np.int64)
    values, votes = np.unique(present[present > 0], return_counts=True)
    count = int(values[np.argmax(votes)])
    if votes.max() < max(EDGE_SHARE * names.size, 2):
        return np.zeros(0, np.int64)
    candidates = names[present == count]
    first = min(candidates, key=lambda name: int(np.flatnonzero(rest == name)[0]))
    return np.flatnonzero(rest == first)
