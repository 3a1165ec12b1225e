"""When a repetition holds what may be several layers each: the counts that are possible, none of them certain."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from trace_budget.analysis.layers.mixing import adds_a_mixer
from trace_budget.analysis.layers.names import Names
from trace_budget.schema.findings import Int64Array

OFTEN = 3  # times that one kind of mixing comes in a layer, each behind a norm: that is a block of layers
STACKS = 2  # changes of the kind of layer where a first or last one is odd, too
KINDS = 4  # kinds of layers looked at, the commonest first
Span = tuple[Int64Array, int]


def possible_counts(codes: Int64Array, spans: Sequence[Span], names: Names) -> tuple[int, ...]:
    """The numbers of layers that cuts (starts and stop of segments) may stand for; () where none speaks against them.

    Blocks of state spaces with one shared attention, and layers whose halves were taken apart, show it by how often
    tokens mix in them.
    """
    if not names.are("mixers", codes).any():
        return ()
    doubtful = [_holds_several(codes, span, names) or lacks_mixing(codes, span, names) for span in spans]
    if not any(doubtful):
        return ()
    inside = np.concatenate([codes[starts[0] : stop] for starts, stop in spans])
    mixers = inside[names.are("mixers", inside)]
    _, counts = np.unique(mixers, return_counts=True)
    pieces = sum(starts.size for starts, _ in spans)
    groups = int(np.unique(_blocks(inside, names)[names.are("mixers", inside)]).size)
    return tuple(sorted({pieces, int(counts.max()), groups}))


def _holds_several(codes: Int64Array, span: Span, names: Names) -> bool:
    """Whether layers of a usual kind hold a mixing kernel several times, behind a norm each."""
    starts, stop = span
    pieces = np.split(codes[starts[0] : stop], starts[1:] - starts[0])
    lengths = np.array([piece.size for piece in pieces])
    _, first, votes = np.unique(lengths, return_index=True, return_counts=True)
    usual = [pieces[index] for index in first[np.argsort(-votes, kind="stable")][:KINDS].tolist()]
    if any(_several(piece, names) for piece in usual):
        return True
    # Two stacks one after the other, as of an encoder and a decoder, are no block of layers.
    return adds_a_mixer(usual, names) and int(np.count_nonzero(np.diff(lengths))) > STACKS


def _several(piece: Int64Array, names: Names) -> bool:
    mixes = names.are("mixers", piece)
    blocks = _blocks(piece, names)
    pairs = np.unique(np.stack((piece[mixes], blocks[mixes])), axis=1)
    _, times = np.unique(pairs[0], return_counts=True)
    if times.size == 0:
        return False
    # An attention to itself and one to the encoder may be one kernel twice; beside others it is a block of layers.
    return bool(times.max() >= OFTEN or (times.max() > 1 and times.min() == 1))


def lacks_mixing(codes: Int64Array, span: Span, names: Names) -> bool:
    """Whether a layer mixes no tokens, while others do."""
    starts, stop = span
    mixes = names.are("mixers", codes[starts[0] : stop])
    with_some = np.unique(np.searchsorted(starts - starts[0], np.flatnonzero(mixes), side="right")).size
    bare = starts.size - with_some
    return with_some > 1 and bare > 0


def _blocks(codes: Int64Array, names: Names) -> Int64Array:
    """A number for each kernel that grows at every norm."""
    found: Int64Array = np.cumsum(names.are("norms", codes)).astype(np.int64)
    return found
