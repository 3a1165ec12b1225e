"""A whole recording taken as one step: what can be compared when nothing marks the same work in two runs."""

from __future__ import annotations

import numpy as np
import polars as pl

from trace_budget.errors import NotInTraceError
from trace_budget.intervals import union_length
from trace_budget.schema.findings import Layers, Steps
from trace_budget.schema.trace import Trace

METHOD = "whole recording"


def recording(trace: Trace, device: int | None) -> Steps:
    """All ops of a device as one step, from its first start to its last end; NotInTraceError when it has none."""
    mine = trace.gpu_ops["device"].eq_missing(pl.Series([device], dtype=pl.Int32))
    rows = trace.gpu_ops.filter(mine)
    timed = rows.drop_nulls(["start_ns", "end_ns"])
    if timed.is_empty():
        raise NotInTraceError("no work with usable times on this device", where=trace.path, found=f"device {device}")
    start, end = timed["start_ns"].to_numpy(), timed["end_ns"].to_numpy()
    window = int(end.max() - start.min())
    frame = pl.DataFrame(
        {
            "step_index": pl.Series([0], dtype=pl.Int32),
            "name": ["recording"],
            "phase": ["other"],
            "engine": [""],
            "batch_size": pl.Series([None], dtype=pl.Int64),
            "class_index": [0],
            "start_ns": [int(start.min())],
            "end_ns": [int(end.max())],
            "window_ns": [window],
            "busy_ns": [union_length(start, end)],
            "interval_ns": pl.Series([None], dtype=pl.Int64),
            "cpu_ns": pl.Series([None], dtype=pl.Int64),
            "gpu_ops": [rows.height],
            "kernels": [int((rows["kind"] == "kernel").sum())],
            "complete": [trace.complete],
            "used": [True],
            "why_out": [""],
        }
    )
    op_step = np.where(mine.to_numpy(), 0, -1).astype(np.int32)
    return Steps(frame, op_step, device, "other", METHOD, "low")


def no_layers(trace: Trace) -> Layers:
    """Layers of a recording nobody cut into steps: none."""
    nothing = np.full(trace.gpu_ops.height, -1, dtype=np.int32)
    return Layers(nothing, nothing, 0, (), "none", "low")


def totals(trace: Trace) -> pl.DataFrame:
    """Per device: device, kernels, kernel_ns (sum of their durations) and window_ns (first start to last end)."""
    length = pl.col("end_ns") - pl.col("start_ns")
    kernel = pl.col("kind") == "kernel"
    return (
        trace.gpu_ops.group_by("device")
        .agg(
            kernel.sum().cast(pl.Int64).alias("kernels"),
            length.filter(kernel).sum().alias("kernel_ns"),
            (pl.col("end_ns").max() - pl.col("start_ns").min()).alias("window_ns"),
        )
        .sort("device")
    )
