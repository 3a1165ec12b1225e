"""Positions of the kernels of all lanes in one template of their layers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trace_budget.analysis.layers.lanes import Lane
from trace_budget.analysis.layers.names import Names
from trace_budget.analysis.layers.sequence import Layering
from trace_budget.analysis.layers.template import Template, template_of
from trace_budget.schema.findings import Int32Array, Int64Array


@dataclass(frozen=True, slots=True)
class Positions:
    """Positions per lane (-1 outside layers), how many positions there are, and how many kernels found no place."""

    positions: list[Int32Array]
    length: int
    unplaced: int


@dataclass(slots=True)
class _Pattern:
    """One sequence with its layers: the places of each layer in it, and how many steps run it."""

    codes: Int64Array
    layers: list[Int64Array]
    steps: int = 0


def lane_positions(lanes: list[Lane], cuts: list[Layering], names: Names) -> Positions:
    """The position of each kernel; equal sequences are placed once, one template serves all steps.

    Where the layers were found by names that are alike, kernels of such names share a position, too.
    """
    patterns: dict[tuple[bytes, bytes], _Pattern] = {}
    codes = [names.alike(lane.codes) if cut.coarse else lane.codes for lane, cut in zip(lanes, cuts, strict=True)]
    keys = [(each.tobytes(), cut.layer.tobytes()) for each, cut in zip(codes, cuts, strict=True)]
    for key, each, cut in zip(keys, codes, cuts, strict=True):
        if key not in patterns:
            patterns[key] = _Pattern(each, _layers(cut.layer))
        patterns[key].steps += 1
    template = template_of((p.codes[places], p.steps) for p in patterns.values() for places in p.layers)
    positions = {key: _positions(pattern, template) for key, pattern in patterns.items()}
    lost = {key: sum(map(len, p.layers)) - int(np.count_nonzero(positions[key] >= 0)) for key, p in patterns.items()}
    return Positions([positions[key] for key in keys], template.length, sum(lost[key] for key in keys))


def _layers(layer: Int32Array) -> list[Int64Array]:
    """The places of each layer in a lane; kernels of no layer in between do not tear a layer apart."""
    places = np.flatnonzero(layer >= 0)
    return [part for part in np.split(places, np.flatnonzero(np.diff(layer[places])) + 1) if part.size]


def _positions(pattern: _Pattern, template: Template) -> Int32Array:
    out = np.full(pattern.codes.size, -1, dtype=np.int32)
    for places in pattern.layers:
        found = template.places.get(pattern.codes[places].tobytes())
        if found is not None:
            out[places] = found
    return out
