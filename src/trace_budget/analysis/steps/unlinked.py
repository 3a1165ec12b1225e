"""Ops that show no launch, such as collectives with correlation 0: of the step whose ops run around them."""

from __future__ import annotations

import numpy as np
import polars as pl

from trace_budget.schema.trace import Trace


def own_unlinked(trace: Trace, in_scope: np.ndarray, op_step: np.ndarray) -> np.ndarray:
    """Give ops without a launch and without a step the step of the ops before and behind them on their stream.

    A stream works in order, so what runs between two ops of one step is of that step. On a stream that shows no launch
    at all the ops of the other streams decide.
    """
    open_ops = in_scope & (op_step < 0) & trace.gpu_ops["launch_id"].is_null().to_numpy()
    if not open_ops.any() or not (op_step >= 0).any():
        return op_step
    ops = trace.gpu_ops.select("op_id", "stream", "start_ns", pl.Series("mine", in_scope), pl.Series("own", op_step))
    ops = ops.filter(pl.col("mine") & pl.col("start_ns").is_not_null()).with_columns(
        pl.when(pl.col("own") >= 0).then("own").alias("step")
    )
    ops = ops.with_columns(pl.col("step").is_not_null().any().over("stream").alias("linked"))
    around = pl.col("step").forward_fill(), pl.col("step").backward_fill()
    between = [
        pl.when(pl.col("linked")).then(fill.over("stream", order_by="op_id")).otherwise(fill).alias(name)
        for name, fill in zip(("before", "behind"), around, strict=True)
    ]
    found = ops.select("op_id", *between).filter(pl.col("before") == pl.col("behind"))
    step = op_step.copy()
    rows = found["op_id"].to_numpy()
    rows, values = rows[open_ops[rows]], found["before"].to_numpy()[open_ops[rows]]
    step[rows] = values.astype(step.dtype)
    return step
