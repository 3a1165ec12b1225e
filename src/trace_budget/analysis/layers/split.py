"""From a tandem run to single layers: divide super-periods, cut the run, add odd layers at its edges."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trace_budget.analysis.layers.mixing import are_layers, mixing_parts, starts_of_parts, taking_turns
from trace_budget.analysis.layers.names import OPAQUE, Names
from trace_budget.analysis.layers.tandem import Run
from trace_budget.schema.findings import Int64Array

BLOCK_MIN = 4  # kernels that the layers of a super-period must share in one stretch
BLOCK_SHARE = 0.34  # and their share of a layer
ROWS = 8  # periods looked at for one that comes again
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


def layer_starts(codes: Int64Array, run: Run, names: Names = OPAQUE) -> Int64Array:
    """Where each layer of a run begins (indexes into codes)."""
    starts = _by_likeness(codes, run, names)
    turns = taking_turns(codes[run.first : run.stop], names)
    return turns + run.first if turns is not None and turns.size > starts.size else starts


def _by_likeness(codes: Int64Array, run: Run, names: Names) -> Int64Array:
    """Where each layer of a run begins, found by what the layers of one period share."""
    unit = _unit(codes, run)
    block = _shared_block(unit, names)
    parts = mixing_parts(unit, names)
    if parts is not None and parts.count > (block.count if block else 1):
        return _cut(starts_of_parts(codes, run, parts), run, run.period / parts.count)
    per_period = block.count if block else 1
    name, offset = _anchor(codes, run, unit, block, per_period)
    places = np.flatnonzero(codes[run.first : run.stop] == name) + run.first
    if per_period == 1 and places.size == 0:
        return run.first + run.period * np.arange(run.repeats)
    return _cut(places + offset, run, run.period / per_period)


def _unit(codes: Int64Array, run: Run) -> Int64Array:
    """The first period of a run that comes again: the very first may hold an odd layer."""
    rows = codes[run.first : run.stop]
    rows = rows[: rows.size // run.period * run.period].reshape(-1, run.period)[:ROWS]
    again = (rows[:, None, :] == rows[None, :, :]).all(axis=2).sum(axis=1) > 1
    usual: Int64Array = rows[int(np.argmax(again))]
    return usual


def _shared_block(unit: Int64Array, kinds: Names) -> Block | None:
    """The longest stretch that occurs k >= 2 times in the (cyclic) unit while every kernel keeps one count per layer.

    Two kinds of layers in one period (sliding and full attention, linear and full attention) still share such a
    stretch, their MLP; two norms inside one layer do not.
    """
    names, counts = np.unique(unit, return_counts=True)
    best: Block | None = None
    for name in names[counts >= 2]:
        block = _extend(unit, np.flatnonzero(unit == name))
        long_enough = block.length >= max(BLOCK_MIN, BLOCK_SHARE * unit.size / block.count)
        if not long_enough or not are_layers(unit, block.starts, kinds):
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


def _anchor(codes: Int64Array, run: Run, unit: Int64Array, block: Block | None, per_period: int) -> tuple[int, int]:
    """The kernel whose calls mark the layers, and how far before or after it a layer begins.

    Of the kernels that run once a layer the one with most calls, none too near the last, then the earliest, is taken.
    """
    names, counts = np.unique(unit, return_counts=True)
    once = names[counts == per_period]
    if once.size == 0:
        return -1, 0
    region = codes[run.first : run.stop]
    calls = [np.flatnonzero(region == name) for name in once]
    total = np.array([places.size for places in calls])
    near = SHORT * unit.size / per_period
    doubled = np.array([places.size > 1 and int(np.diff(places).min()) < near for places in calls])
    place = np.array([int(np.flatnonzero(unit == name)[0]) for name in once])
    if block is None:
        best = int(np.lexsort((place, -total, doubled))[0])
        return int(once[best]), -int(place[best])
    inside = (place[:, None] - block.starts[None, :]) % unit.size
    depth = inside.min(axis=1)
    usable = depth < block.length
    best = int(np.lexsort((place, -total, doubled, ~usable))[0])
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
