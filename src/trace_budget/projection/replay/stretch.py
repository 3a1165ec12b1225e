"""The part of a trace a projection is computed on: device ops and host calls of a stretch of steps, as plain arrays."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from trace_budget.analysis.floor import Floor
from trace_budget.projection.replay.clocks import Clock, on_device_clock
from trace_budget.projection.replay.handing_over import with_handed_over
from trace_budget.projection.replay.host import (
    Host,
    busy_until,
    dense,
    host_of,
    latencies,
    latest_release,
    release,
)
from trace_budget.projection.replay.lanes import (
    PDL_MOST_NS,
    behind_branches,
    in_order,
    previous_on_lane,
    touching,
)
from trace_budget.projection.replay.lent import behind_launch, lend
from trace_budget.projection.replay.outside import paced_outside
from trace_budget.projection.replay.pace import Pace, pace_of, wait_cost
from trace_budget.projection.replay.unseen_waits import with_unseen_waits
from trace_budget.schema.findings import Int64Array, Steps
from trace_budget.schema.trace import Trace

OP_BUDGET = 40_000  # ops a stretch may hold; later steps of longer traces repeat earlier ones
TOUCH_GRAIN_NS = 500
COLLECTIVE = (
    r"(?i)nccl|rccl|msccl|hccl|^hcom_|all_?reduce|all_?gather|reduce_?scatter|all_?to_?all"
    r"|cross_device_reduce|quick_?reduce|deep_ep"
)


@dataclass(frozen=True, slots=True)
class Timeline:
    """Ops of one device over a stretch of whole steps, sorted by start; times relative to the first start.

    `lane`: dense stream number; `fifo`: what an eager op follows on its lane, -1 for the first and for graph nodes;
    `early`: starts before `fifo` ended (PDL); `effective_ns`: the part of the op that delays what follows;
    `replay`: dense graph-launch number, -1 for eager ops; `node`: identity of the op inside its replay;
    `launch`: row in `host`, -1 unknown; `steps`: steps from the first to the last;
    `release_ns`: host-side readiness (graph nodes are streamed on ROCm), `latest_release_ns` at the very latest;
    `lent`: ops whose launch is a neighbour's, as they show none of their own that can be true, `unsure` those of them
    that may have been launched behind another wait;
    `latency_ns`: per op (low, high) time from a launch to its start on an idle device;
    `waited_ns`: how long a collective waited for other ranks (beyond the shortest of its name), -1 for other ops;
    `pace`: how the host follows the device;
    `waits_on`: for each op, ops it is known to wait for (cuda_sync records). `gap_max_ns`: largest back-to-back gap.
    `clock`: what was done to the times of the host so that causes come before effects.
    """

    op_id: Int64Array
    step: Int64Array
    start_ns: Int64Array
    end_ns: Int64Array
    effective_ns: Int64Array
    lane: Int64Array
    fifo: Int64Array
    early: np.ndarray
    replay: Int64Array
    node: Int64Array
    launch: Int64Array
    release_ns: Int64Array
    latest_release_ns: Int64Array
    waits_on: tuple[tuple[int, ...], ...]
    edges_known: np.ndarray
    host: Host
    latency_ns: tuple[Int64Array, Int64Array]
    gap_ns: int
    gap_max_ns: int
    steps: int
    next_start: int | None
    waited_ns: Int64Array
    pace: Pace
    clock: Clock
    lent: np.ndarray
    unsure: np.ndarray

    @property
    def touch_ns(self) -> int:
        """The largest gap that the expected replay takes for back to back: tighter than what the bounds must allow."""
        return min(self.gap_max_ns, 2 * self.gap_ns + TOUCH_GRAIN_NS)

    @property
    def last_step(self) -> int:
        """Index of the last whole step."""
        return int(self.step[0]) + self.steps - 1

    @property
    def size(self) -> int:
        """Number of ops."""
        return int(self.op_id.size)


def effective_ns(trace: Trace) -> Int64Array:
    """The part of each op that delays what follows on its stream: without the time it runs ahead of its predecessor.

    Overlaps beyond what PDL does mean that the stream shown is not the one the op ran on; the op counts in full then.
    0 for ops without usable times.
    """
    ops = trace.gpu_ops.select("op_id", "start_ns", "end_ns", "device", "stream").with_columns(
        pl.col("end_ns").shift().over("device", "stream").alias("before")
    )
    ahead = (pl.col("before") - pl.col("start_ns")).fill_null(0)
    cut = (
        pl.when((ahead > 0) & (ahead <= PDL_MOST_NS)).then(pl.min_horizontal("before", "end_ns")).otherwise("start_ns")
    )
    return ops.select((pl.col("end_ns") - cut).fill_null(0).alias("effective"))["effective"].to_numpy()


def stretch(trace: Trace, steps: Steps, first: int, last: int, floor: Floor, closing: bool) -> Timeline:
    """The timeline of steps first … last (step indexes, both included), with what the trace shows of dependencies.

    With `closing` the first op of step last + 1 ends the timeline (`next_start`): then the step interval counts.
    """
    calls, clock = on_device_clock(trace, steps.device)
    trace = replace(trace, calls=calls)
    wanted = (steps.op_step >= first) & (steps.op_step <= last)
    rows = trace.gpu_ops.select(
        "op_id", "device", "stream", "start_ns", "end_ns", "launch_id", "graph_node_id",
        pl.col("name").to_physical().cast(pl.Int64).alias("name"), _collectives(trace).alias("collective"),
    ).with_columns(pl.Series("step", steps.op_step))  # fmt: skip
    inside = rows.filter(pl.Series(wanted)).drop_nulls(["start_ns", "end_ns"])
    after = (
        rows.filter(pl.Series(steps.op_step == last + 1)).drop_nulls(["start_ns", "end_ns"]).head(1 if closing else 0)
    )
    ops = pl.concat([inside, after]).sort("start_ns", "op_id") if after.height else inside
    following = ops["op_id"].to_list().index(after["op_id"][0]) if after.height else None
    return _arrays(trace, ops, floor, last - first + 1, following, clock)


def _arrays(trace: Trace, ops: pl.DataFrame, floor: Floor, count: int, following: int | None, clock: Clock) -> Timeline:
    origin = int(ops["start_ns"][0])
    start = ops["start_ns"].to_numpy() - origin
    end = ops["end_ns"].to_numpy() - origin
    lane = dense(ops["stream"].fill_null(-1).to_numpy())
    host, launched = host_of(trace, ops, origin)
    start, end = behind_launch(start, end, lane, host, launched)
    given = lend(start, lane, host, launched)
    launched = given.launched
    launch, replay = launched.launch, launched.replay
    step = ops["step"].to_numpy().astype(np.int64)
    host = with_handed_over(trace.calls, origin, end, launch, given.host)
    host = with_unseen_waits(step, end, launch, replay, host)
    ahead = previous_on_lane(lane, end, replay)
    fifo = in_order(start, end, ahead)
    ordered = bool((fifo == ahead).all())
    start, early = touching(start, end, fifo)
    before = np.where(early, np.minimum(end[np.maximum(fifo, 0)], end), start)
    latency = latencies(start, end, launched, host, busy_until(trace, ops) - origin)
    ready = release(start, launched, host, latency[0])
    latest = latest_release(start, end, ready, launched, host)
    # With one stream, or with every cross-stream wait recorded, nothing else can hold an eager op back. Streams whose
    # ops overlap are not those the ops ran on.
    complete = ordered and (np.unique(lane).size == 1 or _waits_recorded(trace))
    known = (replay < 0) & complete & ~given.unsure & ~behind_branches(start, end, fifo, replay)
    pace = pace_of(step, start, end, np.where(given.lent, -1, launch), host, wait_cost(end, host))
    return Timeline(
        ops["op_id"].to_numpy(), step, start, end, end - before, lane, fifo, early,
        replay, _nodes(ops, replay), launch, ready, np.where(given.lent, given.latest_ns, latest),
        _known_waits(trace, ops, host), known, host,
        latency, floor.gap_ns, floor.gap_max_ns, count, following, _waited(ops),
        replace(pace, outside=host.visible and paced_outside(trace.calls, origin, step, start, end)), clock,
        given.lent, given.unsure,
    )  # fmt: skip


def _collectives(trace: Trace) -> pl.Series:
    """Which ops exchange data with other ranks, by name; none in a job of one rank."""
    names = trace.gpu_ops["name"]
    if trace.world_size == 1:
        return pl.Series([False]).new_from_index(0, names.len())
    distinct = names.unique()
    chosen = distinct.filter(distinct.cast(pl.String).str.contains(COLLECTIVE))
    return names.is_in(chosen.implode())


def _waited(ops: pl.DataFrame) -> Int64Array:
    """Time each collective spent waiting for the last rank, taking the shortest of its name for pure transfer."""
    length = pl.col("end_ns") - pl.col("start_ns")
    waited = pl.when("collective").then(length - length.min().over("name")).otherwise(-1)
    return ops.select(waited.alias("waited"))["waited"].to_numpy()


def _waits_recorded(trace: Trace) -> bool:
    """Whether the trace says of every cross-stream wait which event it waits for."""
    recorded = trace.syncs.filter((pl.col("kind") == "stream_wait") & pl.col("wait_correlation").is_not_null()).height
    return trace.syncs.height > 0 and recorded >= trace.calls.filter(pl.col("kind") == "stream_wait").height


def _nodes(ops: pl.DataFrame, replay: Int64Array) -> Int64Array:
    """Identity of each op inside its replay: the graph node id, else the k-th call of its name."""
    frame = ops.select("name", "graph_node_id").with_columns(pl.Series("replay", replay))
    if frame.filter(pl.col("replay") >= 0)["graph_node_id"].null_count() == 0:
        return dense(frame["graph_node_id"].fill_null(-1).to_numpy())
    turn = frame.select((pl.int_range(pl.len()).over("replay", "name")).alias("turn"))["turn"].to_numpy()
    name = frame["name"].to_numpy()
    return dense(name * (int(turn.max()) + 1) + turn)


def _known_waits(trace: Trace, ops: pl.DataFrame, host: Host) -> tuple[tuple[int, ...], ...]:
    """Ops each op waits for through recorded events: the last before the record holds the next behind the wait.

    Before and behind go by the order of the calls, which may share a time stamp.
    """
    out: list[tuple[int, ...]] = [() for _ in range(ops.height)]
    waits = trace.syncs.filter((pl.col("kind") == "stream_wait") & pl.col("wait_correlation").is_not_null())
    if waits.is_empty() or not host.visible:
        return tuple(out)
    call = trace.calls.drop_nulls("correlation").select("correlation", "launch_id").unique("correlation", keep="first")
    record = waits.join(call, left_on="wait_correlation", right_on="correlation", how="inner").rename(
        {"launch_id": "record"}
    )
    both = record.join(call.rename({"launch_id": "wait"}), on="correlation", how="inner")
    stream, launch = ops["stream"].fill_null(-1).to_numpy(), ops["launch_id"].fill_null(-1).to_numpy()
    columns = (both[name].to_list() for name in ("stream", "wait_stream", "record", "wait"))
    for waiting, recorded, at_record, at_wait in zip(*columns, strict=True):
        source = np.flatnonzero((stream == recorded) & (launch >= 0) & (launch < at_record))
        target = np.flatnonzero((stream == waiting) & (launch > at_wait))
        if source.size and target.size:
            out[target[0]] = (*out[target[0]], int(source[-1]))
    return tuple(out)
