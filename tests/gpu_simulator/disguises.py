"""The same run as a worse recorder shows it: clocks apart or drifting, waits on another thread, work without launches.

Each takes a Trace and gives one whose truth is the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import polars as pl

from trace_budget.schema import build
from trace_budget.schema.check import checked
from trace_budget.schema.trace import Trace

COLLECTIVE = "all_reduce|cross_device_reduce"
Disguise = Callable[[Trace, np.random.Generator], Trace]


def _with_ops(trace: Trace, ops: pl.DataFrame) -> Trace:
    columns = [name for name in ops.columns if name not in ("op_id", "launch_id")]
    return checked(replace(trace, gpu_ops=build.gpu_ops(ops.select(columns), trace.calls)))


def _clocks_apart(low_us: float, high_us: float) -> Disguise:
    """The device's clock shows other times than the host's, by as many us."""

    def shifted(trace: Trace, random: np.random.Generator) -> Trace:
        off = round(1_000 * float(random.uniform(low_us, high_us)))
        return _with_ops(trace, trace.gpu_ops.with_columns(pl.col("start_ns") + off, pl.col("end_ns") + off))

    return shifted


def _clock_drifts(trace: Trace, random: np.random.Generator) -> Trace:
    """The device's clock runs up to 40 ppm faster or slower."""
    rate = float(random.uniform(-40e-6, 40e-6))
    origin = int(trace.gpu_ops["start_ns"].min())  # type: ignore[arg-type]
    moved = [
        (pl.col(c) + ((pl.col(c) - origin) * rate).round().cast(pl.Int64)).alias(c) for c in ("start_ns", "end_ns")
    ]
    return _with_ops(trace, trace.gpu_ops.with_columns(moved))


def _one_early(trace: Trace, random: np.random.Generator) -> Trace:
    """One short op at the start of a step is booked some us before its launch."""
    ops = trace.gpu_ops
    first = ops.filter(pl.col("launch_id").is_first_distinct())
    row = int(first["op_id"][int(random.integers(0, first.height))])
    called = int(trace.calls["start_ns"][int(ops["launch_id"][row])])
    early = called - round(1_000 * float(random.uniform(1, 10)))
    length = pl.col("end_ns") - pl.col("start_ns")
    moved = ops.with_columns(
        pl.when(pl.col("op_id") == row).then(early + length).otherwise("end_ns").alias("end_ns"),
        pl.when(pl.col("op_id") == row).then(pl.lit(early)).otherwise("start_ns").alias("start_ns"),
    )
    return _with_ops(trace, moved)


def _waits_elsewhere(trace: Trace, random: np.random.Generator) -> Trace:
    """The wait for the tokens is made by another thread of the process."""
    waits = pl.col("kind") == "sync"
    calls = trace.calls.with_columns(pl.when(waits).then(pl.col("tid") + 1).otherwise("tid").alias("tid"))
    return checked(replace(trace, calls=calls))


def _unlinked_collectives(trace: Trace, random: np.random.Generator) -> Trace:
    """The runtime of the collectives is not the one that is recorded: they have no launch."""
    unlinked = pl.col("name").cast(pl.String).str.contains(COLLECTIVE)
    ops = trace.gpu_ops.with_columns(pl.when(~unlinked).then("correlation").alias("correlation"))
    return _with_ops(trace, ops)


DISGUISES: dict[str, Disguise] = {
    "clock_early": _clocks_apart(-1_000, -5),
    "clock_late": _clocks_apart(5, 1_000),
    "clock_drifts": _clock_drifts,
    "one_early": _one_early,
    "waits_elsewhere": _waits_elsewhere,
    "unlinked_collectives": _unlinked_collectives,
}
