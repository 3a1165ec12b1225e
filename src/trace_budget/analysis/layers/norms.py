"""Layers open with their norm: where engines fuse it with the end of the layer before, the cut moves in front of it."""

from __future__ import annotations

import numpy as np
import polars as pl

from trace_budget.schema.findings import Int64Array

NORM = "(?i)norm|rsqrt"  # rsqrt: names of generated kernels list the operations they fuse
MOST = 0.9  # share of the layers that must end (or begin) with a norm


def norm_codes(names: pl.Series) -> Int64Array:
    """Codes of the kernels that are norms by their name."""
    is_norm = names.dtype.categories.str.contains(NORM) if isinstance(names.dtype, pl.Enum) else pl.Series([False])
    return np.flatnonzero(is_norm.to_numpy())


def opened_by_norms(
    codes: Int64Array, starts: Int64Array, stop: int, norms: Int64Array, bound: int
) -> tuple[Int64Array, int]:
    """Starts and stop, moved to the norm that opens each layer; only where one stands right before the first layer.

    The first layer has no layer before it to be fused with, so its norm is another kernel, and the last norm of all
    belongs to no layer: `norm0 (qkv … down norm) (qkv … down norm) head` holds `(norm0 qkv … down) (norm qkv … down)`.
    """
    begin = int(starts[0]) - 1
    if begin < bound or codes[begin] not in norms:
        return starts, stop
    ends = np.append(starts[1:], stop) - 1
    if np.isin(codes[ends], norms).mean() >= MOST and int(np.diff(np.append(starts, stop)).min()) > 1:
        return starts - 1, stop - int(codes[stop - 1] in norms)
    if starts.size > 1 and np.isin(codes[starts[1:]], norms).mean() >= MOST and codes[starts[0]] not in norms:
        return np.append(begin, starts[1:]), stop
    return starts, stop
