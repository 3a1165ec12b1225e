"""Processes: whose work counts where several share a device."""

from __future__ import annotations

import numpy as np
import polars as pl

from trace_budget.errors import NotInTraceError
from trace_budget.schema.trace import Caveat, Trace


def of_process(trace: Trace, device: int | None, wanted: int | None) -> tuple[np.ndarray, tuple[Caveat, ...]]:
    """Which ops count: those of the device and, where several processes use it, of the one wanted or the busiest.

    An op that names no process is of the one whose call launched it. Raises NotInTraceError for an absent process.
    """
    ops = trace.gpu_ops
    mine = ops["device"].eq_missing(pl.Series([device], dtype=pl.Int32))
    owner = _owners(trace)
    work = (
        ops.select((pl.col("end_ns") - pl.col("start_ns")).alias("ns"))
        .with_columns(owner)
        .filter(mine & owner.is_not_null())
        .group_by("pid")
        .agg(pl.col("ns").sum())
        .sort("ns", "pid", descending=[True, False])
    )
    present = work["pid"].to_list()
    if wanted is not None and wanted not in present:
        raise NotInTraceError(
            "no such process", where=trace.path, expected=f"one of {sorted(present)}", found=str(wanted)
        )
    if work.height < 2:
        return mine.to_numpy(), ()
    pid = present[0] if wanted is None else wanted
    whose = "the one asked for" if wanted is not None else "the busiest one"
    text = (
        f"{work.height} processes work on device {device} ({', '.join(map(str, sorted(present)))}); figures are of"
        f" {whose}, {pid} (--process picks), and work of the others slows its kernels"
    )
    chosen = (mine & (owner == pid)).fill_null(value=False).to_numpy()
    return chosen, (Caveat("several_processes_on_device", text, work.height, "warning"),)


def _owners(trace: Trace) -> pl.Series:
    """The process of each op: its own, else that of the call that launched it; null where neither says."""
    if trace.calls.is_empty() or trace.calls["pid"].n_unique() < 2:
        return trace.gpu_ops["pid"]
    launched = trace.gpu_ops.select("op_id", "pid", "launch_id").join(
        trace.calls.select("launch_id", pl.col("pid").alias("caller")),
        on="launch_id",
        how="left",
        maintain_order="left",
    )
    return launched.select(pl.coalesce("pid", "caller").alias("pid"))["pid"]
