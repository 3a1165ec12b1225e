"""What launched a task of an Ascend NPU, where its record does not say: graph replays, and steps of the framework.

Tasks of a captured graph keep the connection of their capture. The replay is what runs between the task MODEL_EXECUTE
and the NOTIFY_WAIT of the same connection; where two replays of one device may run at once, neither is taken.
torch_npu hands operators to a second thread, which launches them: `torch_to_npu` flows lead from the operator to its
task, so that a step of the first thread can be found on the device.
"""

from __future__ import annotations

import polars as pl

_BEGINS, _ENDS = r"^(?i:MODEL_EXECUTE)$", r"^(?i:NOTIFY_WAIT(?:_SQE)?)$"
_NEAR_NS = 500  # the flow's end is its task's start, as a double
_SEEN = 0.98  # of the kernels: with fewer followed, a range around the others would be too short
_STEPS = (r"^ProfilerStep#\d", r"^(?:execute_|step\[|(?:decode|prefill)\b)")


def with_replays(tasks: pl.DataFrame) -> pl.DataFrame:
    """Tasks (name, track, model, connection, start_ns, end_ns), `connection` of graph tasks that of their replay."""
    captured = pl.col("model").is_not_null()
    name = pl.col("name").cast(pl.String)
    begins = tasks.filter(name.str.contains(_BEGINS) & pl.col("connection").is_not_null())
    waits = tasks.filter(name.str.contains(_ENDS)).group_by("connection").agg(until_ns=pl.col("end_ns").max())
    ends = begins.select("track", "connection", from_ns="start_ns").join(waits, on="connection", how="left")
    windows = ends.sort("from_ns").with_columns(
        pl.col("until_ns").fill_null(pl.col("from_ns").shift(-1).over("track")).fill_null(pl.lit(1 << 62)),
    )
    before = pl.col("until_ns").cum_max().shift(1).over("track").fill_null(0)
    sure = windows.with_columns(busy_ns=before).rename({"connection": "replay"})
    rows = tasks.with_row_index("row")
    inside = (
        rows.filter(captured & pl.col("start_ns").is_not_null())
        .sort("start_ns")
        .join_asof(
            sure, left_on="start_ns", right_on="from_ns", by="track", strategy="backward", check_sortedness=False
        )
        .filter((pl.col("start_ns") < pl.col("until_ns")) & (pl.col("start_ns") >= pl.col("busy_ns")))
    )
    found = rows.join(inside.select("row", "replay"), on="row", how="left", maintain_order="left")
    return found.with_columns(pl.when(captured).then("replay").otherwise("connection").alias("connection")).drop(
        "row", "replay"
    )


def device_steps(ops: pl.DataFrame, calls: pl.DataFrame, ranges: pl.DataFrame, flows: pl.DataFrame) -> pl.DataFrame:
    """Ranges on the device (name, device, start_ns, end_ns) of the steps on host threads; none where calls give them.

    `flows` holds phase (s, f), flow, track, thread and start_ns; `ops` also kind, track, thread and connection.
    """
    steps = ranges.filter(pl.any_horizontal(pl.col("name").cast(pl.String).str.contains(step) for step in _STEPS))
    origins = _origins(ops, calls, flows)
    threads = steps.select("pid", "tid").unique()
    launched = calls.filter(pl.col("connection").is_in(ops["connection"].drop_nulls().unique().implode()))
    elsewhere = launched.join(threads, on=["pid", "tid"], how="anti", nulls_equal=True)
    kernels = ops.with_row_index("row").filter(pl.col("kind") == "kernel")
    seen = kernels.join(origins, on="row", how="semi").height
    if not steps.height or not elsewhere.height or seen < _SEEN * kernels.height:
        return pl.DataFrame(schema={"name": pl.String, "device": pl.Int64, "start_ns": pl.Int64, "end_ns": pl.Int64})
    found = [_around(ops, origins, steps.filter(pl.col("name").cast(pl.String).str.contains(one))) for one in _STEPS]
    return pl.concat(found)


def _origins(ops: pl.DataFrame, calls: pl.DataFrame, flows: pl.DataFrame) -> pl.DataFrame:
    """Where on the host each operation (row) comes from: pid, tid, at_ns; of its flow, else of its launching call."""
    tasks = ops.with_row_index("row").drop_nulls("start_ns").sort("start_ns")
    tails = flows.filter(pl.col("phase") == "s").unique("flow", keep="first")
    heads = flows.filter(pl.col("phase") == "f").sort("start_ns")
    reached = heads.join_asof(
        tasks.select("row", "track", "thread", task_ns="start_ns"),
        left_on="start_ns", right_on="task_ns", by=["track", "thread"],
        strategy="nearest", tolerance=_NEAR_NS, check_sortedness=False,
    ).drop_nulls("row")  # fmt: skip
    by_flow = reached.select("row", "flow").join(
        tails.select("flow", pid="track", tid="thread", at_ns="start_ns"), on="flow"
    )
    launch = calls.sort("start_ns").unique("connection", keep="first", maintain_order=True).drop_nulls("connection")
    by_call = tasks.select("row", "connection").join(
        launch.select("connection", "pid", "tid", at_ns="start_ns"), on="connection"
    )
    columns = ["row", "pid", "tid", "at_ns"]
    return pl.concat([by_flow.select(columns), by_call.select(columns)]).unique("row", keep="first")


def _around(ops: pl.DataFrame, origins: pl.DataFrame, steps: pl.DataFrame) -> pl.DataFrame:
    """The range on each device around what came from within each step."""
    named = steps.select("pid", "tid", name=pl.col("name").cast(pl.String), opens_ns="start_ns", closes_ns="end_ns")
    inside = (
        origins.sort("at_ns")
        .join_asof(
            named.sort("opens_ns"), left_on="at_ns", right_on="opens_ns", by=["pid", "tid"],
            strategy="backward", check_sortedness=False,
        )
        .filter(pl.col("at_ns") < pl.col("closes_ns"))
    )  # fmt: skip
    work = ops.with_row_index("row").select("row", "device", "start_ns", "end_ns")
    return (
        inside.select("row", "name", "opens_ns")
        .join(work, on="row")
        .drop_nulls(["start_ns", "end_ns"])
        .group_by("name", "opens_ns", "device", maintain_order=True)
        .agg(pl.col("start_ns").min(), pl.col("end_ns").max())
        .select("name", "device", "start_ns", "end_ns")
    )
