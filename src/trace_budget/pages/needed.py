"""Kernels by what the target asks of them: share of the token and needed speed-up."""

from __future__ import annotations

import polars as pl

from trace_budget.projection.verdict import dilution_of
from trace_budget.schema.options import Policy
from trace_budget.schema.pictures import Needed


def needed(rows: pl.DataFrame, policy: Policy, among: tuple[str, ...] = ()) -> Needed:
    """The picture of the rows of `threshold`; kernels whose share is unknown have no place in it."""
    frame = rows.select(
        pl.col("kernel").cast(pl.String),
        pl.col("ceiling_pct").alias("share_pct"),
        pl.col("required_speedup").alias("speedup"),
        "can",
    ).filter(pl.col("share_pct") > 0)
    ordered = frame.sort("share_pct", descending=True, maintain_order=True)
    return Needed(ordered, policy.target_pct, dilution_of(policy), among)
