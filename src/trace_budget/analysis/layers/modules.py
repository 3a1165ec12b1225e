"""Layers from module names: eager traces with Python stacks say `nn.Module: Qwen3DecoderLayer_12`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from trace_budget.schema.findings import Int32Array, Steps
from trace_budget.schema.trace import Trace

COVERS = 0.5  # a layer class must own this share of the steps' ops
SURE = 0.8  # less leaves room for layers of another class
NEARLY = 0.9  # a class that owns this share of what its owner owns is the finer description of the same work
MIN_LAYERS = 2


@dataclass(frozen=True, slots=True)
class ModuleLayers:
    """Layer of each row of gpu_ops by module (-1 for none), the module class, and the layer count."""

    op_layer: Int32Array
    module: str
    layers: int
    confidence: str


def by_modules(trace: Trace, steps: Steps) -> ModuleLayers | None:
    """The module class whose numbered instances are the layers; None without module names.

    Of the classes that own most ops of the used steps, nearly as many as any other, it is the one of most instances.
    """
    calls = _instances(trace)
    if calls is None:
        return None
    in_steps = np.isin(steps.op_step, steps.used)
    launch = trace.gpu_ops["launch_id"].fill_null(-1).to_numpy()
    ops = np.bincount(launch[in_steps & (launch >= 0)], minlength=trace.calls.height)
    total = int(ops.sum())
    ranges = calls.with_columns(pl.Series("ops", _ops_inside(trace, calls, ops)))
    classes = (
        ranges.filter(pl.col("ops") > 0)
        .group_by("module", maintain_order=True)
        .agg(pl.col("ops").sum(), pl.col("instance").n_unique().alias("layers"))
        .filter((pl.col("layers") >= MIN_LAYERS) & (pl.col("ops") >= COVERS * total))
        .filter(pl.col("ops") >= NEARLY * pl.col("ops").max())
        .sort("layers", "ops", descending=True, maintain_order=True)
    )
    if classes.is_empty():
        return None
    module, owned = str(classes["module"][0]), int(classes["ops"][0])
    chosen = ranges.filter((pl.col("module") == module) & (pl.col("ops") > 0))
    return _assign(trace, chosen, module, "high" if owned >= SURE * total else "medium")


def _instances(trace: Trace) -> pl.DataFrame | None:
    """Module calls with their class and instance number, outermost and earliest first."""
    rows = trace.markers.filter(pl.col("kind") == "module")
    if rows.is_empty() or trace.calls.is_empty():
        return None
    texts = rows["name"].cast(pl.String)
    parts = texts.str.extract_groups(r"^nn\.Module: (?<module>.+)_(?<instance>\d+)$").struct.unnest()
    return (
        rows.select("pid", "tid", "start_ns", "end_ns")
        .with_columns(parts["module"], parts["instance"].cast(pl.Int64, strict=False))
        .drop_nulls("instance")
    )


def _ops_inside(trace: Trace, ranges: pl.DataFrame, ops: np.ndarray) -> np.ndarray:
    """Ops launched inside each range on its own thread."""
    out = np.zeros(ranges.height, dtype=np.int64)
    numbered = ranges.with_row_index("row")
    for (pid, tid), group in numbered.group_by(["pid", "tid"], maintain_order=True):
        thread = trace.calls.filter(pl.col("pid").eq_missing(pid) & pl.col("tid").eq_missing(tid))
        total = np.concatenate(([0], np.cumsum(ops[thread["launch_id"].to_numpy()])))
        starts = thread["start_ns"].to_numpy()
        low = np.searchsorted(starts, group["start_ns"].to_numpy(), side="left")
        high = np.searchsorted(starts, group["end_ns"].to_numpy(), side="left")
        out[group["row"].to_numpy()] = total[high] - total[low]
    return out


def _assign(trace: Trace, chosen: pl.DataFrame, module: str, confidence: str) -> ModuleLayers:
    """Number the instances in order of their first call and give each launch inside a call its layer."""
    order = chosen.group_by("instance").agg(pl.col("start_ns").min()).sort("start_ns")
    layer = order.with_columns(pl.int_range(pl.len(), dtype=pl.Int32).alias("layer")).select("instance", "layer")
    rows = chosen.join(layer, on="instance", how="left").sort("start_ns")
    call_layer = np.full(trace.calls.height, -1, dtype=np.int32)
    for (pid, tid), group in rows.group_by(["pid", "tid"], maintain_order=True):
        thread = trace.calls.filter(pl.col("pid").eq_missing(pid) & pl.col("tid").eq_missing(tid))
        starts = thread["start_ns"].to_numpy()
        last = np.searchsorted(group["start_ns"].to_numpy(), starts, side="right") - 1
        inside = (last >= 0) & (starts < group["end_ns"].to_numpy()[np.maximum(last, 0)])
        layers = group["layer"].to_numpy()[np.maximum(last, 0)]
        call_layer[thread["launch_id"].to_numpy()] = np.where(inside, layers, -1)
    launch = trace.gpu_ops["launch_id"].fill_null(-1).to_numpy()
    op_layer = np.where(launch >= 0, call_layer[np.maximum(launch, 0)], -1).astype(np.int32)
    return ModuleLayers(op_layer, module, layer.height, confidence)
