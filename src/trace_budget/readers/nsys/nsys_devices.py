"""Which GPU a CUDA ordinal means: with CUDA_VISIBLE_DEVICES each process counts its own, from 0.

TARGET_INFO_CUDA_DEVICE names the GPU (gpuId, uuid) of each (process, ordinal). Source: docs.nvidia.com/nsight-systems,
"SQLite Schema Reference". Ordinals that mean one GPU in all processes are kept, as they are what users know.
"""

from __future__ import annotations

import polars as pl

from trace_budget.readers.records import Tables

_TABLE = "TARGET_INFO_CUDA_DEVICE"


def gpus_of(tables: Tables) -> pl.DataFrame:
    """(pid, device, gpu): the number of the GPU for each ordinal; empty where processes do not disagree."""
    columns: dict[str, pl.DataType] = {name: pl.Int64() for name in ("gpuId", "cudaId", "pid")}
    rows = tables.read(_TABLE, {**columns, "uuid": pl.String()}).drop_nulls(["cudaId", "pid"])
    by_uuid = pl.col("uuid").rank("dense").cast(pl.Int64) - 1
    known = rows.with_columns(pl.coalesce("gpuId", by_uuid).alias("gpu")).drop_nulls("gpu")
    gpus = known.select("pid", pl.col("cudaId").alias("device"), "gpu").unique(["pid", "device"], keep="first")
    pairs = gpus.select("device", "gpu").unique()
    agree = pairs["device"].n_unique() == pairs.height == pairs["gpu"].n_unique()
    return gpus.clear() if agree else gpus


def renumbered(rows: pl.DataFrame, gpus: pl.DataFrame) -> pl.DataFrame:
    """Rows (pid, device) with the number of their GPU; unknown where the process's ordinal is not listed."""
    if not gpus.height:
        return rows
    found = rows.select("pid", "device").join(gpus, on=["pid", "device"], how="left", maintain_order="left")
    return rows.with_columns(found["gpu"].alias("device"))
