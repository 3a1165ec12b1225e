"""Step classes: steps that run the same kernels equally often, so that unlike steps are never averaged."""

from __future__ import annotations

import numpy as np
import polars as pl

from trace_budget.schema.findings import Int32Array
from trace_budget.schema.trace import Trace

ALIKE = 0.9  # Bray-Curtis similarity of two kernel multisets that makes one class
MOST_SIGNATURES = 512


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
    mapping = _merged(ranked, counts)
    joined = signatures.join(mapping, on="signature", how="left").select("step_index", "class_index")
    return steps.join(joined, on="step_index", how="left", maintain_order="left")


def _merged(ranked: pl.DataFrame, counts: pl.DataFrame) -> pl.DataFrame:
    """Give each signature a class: that of a more frequent signature it resembles, else a new one."""
    width = int(counts["name"].to_numpy().max()) + 1
    by_step = {key[0]: group for key, group in counts.group_by("step_index") if key[0] in set(ranked["first"])}
    heads: list[np.ndarray] = []
    classes: list[int] = []
    for first in ranked["first"].head(MOST_SIGNATURES):
        vector = np.zeros(width, dtype=np.int64)
        rows = by_step[first]
        vector[rows["name"].to_numpy()] = rows["calls"].to_numpy()
        likeness = [2 * np.minimum(vector, head).sum() / (vector.sum() + head.sum()) for head in heads]
        best = int(np.argmax(likeness)) if likeness else -1
        if best < 0 or likeness[best] < ALIKE:
            heads.append(vector)
            best = len(heads) - 1
        classes.append(best)
    rest = ranked.height - len(classes)
    index = pl.Series("class_index", [*classes, *([len(heads)] * rest)], dtype=pl.Int32)
    return ranked.select("signature").with_columns(index)
