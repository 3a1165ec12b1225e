"""Can this trace be trusted: lost kernels, orphans, outliers, the dispatch floor, profiler inflation, missing ranks."""

from __future__ import annotations

import numpy as np
import polars as pl

from trace_budget.analysis.floor import FLOOR_QUANTILE
from trace_budget.schema.findings import Steps
from trace_budget.schema.trace import Caveat, Trace

OUTLIER_TIMES = 20.0
LIKE = 3  # replays of one kind that tell what is usual
FLOOR_TIMES = 1.5
FLOOR_MOST_NS = 8_000  # no dispatcher needs longer; uniform kernels above it are just alike
NEAR_FLOOR = 0.3  # share of kernels at the floor that is worth a word
IDLE_SHARE = 0.2
INFLATION = 0.10


def health(trace: Trace, steps: Steps, token_ns: float | None = None) -> tuple[Caveat, ...]:
    """Findings about one trace, beyond what reader, steps and layers said already."""
    return (
        *lost_kernels(trace, steps),
        *_outliers(trace),
        *_same_stream_overlaps(trace),
        *_dispatch_bound(trace, steps),
        *_idle(steps),
        *_inflation(steps, token_ns),
    )


def lost_kernels(trace: Trace, steps: Steps) -> tuple[Caveat, ...]:
    """Replays of one graph must run the same number of kernels: some that run fewer have lost theirs in recording.

    Like are the k-th replays of steps with equally many replays and the same batch: a piecewise step is made of graphs
    of several sizes, and so is a run over several batch sizes.
    """
    launches = trace.calls.filter(pl.col("kind") == "graph_launch").select("launch_id")
    if launches.is_empty():
        return ()
    ops = trace.gpu_ops.select("launch_id").with_columns(pl.Series("step_index", steps.op_step)).drop_nulls("launch_id")
    counts = ops.group_by("launch_id").agg(pl.len().alias("kernels"), pl.col("step_index").max())
    replays = launches.join(counts, on="launch_id", how="left")
    out: list[Caveat] = []
    empty = replays["kernels"].null_count()
    if empty:
        text = f"{empty} of {replays.height} graph launches have no kernel in the trace"
        out.append(Caveat("replays_without_kernels", text, empty, "warning"))
    short = _short_replays(replays.drop_nulls("kernels"), steps)
    if short.height:
        example = short.row(0, named=True)
        text = (
            f"{short.height} graph replays run fewer kernels than their like (for example {example['kernels']}"
            f" instead of {example['usual']}): kernels were lost in recording"
        )
        out.append(Caveat("lost_kernels", text, short.height, "error"))
    return tuple(out)


def _short_replays(replays: pl.DataFrame, steps: Steps) -> pl.DataFrame:
    """Replays (kernels, usual) that are smaller than at least LIKE others of their kind usually are.

    Where most of one batch differ from each other, most have lost kernels and the largest shows what is usual; where
    no batch is known, they may be different graphs.
    """
    # A first or last step that is cut off runs fewer kernels for that reason alone.
    whole = steps.frame.filter(pl.col("complete"))
    sizes = whole.select(pl.col("step_index").cast(pl.Int32), "batch_size", "phase")
    placed = (
        replays.filter(pl.col("step_index") >= 0)
        .join(sizes, on="step_index", how="inner")
        .sort("launch_id")
        .with_columns(
            pl.int_range(pl.len()).over("step_index").alias("turn"), pl.len().over("step_index").alias("replays")
        )
    )
    kind = ["turn", "replays", "batch_size", "phase"]
    mode = pl.col("kernels").mode().max().over(kind)
    agree = (pl.col("kernels") == mode).mean().over(kind) >= 0.5
    largest = pl.when(pl.col("batch_size").is_not_null()).then(pl.col("kernels").max().over(kind))
    known = placed.with_columns(pl.when(agree).then(mode).otherwise(largest).alias("usual"))
    return known.filter((pl.len().over(kind) >= LIKE) & (pl.col("kernels") < pl.col("usual")))


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
    lanes = ops.drop_nulls("stream").select(
        (pl.col("end_ns").shift().over("pid", "device", "stream") - pl.col("start_ns")).alias("ahead")
    )
    ahead = lanes["ahead"].drop_nulls()
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
    floor = float(np.quantile(durations, FLOOR_QUANTILE))
    near = durations <= FLOOR_TIMES * floor
    if not 0 < floor <= FLOOR_MOST_NS or near.mean() < NEAR_FLOOR:
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
