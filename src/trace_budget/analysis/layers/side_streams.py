"""Kernels beside the main stream: the layer they belong to, and their call sites."""

from __future__ import annotations

import polars as pl

RARE = 1 / 8  # a kernel on another stream that runs in fewer layers than this share runs beside them, not in them


def side_layers(side: pl.DataFrame) -> pl.DataFrame:
    """Add `layer` to the kernels beside the lanes: step_index, op_id, code, running (layer in the lane then), layers.

    A layer owns what starts while it runs. Streams lag: where that gives an uneven picture, but the calls divide evenly
    among the layers, they are dealt out in order instead.
    """
    calls = pl.len().over("step_index", "code")
    turn = pl.int_range(pl.len()).over("step_index", "code")
    in_layer = pl.len().over("step_index", "code", "running")
    even = ((in_layer == in_layer.min().over("step_index", "code")) & (pl.col("running") >= 0)).all()
    known = side.with_columns(
        calls.alias("calls"), turn.alias("turn"), even.over("step_index", "code").alias("even_by_time")
    )
    divides = pl.col("calls") % pl.col("layers") == 0
    by_count = pl.col("turn") // (pl.col("calls") // pl.col("layers")).clip(lower_bound=1)
    layer = pl.when(~pl.col("even_by_time") & divides).then(by_count).otherwise("running")
    rare = pl.col("calls") < RARE * pl.col("layers")
    return known.with_columns(pl.when(rare).then(-1).otherwise(layer).cast(pl.Int32).alias("layer"))


def side_positions(side: pl.DataFrame, first: int) -> pl.Series:
    """Positions from `first` on: one per kernel name and turn inside its layer, the same in every step; -1 outside."""
    turn = pl.int_range(pl.len()).over("step_index", "layer", "code").alias("turn")
    numbered = side.with_columns(turn)
    inside = numbered.filter(pl.col("layer") >= 0)
    sites = inside.select("code", "turn").unique().sort("code", "turn").with_row_index("site", offset=first)
    joined = numbered.join(sites, on=["code", "turn"], how="left", maintain_order="left")
    site = pl.when(pl.col("layer") >= 0).then("site").otherwise(-1)
    return joined.select(site.cast(pl.Int32).alias("position")).to_series()
