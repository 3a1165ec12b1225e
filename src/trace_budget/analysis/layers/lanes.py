"""Lanes: the kernels of each step on its busiest stream, where layers repeat in order, and those beside it."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import polars as pl

from trace_budget.schema.findings import Int64Array, Steps
from trace_budget.schema.trace import Trace


@dataclass(frozen=True, slots=True)
class Lane:
    """The kernels of one step on its busiest stream, in time order; the merged order would tear the repetition apart.

    `ops` are rows of gpu_ops, `codes` their names as integers, `start_ns` their starts.
    """

    step: int
    stream: int | None
    ops: Int64Array
    codes: Int64Array
    start_ns: Int64Array


def kernels_of(trace: Trace, steps: Steps) -> pl.DataFrame:
    """Kernels of the used steps: op_id, step_index, code, stream, start_ns, busiest, lane (whether on the busiest)."""
    inside = (
        trace.gpu_ops.select("op_id", "kind", "stream", "start_ns", pl.col("name").to_physical().cast(pl.Int64))
        .rename({"name": "code"})
        .with_columns(pl.Series("step_index", steps.op_step))
        .filter(
            (pl.col("kind") == "kernel")
            & pl.col("start_ns").is_not_null()
            & pl.col("step_index").is_in(steps.used.tolist())
        )
    )
    busiest = (
        inside.group_by("step_index", "stream")
        .len()
        .sort("step_index", "len", "stream", descending=[False, True, False], nulls_last=True)
        .unique("step_index", keep="first", maintain_order=True)
        .select("step_index", pl.col("stream").alias("busiest"))
    )
    joined = inside.join(busiest, on="step_index", how="left", maintain_order="left")
    return joined.with_columns(pl.col("stream").eq_missing(pl.col("busiest")).alias("lane")).sort("step_index", "op_id")


def lanes_of(kernels: pl.DataFrame) -> list[Lane]:
    """One lane per step, as views into the columns."""
    rows = kernels.filter("lane")
    index, streams = rows["step_index"].to_numpy(), rows["busiest"]
    edges = np.flatnonzero(np.diff(index, prepend=-1)).tolist()
    columns = [rows[name].to_numpy() for name in ("op_id", "code", "start_ns")]
    return [
        Lane(int(index[low]), streams[low], *(column[low:high] for column in columns))
        for low, high in pairwise([*edges, index.size])
    ]
