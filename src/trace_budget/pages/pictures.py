"""The numbers of the pictures of a trace: layer map, kernel bars, duration histogram, step times."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from trace_budget.analysis.floor import dispatch_floor
from trace_budget.analysis.kernels import kernel_table, layer_map, op_table
from trace_budget.projection.names import matching
from trace_budget.schema.findings import Findings, Int64Array
from trace_budget.schema.page import Histogram, KernelBars, LayerMap, Mark, StepTimes
from trace_budget.units import NS_PER_US, us_from_ns

MOST_SITES = 32
MOST_KERNELS = 20
MOST_STEPS = 2_000
BINS_PER_DECADE = 12


@dataclass(frozen=True, slots=True)
class Marked:
    """What stands out in every picture: the title of it, the ops it consists of, and their kernel names."""

    title: str
    op_id: Int64Array
    names: tuple[str, ...]


def heaviest(found: Findings) -> Marked:
    """The kernel with the most time: what stands out while no candidate was named."""
    ops = op_table(found.trace, found.steps, found.layers, found.overlap)
    name = kernel_table(found.trace, found.steps, found.layers, found.overlap)["kernel"][0]
    return Marked(name, ops.filter(pl.col("name").cast(pl.String) == name)["op_id"].to_numpy(), (name,))


def named(found: Findings, kernel: str | None) -> Marked:
    """The kernels of the counted steps that a pattern means; none without one."""
    rows = kernel_table(found.trace, found.steps, found.layers, found.overlap)["kernel"].to_list()
    names = tuple(matching(kernel, rows)) if kernel else ()
    return Marked(kernel or "", np.array([], dtype=np.int64), names)


def layer_picture(found: Findings, marked: Marked) -> LayerMap | None:
    """The layer x kernel map over the counted steps; None when no layers were found.

    With too many call sites for one picture those of matched kernels and those with the most time stay.
    """
    if not found.layers.layers:
        return None
    ops = op_table(found.trace, found.steps, found.layers, found.overlap)
    rows = layer_map(ops)
    if rows.is_empty():
        return None
    timed = rows.with_columns((pl.col("mean_ns") * pl.col("calls") / NS_PER_US).alias("us"))
    sites = (
        timed.group_by("position", "kernel")
        .agg(pl.col("layer_index").n_unique().alias("layers_hit"), pl.col("us").sum())
        .join(_sites_of(ops, marked), on=["position", "kernel"], how="left")
        .with_columns(pl.col("matched").fill_null(value=False))
    )
    kept = sites.sort("matched", "us", "position", "kernel", descending=[True, True, False, False]).head(MOST_SITES)
    ordered = kept.sort("position", "kernel").with_row_index("site").cast({"site": pl.Int64})
    cells = timed.join(ordered.select("site", "position", "kernel"), on=["position", "kernel"], how="inner")
    return LayerMap(
        ordered.select("kernel", "position", "layers_hit", "matched"),
        cells.select("site", "layer_index", "calls", "us").sort("site", "layer_index"),
        max(found.layers.layers, int(timed["layer_index"].to_numpy().max()) + 1),
        sites.height - ordered.height,
    )


def _sites_of(ops: pl.DataFrame, marked: Marked) -> pl.DataFrame:
    """The call sites at which marked ops run."""
    hit = ops.filter(pl.col("op_id").is_in(marked.op_id.tolist()))
    return hit.select(
        "position", pl.col("name").cast(pl.String).alias("kernel"), pl.lit(value=True).alias("matched")
    ).unique()


def kernel_bars(found: Findings, marked: Marked) -> KernelBars:
    """Kernels by time per step, the smallest summed up in a last row."""
    rows = kernel_table(found.trace, found.steps, found.layers, found.overlap).select(
        "kernel",
        (pl.col("ns_per_step") / NS_PER_US).alias("us_per_step"),
        "pct_of_step",
        "calls_per_step",
        pl.col("kernel").is_in(list(marked.names)).alias("matched"),
    )
    shown = rows if rows.height <= MOST_KERNELS + 1 else _with_others(rows)
    total = float(rows["us_per_step"].sum())
    share = (100.0 * pl.col("us_per_step").cum_sum() / total) if total else pl.lit(None, dtype=pl.Float64)
    return KernelBars(
        shown.with_columns(share.alias("cumulative_pct")), rows.height - shown.height + (rows.height > shown.height)
    )


def _with_others(rows: pl.DataFrame) -> pl.DataFrame:
    """The first rows, matched kernels beyond them, and the sum of the rest."""
    place = pl.int_range(pl.len())
    top = rows.filter((place < MOST_KERNELS) | pl.col("matched"))
    rest = rows.filter((place >= MOST_KERNELS) & ~pl.col("matched"))
    others = rest.select(
        pl.lit(f"{rest.height} other kernels").alias("kernel"), pl.col("us_per_step").sum(),
        pl.col("pct_of_step").sum(),
        pl.col("calls_per_step").sum(), pl.lit(value=False).alias("matched"),
    )  # fmt: skip
    return pl.concat([top, others])


def duration_histogram(found: Findings, marked: Marked, marks: tuple[Mark, ...] = ()) -> Histogram | None:
    """Durations of the kernels of the counted steps, in bins of equal ratio; None without usable times."""
    ops = op_table(found.trace, found.steps, found.layers, found.overlap)
    kernels = ops.filter(pl.col("kind") == "kernel") if (ops["kind"] == "kernel").any() else ops
    timed = kernels.drop_nulls("dur_ns").select("dur_ns", pl.col("op_id").is_in(marked.op_id.tolist()).alias("hit"))
    positive = timed.filter(pl.col("dur_ns") > 0)
    if positive.is_empty():
        return None
    exponent = np.log10(positive["dur_ns"].to_numpy()) * BINS_PER_DECADE
    first, last = int(np.floor(exponent.min())), int(np.floor(exponent.max())) + 1
    edges = np.arange(first, last + 1) / BINS_PER_DECADE
    hit = positive["hit"].to_numpy()
    counts = [
        np.bincount(np.floor(exponent[rows]).astype(np.int64) - first, minlength=last - first) for rows in (hit, ~hit)
    ]
    bounds = 10.0**edges / NS_PER_US
    bins = pl.DataFrame({"low_us": bounds[:-1], "high_us": bounds[1:], "matched": counts[0], "others": counts[1]})
    floor = dispatch_floor(found.trace).floor_ns
    lines = () if floor is None else (Mark("dispatch floor", us_from_ns(floor)),)
    return Histogram(bins, (*lines, *marks), marked.title, timed.height - positive.height)


def step_times(found: Findings) -> StepTimes:
    """The time of every step that is counted or was left out, thinned when there are too many."""
    frame = found.steps.frame
    used = frame.filter(pl.col("used"))
    measure = "interval" if used.height >= 2 and used["interval_ns"].drop_nulls().len() else "window"
    rows = frame.select(
        pl.col("step_index").cast(pl.Int64), (pl.col(f"{measure}_ns") / NS_PER_US).alias("us"), "name", "why_out"
    ).drop_nulls("us")
    counted = pl.col("why_out") == ""
    stride = max(1, -(-rows.filter(counted).height // MOST_STEPS))
    kept = rows.filter((counted & (pl.int_range(pl.len()).over(counted) % stride == 0)) | ~counted)
    outside = kept.filter(~counted)
    if outside.height > MOST_STEPS:
        kept = pl.concat([kept.filter(counted), outside.sort("us", descending=True).head(MOST_STEPS)]).sort(
            "step_index"
        )
    return StepTimes(kept, us_from_ns(found.steps.step_ns), measure, rows.height - kept.height)
