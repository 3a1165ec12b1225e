"""Step classes: steps that run the same kernels equally often, so that unlike steps are never averaged."""

from __future__ import annotations

import numpy as np
import polars as pl

from trace_budget.schema.findings import Int32Array, Int64Array
from trace_budget.schema.trace import Trace

ALIKE = 0.9  # Bray-Curtis similarity of two kernel multisets that makes one class
MOST_CLASSES = 64  # compared with every other; what resembles none of them is a class of its own


def classify(trace: Trace, steps: pl.DataFrame, op_step: Int32Array) -> pl.DataFrame:
    """Add `class_index`: steps with (nearly) the same kernel multiset share one, the most frequent class is 0."""
    counts = (
        pl.DataFrame({"step_index": op_step, "name": trace.gpu_ops["name"].to_physical().cast(pl.Int64)})
        .filter(pl.col("step_index") >= 0)
        .group_by("step_index", "name")
        .agg(pl.len().cast(pl.Int64).alias("calls"))
        .sort("step_index", "name")
    )
    signatures = counts.group_by("step_index", maintain_order=True).agg(
        pl.struct("name", "calls").hash(seed=0).sum().alias("signature"), pl.len().alias("names")
    )
    distinct = signatures.group_by("signature").agg(pl.len().alias("steps"), pl.col("step_index").min().alias("first"))
    ranked = distinct.sort("steps", "first", descending=[True, False])
    mapping = ranked.select("signature").with_columns(pl.Series("class_index", _classes(ranked, counts)))
    joined = signatures.join(mapping, on="signature", how="left").select("step_index", "class_index")
    return steps.join(joined, on="step_index", how="left", maintain_order="left")


def _classes(ranked: pl.DataFrame, counts: pl.DataFrame) -> Int32Array:
    """The class of each signature: that of the most frequent one it resembles, else a new one."""
    rank = ranked.select(pl.col("first").alias("step_index")).with_row_index("rank")
    rows = counts.join(rank, on="step_index", how="inner").sort("rank")
    owner, name, calls = (rows[column].to_numpy().astype(np.int64) for column in ("rank", "name", "calls"))
    total = np.bincount(owner, weights=calls, minlength=ranked.height)
    classes = np.full(ranked.height, -1, dtype=np.int32)
    for index in range(MOST_CLASSES):
        left = np.flatnonzero(classes < 0)
        if left.size == 0:
            return classes
        alike = _likeness(int(left[0]), owner, name, calls, total) >= ALIKE
        classes[left[alike[left]]] = index
    left = np.flatnonzero(classes < 0)
    classes[left] = MOST_CLASSES + np.arange(left.size, dtype=np.int32)
    return classes


def _likeness(head: int, owner: Int64Array, name: Int64Array, calls: Int64Array, total: np.ndarray) -> np.ndarray:
    """Bray-Curtis similarity of each signature to that of rank `head`."""
    vector = np.zeros(int(name.max()) + 1, dtype=np.int64)
    vector[name[owner == head]] = calls[owner == head]
    shared = np.bincount(owner, weights=np.minimum(calls, vector[name]), minlength=total.size)
    likeness: np.ndarray = 2.0 * shared / (total + total[head])
    return likeness
