"""On which device copies ran whose own records do not say, or number devices otherwise than those of kernels.

A copy belongs to the device whose kernels share its stream, else the thread that launched it, else its process, else
the trace: the first of these whose kernels all run on one device. Without any the device stays unknown.
"""

from __future__ import annotations

import polars as pl


def with_devices_of_copies(ops: pl.DataFrame, calls: pl.DataFrame) -> pl.DataFrame:
    """Fill `device` of copies and fills where it is null; `launch_id` of ops counts the rows of `calls`."""
    kind = pl.col("kind").cast(pl.String)
    if "device" not in ops.columns or not ops.filter((kind != "kernel") & pl.col("device").is_null()).height:
        return ops
    places = ops.select("device", _known(ops, "pid"), _known(ops, "stream"), _known(ops, "launch_id"), kind=kind)
    threads = calls.select(_known(calls, "tid")).with_row_index("launch_id").cast({"launch_id": pl.Int64})
    placed = places.join(threads, on="launch_id", how="left", maintain_order="left").with_columns(trace=pl.lit(0))
    kernels = placed.filter(pl.col("kind") == "kernel").drop_nulls("device")
    found = [pl.col("device")]
    for number, place in enumerate((("pid", "stream"), ("pid", "tid"), ("pid",), ("trace",))):
        one = _of_one_device(kernels, place).rename({"device": f"found_{number}"})
        placed = placed.join(one, on=list(place), how="left", nulls_equal=True, maintain_order="left")
        found.append(pl.when(pl.col(place[-1]).is_not_null()).then(pl.col(f"found_{number}")))
    filled = placed.select(pl.when(pl.col("kind") == "kernel").then("device").otherwise(pl.coalesce(found)))
    return ops.with_columns(filled.to_series().alias("device"))


def _known(frame: pl.DataFrame, column: str) -> pl.Expr:
    return (pl.col(column) if column in frame.columns else pl.lit(None)).cast(pl.Int64).alias(column)


def _of_one_device(kernels: pl.DataFrame, place: tuple[str, ...]) -> pl.DataFrame:
    """The device of each place whose kernels all run on one."""
    known = kernels.group_by(place).agg(pl.col("device").n_unique().alias("devices"), pl.col("device").first())
    return known.filter(pl.col("devices") == 1).select(*place, "device")
