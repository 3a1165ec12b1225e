"""Call sites: the position of each kernel in the layer, the same in layers of different kinds."""

from __future__ import annotations

from difflib import SequenceMatcher

import numpy as np

from trace_budget.schema.findings import Int32Array, Int64Array

MOST_KINDS = 64
LONGEST = 4000


def positions(codes: Int64Array, starts: Int64Array, stop: int) -> Int32Array:
    """The position of each kernel of the layers in a template that holds every kind of layer once.

    The commonest layer comes first; kernels other kinds add are inserted where they stand, so that a kernel which
    follows a longer attention in every second layer keeps one position. Returns -1 outside the layers.
    """
    out = np.full(codes.size, -1, dtype=np.int32)
    bounds = list(zip(starts.tolist(), [*starts[1:].tolist(), stop], strict=True))
    kinds: dict[bytes, list[int]] = {}
    for index, (first, last) in enumerate(bounds):
        kinds.setdefault(codes[first:last].tobytes(), []).append(index)
    ranked = sorted(kinds.values(), key=lambda members: (-len(members), members[0]))
    sequences = [codes[slice(*bounds[members[0]])].tolist() for members in ranked]
    for members, places in zip(ranked, _placed(sequences), strict=True):
        for index in members:
            out[slice(*bounds[index])] = places
    return out


def _placed(sequences: list[list[int]]) -> list[list[int]]:
    """Places of each sequence in the merged template; sequences beyond the limits keep their own order."""
    template: list[int] = list(sequences[0])
    labels = list(range(len(template)))  # a stable label per template slot
    slots: list[list[int]] = [list(labels)]
    for sequence in sequences[1:]:
        if len(slots) >= MOST_KINDS or len(template) + len(sequence) > LONGEST:
            slots.append([])
            continue
        template, labels, placed = _merge(template, labels, sequence)
        slots.append(placed)
    order = {label: place for place, label in enumerate(labels)}
    return [
        [order[label] for label in placed] if placed else list(range(len(sequence)))
        for placed, sequence in zip(slots, sequences, strict=True)
    ]


def _merge(template: list[int], labels: list[int], sequence: list[int]) -> tuple[list[int], list[int], list[int]]:
    """Insert what the sequence adds to the template; returns template, labels and the labels of the sequence."""
    merged: list[int] = []
    merged_labels: list[int] = []
    placed: list[int] = []
    fresh = max(labels, default=-1) + 1
    for tag, a0, a1, b0, b1 in SequenceMatcher(None, template, sequence, autojunk=False).get_opcodes():
        merged += template[a0:a1]
        merged_labels += labels[a0:a1]
        if tag == "equal":
            placed += labels[a0:a1]
            continue
        added = list(range(fresh, fresh + b1 - b0))
        fresh += b1 - b0
        merged += sequence[b0:b1]
        merged_labels += added
        placed += added
    return merged, merged_labels, placed
