"""One layer of one step in time: what runs, in which order, on which stream, and for how long."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from trace_budget.errors import OutputError
from trace_budget.pages.strip import typical_step
from trace_budget.schema.findings import Findings
from trace_budget.schema.pictures import OneLayer

MOST_OPS = 2_000


def one_layer(found: Findings, names: Sequence[str] = (), among: tuple[str, ...] = ()) -> OneLayer:
    """The middle layer that runs one of `names`, else the middle one, of the step nearest the median.

    Raises OutputError where no layers were found.
    """
    step = typical_step(found)
    ops = found.trace.gpu_ops.select("start_ns", "end_ns", "stream", pl.col("name").cast(pl.String).alias("kernel"))
    inside = (
        ops.with_columns(pl.Series("layer", found.layers.op_layer))
        .filter(pl.Series(found.steps.op_step == step) & (pl.col("layer") >= 0))
        .drop_nulls(["start_ns", "end_ns"])
    )
    if inside.is_empty():
        raise OutputError("no layers were found: there is no layer to draw", where="--plot", advice="Give --layers N.")
    hit = inside.filter(pl.col("kernel").is_in(list(names))) if names else inside
    layers = np.unique((hit if hit.height else inside)["layer"].to_numpy())
    layer = int(layers[layers.size // 2])
    bars = _bars(inside.filter(pl.col("layer") == layer).sort("start_ns").head(MOST_OPS), names)
    streams = bars["stream"].unique(maintain_order=True).to_list()
    rows = pl.DataFrame(
        {"stream": streams, "row": range(len(streams))}, schema_overrides={"stream": bars.schema["stream"]}
    )
    placed = bars.join(rows, on="stream", how="left", nulls_equal=True, maintain_order="left")
    kernels = placed.group_by("kernel", maintain_order=True).agg(
        pl.len().alias("calls"), pl.col("us").sum(), pl.col("number").first(), pl.col("matched").first()
    )
    titles = tuple("stream unknown" if stream is None else f"stream {stream}" for stream in streams)
    end = float((placed["start_us"] + placed["us"]).to_numpy().max())
    columns = ("row", "start_us", "us", "kernel", "number", "matched")
    return OneLayer(layer, found.layers.layers, step, titles, placed.select(columns), kernels, end, among)


def _bars(ops: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    begin = pl.col("start_ns").min()
    return ops.with_columns(
        ((pl.col("start_ns") - begin) / 1000).alias("start_us"),
        ((pl.col("end_ns") - pl.col("start_ns")) / 1000).alias("us"),
        pl.col("kernel").is_in(list(names)).alias("matched"),
    ).join(
        ops.select(pl.col("kernel").unique(maintain_order=True)).with_row_index("number", 1).cast({"number": pl.Int64}),
        on="kernel", how="left", maintain_order="left",
    )  # fmt: skip
