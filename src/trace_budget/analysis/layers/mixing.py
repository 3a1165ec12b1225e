"""Layers found by what is in each: one place where tokens mix (attention, a state space), and a common core."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trace_budget.analysis.layers.names import Flags, Names
from trace_budget.analysis.layers.tandem import Run
from trace_budget.schema.findings import Int64Array

CORE = 3  # kernels that every layer of a super-period runs, in whatever places
CORE_SHARE = 0.2  # and their share of a layer
TRIED = 24  # numbers of layers in a period, and kernels that may mark them, looked at


@dataclass(frozen=True, slots=True)
class LayerParts:
    """A period cut into `count` layers: `core` kernels run equally often in each, `mark` once; `behind` it so many."""

    count: int
    mark: int
    core: Int64Array
    per_layer: int
    before: int


def are_layers(unit: Int64Array, starts: Int64Array, names: Names) -> bool:
    """Whether the pieces of a (cyclic) unit between starts can be layers.

    Without a word on what mixes tokens: if every kernel runs m times or not at all in each piece. Else each piece
    mixes tokens, none does what another does and then more of it, all have an MLP or none has, and pieces that mix
    alike run every kernel m times or not at all, matrix products and what goes with them aside.
    """
    codes, table = _table(unit, starts)
    mixers = table[names.are("mixers", codes)] > 0
    if not mixers.any():
        return _regular(table)
    turned = np.roll(unit, -int(starts[0]))
    acts = table[names.are("activations", codes)].sum(axis=0) > 0
    if (
        not mixers.any(axis=0).all()
        or (acts.any() and not acts.all())
        or adds_a_mixer(np.split(turned, starts[1:] - starts[0]), names)
    ):
        return False
    counted = table[~names.are("generic", codes)]
    kinds = np.unique(mixers, axis=1, return_inverse=True)[1].reshape(-1)
    return all(_regular(counted[:, kinds == kind]) for kind in range(int(kinds.max()) + 1))


def _regular(table: Int64Array) -> bool:
    most = table.max(axis=1, keepdims=True)
    return bool(np.all((table == 0) | (table == most)))


def adds_a_mixer(pieces: Sequence[Int64Array], names: Names) -> bool:
    """Whether a piece holds the mixers of another and, behind a norm of its own, others: two layers at least."""
    blocks = [_mixing_blocks(piece, names) for piece in pieces]
    everything = [frozenset().union(*each) for each in blocks]
    known = {each for each in everything if each}
    return any(
        small < whole and any(not block & small for block in each)
        for each, whole in zip(blocks, everything, strict=True)
        for small in known
    )


def _mixing_blocks(piece: Int64Array, names: Names) -> list[frozenset[int]]:
    """The mixers of each stretch between norms that holds any."""
    parts = np.split(piece, np.flatnonzero(names.are("norms", piece)))
    found = (frozenset(part[names.are("mixers", part)].tolist()) for part in parts)
    return [each for each in found if each]


def mixing_parts(unit: Int64Array, names: Names) -> LayerParts | None:
    """The most layers that a period can be: each mixes tokens, all share a core, no kernel runs in one more often.

    Layers of other kinds (attention among state spaces, experts among dense ones) share no stretch of kernels, but
    their norms and projections.
    """
    mixers = int(np.count_nonzero(names.are("mixers", unit)))
    codes, counts = np.unique(unit, return_counts=True)
    numbers = np.unique(counts[(counts > 1) & (counts <= mixers)])[::-1][:TRIED]
    marks = [int(mark) for count in numbers for mark in codes[counts == count][:TRIED]]
    found = (_parts(unit, mark, np.flatnonzero(unit == mark), names) for mark in marks)
    return next((parts for parts in found if parts), None)


def taking_turns(codes: Int64Array, names: Names) -> Int64Array | None:
    """Where layers begin in a stretch where tokens mix and an MLP follows, in turns, each behind a norm; else None.

    That is a layer, whatever either is: state spaces before experts share no kernel but norms with attention before an
    MLP. The layers of a block with one shared attention do not take turns.
    """
    opens = np.flatnonzero(names.are("norms", codes))
    mixes, acts = (_counts(names.are(role, codes), opens) > 0 for role in ("mixers", "activations"))
    marked = np.flatnonzero(mixes | acts)
    if marked.size < 2 * CORE or not np.array_equal(mixes[marked], np.arange(marked.size) % 2 == 0):
        return None
    # A layer begins right behind the MLP of the one before: norms of queries and keys may come first.
    found: Int64Array = opens[np.concatenate((marked[:1], marked[1:-1:2] + 1))]
    return found


def _counts(flags: Flags, opens: Int64Array) -> Int64Array:
    """How many flags are set behind each opening, up to the next."""
    total = np.concatenate(([0], np.cumsum(flags)))
    found: Int64Array = np.diff(total[np.append(opens, flags.size)])
    return found


def _parts(unit: Int64Array, mark: int, starts: Int64Array, names: Names) -> LayerParts | None:
    if not are_layers(unit, starts, names):
        return None
    codes, table = _table(unit, starts)
    always = (table.min(axis=1) > 0) & (table.min(axis=1) == table.max(axis=1))
    core, per_layer = codes[always], int(table[always, 0].sum())
    normed = names.are("norms", unit).any()
    if per_layer < max(CORE, CORE_SHARE * unit.size / starts.size) or (normed and not names.are("norms", core).any()):
        return None
    places = np.flatnonzero(np.isin(unit, core))
    return LayerParts(starts.size, mark, core, per_layer, int(np.searchsorted(places, starts[0])))


def starts_of_parts(codes: Int64Array, run: Run, parts: LayerParts) -> Int64Array:
    """Where the layers of a run begin: at the first kernel of each core, counted back from its mark."""
    places = np.flatnonzero(np.isin(codes[run.first : run.stop], parts.core)) + run.first
    marks = np.flatnonzero(codes[places] == parts.mark) - parts.before
    found: Int64Array = places[marks[marks >= 0]]
    return found


def _piece(unit: Int64Array, starts: Int64Array) -> Int64Array:
    piece: Int64Array = (np.searchsorted(starts, np.arange(unit.size), side="right") - 1) % starts.size
    return piece


def _table(unit: Int64Array, starts: Int64Array) -> tuple[Int64Array, Int64Array]:
    """Codes of a unit and their calls in each piece between starts."""
    codes, code = np.unique(unit, return_inverse=True)
    table = np.zeros((codes.size, starts.size), dtype=np.int64)
    np.add.at(table, (code, _piece(unit, starts)), 1)
    return codes, table
