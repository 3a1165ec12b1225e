"""Can this trace be trusted: outliers, overlaps, the dispatch floor, idle time, profiler inflation."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl

from trace_budget.analysis.floor import FLOOR_QUANTILE
from trace_budget.analysis.lost_work import lost_work
from trace_budget.schema.findings import Steps
from trace_budget.schema.trace import Caveat, Trace
from trace_budget.units import us_from_ns

OUTLIER_TIMES = 20.0
FLOOR_TIMES = 1.5
FLOOR_MOST_NS = 8_000  # no dispatcher needs longer; uniform kernels above it are just alike
NEAR_FLOOR = 0.3  # share of kernels at the floor that is worth a word
IDLE_SHARE = 0.2
INFLATION = 0.10


def health(trace: Trace, steps: Steps, token_ns: float | None = None) -> tuple[Caveat, ...]:
    """Findings about one trace, beyond what reader, steps, layers and lost work said already."""
    return (
        *_outliers(trace),
        *_same_stream_overlaps(trace),
        *_dispatch_bound(trace, steps),
        *_idle(steps),
        *_inflation(steps, token_ns),
    )


def with_warnings(trace: Trace, steps: Steps) -> Steps:
    """The steps with what they lack and with every warning about them: what `check` warns of no answer leaves out."""
    found = (*lost_work(trace, steps).caveats, *(c for c in health(trace, steps) if c.severity != "note"))
    return replace(steps, caveats=(*steps.caveats, *found)) if found else steps


def _outliers(trace: Trace) -> tuple[Caveat, ...]:
    """Calls far longer than their like: waits, pre-emption or broken timestamps."""
    ops = (
        trace.gpu_ops.filter(pl.col("kind") == "kernel")
        .drop_nulls(["start_ns", "end_ns"])
        .with_columns((pl.col("end_ns") - pl.col("start_ns")).alias("dur_ns"))
    )
    like = ["name", "grid_x", "grid_y", "grid_z"]
    usual = ops.group_by(like).agg(pl.col("dur_ns").median().alias("usual"), pl.col("dur_ns").max().alias("most"))
    limit = OUTLIER_TIMES * pl.max_horizontal("usual", pl.lit(1.0))
    odd = usual.filter(pl.col("most") > limit)
    if odd.is_empty():
        return ()
    far = ops.join(odd, on=like, how="inner", nulls_equal=True).filter(pl.col("dur_ns") > limit).sort("start_ns")
    share = 100.0 * float(far["dur_ns"].sum()) / max(float(ops["dur_ns"].sum()), 1.0)
    text = (
        f"{far.height} kernels take over {OUTLIER_TIMES:g} times the median of their like ({share:.1f} % of kernel"
        " time): waits or broken times; medians stand beside means"
    )
    return (Caveat("duration_outliers", text, far.height, "warning" if share > 5 else "note", str(far["name"][0])),)


def _same_stream_overlaps(trace: Trace) -> tuple[Caveat, ...]:
    ops = trace.gpu_ops.filter(pl.col("kind") == "kernel").drop_nulls(["start_ns", "end_ns"])
    lanes = ops.drop_nulls("stream").select(
        (pl.col("end_ns").shift().over("pid", "device", "stream") - pl.col("start_ns")).alias("ahead")
    )
    ahead = lanes["ahead"].drop_nulls()
    count = int((ahead > 0).sum())
    if not count:
        return ()
    longest = us_from_ns(float(ahead.to_numpy().max()))
    text = (
        f"{count} kernels start before their predecessor on the stream ended (up to {longest:.2f} us): normal with PDL;"
        " busy time is a union, not a sum"
    )
    return (Caveat("same_stream_overlaps", text, count, "note"),)


def _dispatch_bound(trace: Trace, steps: Steps) -> tuple[Caveat, ...]:
    """Many kernels near the shortest recorded duration: the dispatcher, not the work, sets their time."""
    ops = trace.gpu_ops.filter((pl.col("kind") == "kernel") & pl.Series(np.isin(steps.op_step, steps.used))).drop_nulls(
        ["start_ns", "end_ns"]
    )
    if ops.height < 50:
        return ()
    durations = (ops["end_ns"] - ops["start_ns"]).to_numpy()
    floor = float(np.quantile(durations, FLOOR_QUANTILE))
    near = durations <= FLOOR_TIMES * floor
    if not 0 < floor <= FLOOR_MOST_NS or near.mean() < NEAR_FLOOR:
        return ()
    text = (
        f"{100 * near.mean():.0f} % of kernels take less than {FLOOR_TIMES:g} times the dispatch floor of"
        f" {us_from_ns(floor):.2f} us: only removing launches makes them cheaper"
    )
    return (Caveat("many_at_dispatch_floor", text, int(near.sum()), "note"),)


def _idle(steps: Steps) -> tuple[Caveat, ...]:
    rows = steps.frame.filter(pl.col("used"))
    whole = steps.step_ns
    # work of other threads and processes keeps the device busy, too
    held = "device_busy_ns" if "device_busy_ns" in rows.columns and steps.measure == "interval" else "busy_ns"
    busy = rows[held].median()
    if not isinstance(busy, (int, float)) or not whole > 0 or 1 - busy / whole < IDLE_SHARE:
        return ()
    text = (
        f"the device is busy {100 * busy / whole:.0f} % of the step: the host or another device sets the pace for the"
        " rest, and shorter kernels may save nothing"
    )
    return (Caveat("mostly_idle", text, 1, "warning"),)


def _inflation(steps: Steps, token_ns: float | None) -> tuple[Caveat, ...]:
    if token_ns is None or not token_ns > 0 or not abs(steps.step_ns / token_ns - 1.0) > INFLATION:
        return ()
    text = (
        f"the profiled step takes {steps.step_ns / token_ns:.2f} times the stated token: the profiler slows the run or"
        " the token is another workload's"
    )
    return (Caveat("profiler_inflation", text, 1, "warning"),)
