"""Steps that a table of device work states itself, row by row: a range on the device around the rows of each."""

from __future__ import annotations

import polars as pl

from trace_budget.readers.csv_trace import NO_MARKERS


def steps_of(ops: pl.DataFrame) -> pl.DataFrame:
    """Ranges from the columns `step` and, where there is one, `phase`: `step[#N]`, or `PHASE[N]` where it is known.

    `ops` also holds device, pid, start_ns and end_ns; without `step`, and in rows where it is empty, there is none.
    """
    if "step" not in ops.columns:
        return NO_MARKERS
    step = pl.col("step").cast(pl.String).str.strip_chars()
    phase = pl.col("phase").str.to_lowercase() if "phase" in ops.columns else pl.lit(None, pl.String)
    text = pl.when(phase.is_in(("decode", "prefill"))).then(phase + "[" + step + "]").otherwise("step[#" + step + "]")
    named = ops.filter(step.is_not_null() & (step != "")).with_columns(text.alias("range"))
    around = named.group_by("range", "device", maintain_order=True).agg(
        pl.col("start_ns").min(), pl.col("end_ns").max(), pl.col("pid").first()
    )
    return around.drop_nulls(["start_ns", "end_ns"]).select(
        pl.lit("gpu_annotation").alias("kind"), pl.col("range").alias("name"), "pid",
        pl.lit(None, pl.Int64).alias("tid"), pl.col("device").cast(pl.Int32), "start_ns", "end_ns",
    )  # fmt: skip
