"""Launch calls whose device work is not in the recording, and the steps they stand in."""

from __future__ import annotations

import numpy as np
import polars as pl

from trace_budget.schema.findings import Int64Array, Steps
from trace_budget.schema.trace import Trace

LAUNCHES = ("launch", "graph_launch")
HOST_WORK = "LaunchHostFunc"  # a function of the host in a stream: no device work belongs to it
CAPTURE = ("StreamBeginCapture", "StreamEndCapture")  # what is launched between them is written down, not run
THREAD = ("pid", "tid")
NONE = pl.DataFrame(schema={"kind": pl.String, "step_index": pl.Int64})


def unrecorded_launches(trace: Trace, steps: Steps, ops: pl.DataFrame) -> pl.DataFrame:
    """Launches that own no op: kind, step_index (null for none); as many as unlinked kernels of the steps explain less.

    `ops`: launch_id and step_index of every op. A launch stands in the step of the launches around it on its thread;
    between two steps the annotation that opened since the last of them decides. At both ends of a recording work is cut
    off: only launches inside an annotation of a step stand in one.
    """
    owners = ops.drop_nulls("launch_id").group_by("launch_id").agg(pl.col("step_index").max().cast(pl.Int64))
    launches = trace.calls.filter(pl.col("kind").cast(pl.String).is_in(LAUNCHES))
    if owners.is_empty() or launches.join(owners, on="launch_id", how="anti").is_empty():
        return NONE
    placed = _between(trace, owners)
    empty = placed.filter(
        pl.col("step_index").is_null()
        & pl.col("kind").cast(pl.String).is_in(LAUNCHES)
        & ~pl.col("name").cast(pl.String).str.contains(HOST_WORK)
        & (pl.col("captures") == 0)
    )
    found = empty.select(pl.col("kind").cast(pl.String), _step(empty, *_annotations(trace, steps)))
    return _less_unlinked(found, trace, steps)


def _between(trace: Trace, owners: pl.DataFrame) -> pl.DataFrame:
    """Calls with the steps of those before and after them that own ops, and how many captures are open."""
    begins, ends = (pl.col("name").cast(pl.String).str.contains(text).cast(pl.Int64) for text in CAPTURE)
    owned = pl.col("step_index").is_not_null()
    return (
        trace.calls.join(owners, on="launch_id", how="left", maintain_order="left")
        .with_columns(pl.when(owned).then("start_ns").alias("since_ns"), (begins - ends).alias("captures"))
        .with_columns(
            pl.col("step_index").forward_fill().over(THREAD).alias("before"),
            pl.col("step_index").backward_fill().over(THREAD).alias("after"),
            pl.col("since_ns").forward_fill().over(THREAD),
            pl.col("since_ns").backward_fill().over(THREAD).alias("until_ns"),
            pl.col("captures").cum_sum().clip(lower_bound=0).over(THREAD),
        )
    )


def _annotations(trace: Trace, steps: Steps) -> tuple[Int64Array, Int64Array]:
    """When annotations of steps open, in order, and until when one that has opened by then lasts."""
    names = steps.frame["name"].drop_nulls().unique().to_list()
    marks = trace.markers.filter(pl.col("name").cast(pl.String).is_in(names)).drop_nulls(["start_ns", "end_ns"])
    marks = marks.sort("start_ns")
    return marks["start_ns"].to_numpy(), np.maximum.accumulate(marks["end_ns"].to_numpy())


def _step(empty: pl.DataFrame, opens: Int64Array, lasts: Int64Array) -> pl.Series:
    """The step of each launch; at either end of a recording only an open annotation gives it."""
    start = empty["start_ns"].to_numpy()
    turn = np.searchsorted(opens, start, side="right")
    inside = np.zeros(start.size, bool) if opens.size == 0 else (turn > 0) & (lasts[np.maximum(turn - 1, 0)] > start)
    same_as_before = np.searchsorted(opens, empty["since_ns"].fill_null(-1).to_numpy(), side="right") == turn
    same_as_after = np.searchsorted(opens, empty["until_ns"].fill_null(-1).to_numpy(), side="right") == turn
    first, last = pl.col("before").is_null(), pl.col("after").is_null()
    step = (
        pl.when(first & last)
        .then(None)
        .when(first)
        .then(pl.when(pl.Series(inside & same_as_after)).then("after"))
        .when(last)
        .then(pl.when(pl.Series(inside & same_as_before)).then("before"))
        .when((pl.col("before") == pl.col("after")) | pl.Series(same_as_before))
        .then("before")
        .otherwise("after")
    )
    return empty.select(step.cast(pl.Int64).alias("step_index")).to_series()


def _less_unlinked(found: pl.DataFrame, trace: Trace, steps: Steps) -> pl.DataFrame:
    """Kernels of the steps' time that no call owns are there, if under no launch: so many launches lost nothing."""
    window = steps.frame.filter("used").select("start_ns", "end_ns").drop_nulls()
    kernels = trace.gpu_ops.filter(pl.col("launch_id").is_null() & (pl.col("kind") == "kernel")).drop_nulls("start_ns")
    if window.is_empty() or kernels.is_empty():
        return found
    inside = kernels.filter(pl.col("start_ns").is_between(window["start_ns"].min(), window["end_ns"].max()))
    graph = found.filter(pl.col("kind") == "graph_launch") if inside.is_empty() else NONE
    rest = found.filter(pl.col("kind") != "graph_launch") if inside.is_empty() else found
    return pl.concat([graph, rest.slice(inside.height)])
