"""Layers open with their norm: where engines fuse it with the end of the layer before, the cut moves in front of it."""

from __future__ import annotations

import numpy as np

from trace_budget.analysis.layers.names import Names
from trace_budget.schema.findings import Int64Array

MOST = 0.9  # share of the layers that must end (or begin) with a norm


def opened_by_norms(
    codes: Int64Array, starts: Int64Array, stop: int, names: Names, bound: int
) -> tuple[Int64Array, int]:
    """Starts and stop, moved to the norm that opens each layer; only where one stands right before the first layer.

    The first layer has no layer before it to be fused with, so its norm is another kernel, and the last norm of all
    belongs to no layer: `norm0 (qkv … down norm) (qkv … down norm) head` holds `(norm0 qkv … down) (norm qkv … down)`.
    """
    begin, first_is_norm = int(starts[0]) - 1, bool(names.are("norms", codes[starts[:1]])[0])
    if begin < bound or not names.are("norms", codes[begin : begin + 1])[0]:
        return starts, stop
    ends = np.append(starts[1:], stop) - 1
    if names.are("norms", codes[ends]).mean() >= MOST and int(np.diff(np.append(starts, stop)).min()) > 1:
        return starts - 1, stop - int(names.are("norms", codes[stop - 1 : stop])[0])
    if starts.size > 1 and names.are("norms", codes[starts[1:]]).mean() >= MOST and not first_is_norm:
        return np.append(begin, starts[1:]), stop
    return starts, stop
