"""Kernels: how often each runs per step and per layer, how long, how exposed, and its share of the step."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from trace_budget.schema.findings import Layers, Overlap, Steps
from trace_budget.schema.trace import Trace

KEYS = ["kind", "name"]
TABLE = (
    "kernel", "kind", "calls_per_step", "calls", "layers", "layers_hit", "calls_per_layer", "steps", "steps_hit",
    "mean_ns", "median_ns", "min_ns", "max_ns", "ns_per_step", "pct_of_step", "exposed_ns_per_step", "layer_types",
)  # fmt: skip


def op_table(trace: Trace, steps: Steps, layers: Layers, overlap: Overlap) -> pl.DataFrame:
    """gpu_ops of the used steps with step_index, layer_index, position, dur_ns (null when unknown) and solo_ns."""
    frame = trace.gpu_ops.with_columns(
        pl.Series("step_index", steps.op_step),
        pl.Series("layer_index", layers.op_layer),
        pl.Series("position", layers.op_position),
        pl.Series("solo_ns", overlap.solo_ns),
        (pl.col("end_ns") - pl.col("start_ns")).alias("dur_ns"),
    )
    return frame.filter(pl.col("step_index").is_in(steps.used.tolist()))


def kernel_table(trace: Trace, steps: Steps, layers: Layers, overlap: Overlap) -> pl.DataFrame:
    """One row per (kind, name) over the used steps, most time per step first.

    Columns: kernel, kind, calls_per_step (mean), calls, layers, layers_hit and calls_per_layer (median over the steps
    that run it; null when layers are unknown), steps, steps_hit, mean_ns, median_ns, min_ns, max_ns (over calls with
    usable times), ns_per_step, pct_of_step (of the median step time), exposed_ns_per_step; null without usable times.
    layer_types says which of the model's layers run it; null without the model's configuration.
    """
    ops = op_table(trace, steps, layers, overlap)
    count = max(len(steps.used), 1)
    step_ns = steps.step_ns if steps.step_ns > 0 else None
    timed = pl.col("dur_ns").count() > 0
    durations = ops.group_by(KEYS).agg(
        pl.len().cast(pl.Int64).alias("calls"),
        pl.col("step_index").n_unique().cast(pl.Int64).alias("steps_hit"),
        pl.col("dur_ns").mean().alias("mean_ns"),
        pl.col("dur_ns").median().alias("median_ns"),
        pl.col("dur_ns").min().alias("min_ns"),
        pl.col("dur_ns").max().alias("max_ns"),
        pl.when(timed).then(pl.col("dur_ns").sum() / count).alias("ns_per_step"),
        pl.when(timed).then(pl.col("solo_ns").sum() / count).alias("exposed_ns_per_step"),
    )
    rows = durations.join(_layer_hits(ops), on=KEYS, how="left").join(_types_hit(ops, layers), on=KEYS, how="left")
    known = layers.layers > 0
    return (
        rows.with_columns(
            pl.col("name").cast(pl.String).alias("kernel"),
            pl.col("kind").cast(pl.String),
            (pl.col("calls") / count).alias("calls_per_step"),
            pl.lit(layers.layers if known else None, dtype=pl.Int64).alias("layers"),
            (pl.col("layers_hit").fill_null(0) if known else pl.lit(None)).cast(pl.Int64).alias("layers_hit"),
            (pl.col("calls_per_layer") if known else pl.lit(None)).cast(pl.Float64).alias("calls_per_layer"),
            pl.lit(count, dtype=pl.Int64).alias("steps"),
            (100.0 * pl.col("ns_per_step") / pl.lit(step_ns, dtype=pl.Float64)).alias("pct_of_step"),
        )
        .sort("ns_per_step", "kernel", descending=[True, False], nulls_last=True)
        .select(TABLE)
    )


def _layer_hits(ops: pl.DataFrame) -> pl.DataFrame:
    """Layers hit per step and calls per hit layer, the median over the steps that run the kernel."""
    inside = ops.filter(pl.col("layer_index") >= 0)
    per_step = inside.group_by([*KEYS, "step_index"]).agg(
        pl.col("layer_index").n_unique().alias("hit"), pl.len().alias("inside")
    )
    return per_step.group_by(KEYS).agg(
        pl.col("hit").median().round().cast(pl.Int64).alias("layers_hit"),
        (pl.col("inside") / pl.col("hit")).median().alias("calls_per_layer"),
    )


def types_text(layer_index: Iterable[int | None], types: tuple[str, ...]) -> str | None:
    """Which types of layers these are: `48 of 48 linear_attention`; None where types or layers are unknown."""
    hit = {layer for layer in layer_index if layer is not None and 0 <= layer < len(types)}
    if not hit:
        return None
    kinds = dict.fromkeys(types)
    counts = [(sum(types[layer] == kind for layer in hit), types.count(kind), kind) for kind in kinds]
    return ", ".join(f"{here} of {total} {kind}" for here, total, kind in counts if here)


def _types_hit(ops: pl.DataFrame, layers: Layers) -> pl.DataFrame:
    """KEYS and layer_types of every kernel inside layers."""
    empty = ops.select(KEYS).clear().with_columns(pl.lit(None, dtype=pl.String).alias("layer_types"))
    if not layers.types:
        return empty
    inside = ops.filter(pl.col("layer_index") >= 0).group_by(KEYS).agg(pl.col("layer_index").unique())
    texts = [types_text(row, layers.types) for row in inside["layer_index"].to_list()]
    return inside.select(*KEYS, pl.Series("layer_types", texts, dtype=pl.String))


def layer_map(ops: pl.DataFrame) -> pl.DataFrame:
    """The layer x kernel map: calls of each kernel in each layer and position over the used steps.

    Columns: kernel, layer_index, position, calls (per used step, mean), mean_ns (per call).
    """
    count = max(ops["step_index"].n_unique(), 1)
    return (
        ops.filter((pl.col("layer_index") >= 0) & (pl.col("kind") == "kernel"))
        .group_by("layer_index", "position", "name")
        .agg((pl.len() / count).alias("calls"), pl.col("dur_ns").mean().alias("mean_ns"))
        .with_columns(pl.col("name").cast(pl.String).alias("kernel"))
        .sort("layer_index", "position", "kernel")
        .select("kernel", "layer_index", "position", "calls", "mean_ns")
    )
