"""Can this trace be trusted: lost kernels, orphans, outliers, the dispatch floor, profiler inflation, missing ranks."""

from __future__ import annotations

import numpy as np
import polars as pl

from trace_budget.schema.findings import Steps
from trace_budget.schema.trace import Caveat, Trace

OUTLIER_TIMES = 20.0
FLOOR_TIMES = 1.5
IDLE_SHARE = 0.2
INFLATION = 0.10


def health(trace: Trace, steps: Steps, token_ns: float | None = None) -> tuple[Caveat, ...]:
    """Findings about one trace, beyond what reader, steps and layers said already."""
    return (
        *lost_kernels(trace),
        *_outliers(trace),
        *_same_stream_overlaps(trace),
        *_dispatch_bound(trace, steps),
        *_idle(steps),
        *_inflation(steps, token_ns),
        *_unknown_steps(steps),
    )


def lost_kernels(trace: Trace) -> tuple[Caveat, ...]:
    """Replays of one graph must run the same number of kernels: some that run fewer have lost theirs in recording."""
    graphs = trace.calls.filter(pl.col("kind") == "graph_launch")
    if graphs.is_empty():
        return ()
    counts = trace.gpu_ops.drop_nulls("launch_id").group_by("launch_id").agg(pl.len().alias("kernels"))
    replays = (
        graphs.select("launch_id").join(counts, on="launch_id", how="left").with_columns(pl.col("kernels").fill_null(0))
    )
    sizes = replays["kernels"].to_numpy()
    out: list[Caveat] = []
    empty = int(np.count_nonzero(sizes == 0))
    if empty:
        out.append(
            Caveat(
                "replays_without_kernels",
                f"{empty} of {sizes.size} graph launches have no kernel in the trace",
                empty,
                "warning",
            )
        )
    short = _short_replays(trace, sizes[sizes > 0])
    if short:
        text = (
            f"{len(short)} graph replays run a few kernels less than their like (for example {short[0][0]} instead of"
            f" {short[0][1]}): kernels were lost in recording"
        )
        out.append(Caveat("lost_kernels", text, len(short), "error"))
    return tuple(out)


def _short_replays(trace: Trace, sizes: np.ndarray) -> list[tuple[int, int]]:
    """(size, usual size) of replays that look like a common one but are smaller by up to half.

    Piecewise steps and graphs of other batch sizes have sizes of their own, and these come up again and again.
    """
    values, votes = np.unique(sizes, return_counts=True)
    common = values[votes >= max(2, 0.2 * sizes.size)]
    rare = values[votes < max(2, 0.2 * sizes.size)]
    out: list[tuple[int, int]] = []
    for size in rare:
        above = common[(common > size) & (size >= 0.5 * common)]
        if above.size and sizes.size >= 3:
            out += [(int(size), int(above.min()))] * int(np.count_nonzero(sizes == size))
    return out


def _outliers(trace: Trace) -> tuple[Caveat, ...]:
    """Calls far longer than their like: waits, pre-emption or broken timestamps."""
    ops = (
        trace.gpu_ops.filter(pl.col("kind") == "kernel")
        .drop_nulls(["start_ns", "end_ns"])
        .with_columns((pl.col("end_ns") - pl.col("start_ns")).alias("dur_ns"))
    )
    like = ["name", "grid_x", "grid_y", "grid_z"]
    far = ops.with_columns(pl.col("dur_ns").median().over(like).alias("usual")).filter(
        pl.col("dur_ns") > OUTLIER_TIMES * pl.max_horizontal("usual", pl.lit(1.0))
    )
    if far.is_empty():
        return ()
    share = 100.0 * float(far["dur_ns"].sum()) / max(float(ops["dur_ns"].sum()), 1.0)
    text = (
        f"{far.height} kernels take over {OUTLIER_TIMES:g} times the median of their like ({share:.1f} % of kernel"
        " time): waits or broken times; medians stand beside means"
    )
    return (Caveat("duration_outliers", text, far.height, "warning" if share > 5 else "note", str(far["name"][0])),)


def _same_stream_overlaps(trace: Trace) -> tuple[Caveat, ...]:
    ops = trace.gpu_ops.filter(pl.col("kind") == "kernel").drop_nulls(["start_ns", "end_ns"])
    ahead = ops.select((pl.col("end_ns").shift().over("device", "stream") - pl.col("start_ns")).alias("ahead"))[
        "ahead"
    ].drop_nulls()
    count = int((ahead > 0).sum())
    if not count:
        return ()
    longest = float(ahead.to_numpy().max()) / 1000
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
    floor = float(np.quantile(durations, 0.01))
    near = durations <= FLOOR_TIMES * floor
    if near.mean() < 0.3:
        return ()
    text = (
        f"{100 * near.mean():.0f} % of kernels take less than {FLOOR_TIMES:g} times the dispatch floor of"
        f" {floor / 1000:.2f} us: only removing launches makes them cheaper"
    )
    return (Caveat("many_at_dispatch_floor", text, int(near.sum()), "note"),)


def _idle(steps: Steps) -> tuple[Caveat, ...]:
    rows = steps.frame.filter(pl.col("used"))
    whole = steps.step_ns
    busy = rows["busy_ns"].median()
    if not isinstance(busy, (int, float)) or whole <= 0 or 1 - busy / whole < IDLE_SHARE:
        return ()
    text = (
        f"the device is busy {100 * busy / whole:.0f} % of the step: the host or another device sets the pace for the"
        " rest, and shorter kernels may save nothing"
    )
    return (Caveat("mostly_idle", text, 1, "warning"),)


def _inflation(steps: Steps, token_ns: float | None) -> tuple[Caveat, ...]:
    if token_ns is None or abs(steps.step_ns / token_ns - 1.0) <= INFLATION:
        return ()
    text = (
        f"the profiled step takes {steps.step_ns / token_ns:.2f} times the stated token: the profiler slows the run or"
        " the token is another workload's"
    )
    return (Caveat("profiler_inflation", text, 1, "warning"),)


def _unknown_steps(steps: Steps) -> tuple[Caveat, ...]:
    if steps.method != "whole trace":
        return ()
    text = "no step structure was found: figures per step are figures of the whole trace"
    return (Caveat("steps_unknown", text, 1, "error"),)
