"""Overlap and idle time: what runs alone, what is hidden under other work, and when a device does nothing."""

from __future__ import annotations

import numpy as np
import polars as pl

from trace_budget.intervals import depth, stack_groups, union_length_by_group
from trace_budget.schema.findings import Overlap
from trace_budget.schema.trace import Trace


def find_overlap(trace: Trace) -> Overlap:
    """Exposed time of every op and the sums per device and per stream.

    Exposed means: nothing else runs on the same device at that instant, on no stream (PDL neighbours on one stream
    included). Devices are swept apart: their clocks need not agree. Ops without usable times get 0.
    """
    ops = trace.gpu_ops.select("op_id", "device", "stream", "kind", "start_ns", "end_ns").drop_nulls(
        ["start_ns", "end_ns"]
    )
    solo = np.zeros(trace.gpu_ops.height, dtype=np.int64)
    if ops.is_empty():
        return Overlap(solo, _sums(ops, ["device"]), _sums(ops, ["device", "stream"]))
    device = ops["device"].rank("dense").fill_null(0).to_numpy().astype(np.int64)
    start, end, _ = stack_groups(device, ops["start_ns"].to_numpy(), ops["end_ns"].to_numpy())
    solo[ops["op_id"].to_numpy()] = depth(start, end).solo_ns
    exposed = ops.with_columns(pl.Series("solo_ns", solo[ops["op_id"].to_numpy()]))
    return Overlap(solo, _sums(exposed, ["device"]), _sums(exposed, ["device", "stream"]))


def _sums(ops: pl.DataFrame, keys: list[str]) -> pl.DataFrame:
    """One row per device (or stream): window, sum, union, idle and hidden time in ns."""
    if ops.is_empty():
        return pl.DataFrame(schema={**dict.fromkeys(keys, pl.Int64), **dict.fromkeys(_SUM_COLUMNS, pl.Int64)})
    sums = ops.group_by(keys, maintain_order=True).agg(
        pl.len().cast(pl.Int64).alias("gpu_ops"),
        (pl.col("kind") == "kernel").sum().cast(pl.Int64).alias("kernels"),
        (pl.col("end_ns").max() - pl.col("start_ns").min()).alias("window_ns"),
        (pl.col("end_ns") - pl.col("start_ns")).sum().alias("kernel_ns"),
        pl.col("solo_ns").sum().alias("exposed_ns"),
    )
    number = ops.select(keys).join(
        sums.select(keys).with_row_index("group"), on=keys, how="left", nulls_equal=True, maintain_order="left"
    )
    busy = union_length_by_group(
        number["group"].to_numpy().astype(np.int64), ops["start_ns"].to_numpy(), ops["end_ns"].to_numpy(), sums.height
    )
    return (
        sums.with_columns(pl.Series("busy_ns", busy))
        .with_columns(
            (pl.col("window_ns") - pl.col("busy_ns")).alias("idle_ns"),
            (pl.col("kernel_ns") - pl.col("exposed_ns")).alias("overlap_ns"),
        )
        .sort("kernel_ns", descending=True)
        .select(*keys, *_SUM_COLUMNS)
    )


_SUM_COLUMNS = ("gpu_ops", "kernels", "window_ns", "kernel_ns", "busy_ns", "idle_ns", "exposed_ns", "overlap_ns")
