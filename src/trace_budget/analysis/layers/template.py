"""Call sites: the position of each kernel in the layer, the same in layers of every kind and in every step."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import SequenceMatcher

from trace_budget.schema.findings import Int64Array

MOST_KINDS = 64
LONGEST = 2000


@dataclass(frozen=True, slots=True)
class Template:
    """Where the kernels of each kind of layer stand in a template that holds all kinds.

    `places` maps a layer (bytes of its codes) to the position of each of its kernels; kinds beyond the limits are
    absent. `length` is how many positions there are.
    """

    places: dict[bytes, list[int]]
    length: int


def template_of(layers: Iterable[tuple[Int64Array, int]]) -> Template:
    """The template of layers (their kernel codes and how often they run).

    The commonest kind comes first; kernels other kinds add are inserted where they stand, so that a kernel which
    follows a longer attention in every second layer keeps one position.
    """
    votes: dict[bytes, int] = {}
    codes: dict[bytes, list[int]] = {}
    for layer, count in layers:
        key = layer.tobytes()
        votes[key] = votes.get(key, 0) + count
        codes.setdefault(key, layer.tolist())
    merged: list[tuple[int, int]] = []  # (code, label) in template order; labels stay when others come between
    labels: dict[bytes, list[int]] = {}
    for key in sorted(votes, key=lambda k: -votes[k])[:MOST_KINDS]:
        if len(merged) + len(codes[key]) <= LONGEST:
            merged, labels[key] = _merge(merged, codes[key])
    place = {label: index for index, (_, label) in enumerate(merged)}
    return Template({key: [place[label] for label in found] for key, found in labels.items()}, len(merged))


def _merge(template: list[tuple[int, int]], sequence: list[int]) -> tuple[list[tuple[int, int]], list[int]]:
    """Insert what the sequence adds to the template; returns it and the labels of the sequence."""
    merged: list[tuple[int, int]] = []
    placed: list[int] = []
    fresh = len(template)
    matcher = SequenceMatcher(None, [code for code, _ in template], sequence, autojunk=False)
    for tag, a0, a1, b0, b1 in matcher.get_opcodes():
        merged += template[a0:a1]
        if tag == "equal":
            placed += [label for _, label in template[a0:a1]]
            continue
        added = [(code, fresh + offset) for offset, code in enumerate(sequence[b0:b1])]
        fresh += b1 - b0
        merged += added
        placed += [label for _, label in added]
    return merged, placed
