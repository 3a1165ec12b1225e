"""The host's side of a stretch: launch and wait calls, when each op was ready there, and how long a launch takes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from trace_budget.schema.findings import Int64Array
from trace_budget.schema.trace import Trace

LATENCY_SPREAD = 2.0  # launch latencies beyond this multiple of the median are waits, not latency
LATENCY_MOST_NS = 200_000  # an op that starts later after its launch waited for work the trace does not show
UNKNOWN_LATENCY_NS = 10_000
TO_HOST = r"(?i)dtoh|device ?(?:to|->) ?host|device_to_host"


@dataclass(frozen=True, slots=True)
class Host:
    """Launch and wait calls of the stretch on their threads.

    `is_wait`: calls that may block until device work ends; `is_sync`: those of them that do nothing else;
    `own_op`: the op a copy call launched, -1 otherwise;
    `sure`: calls that the thread surely made or sat out itself; `tid`: the recorded id of each thread (-1 for none);
    `visible`: launches can be followed; `waits_visible`: the trace holds wait calls; `streams_nodes`: graph launches
    release their nodes one by one (HIP).
    """

    start_ns: Int64Array
    end_ns: Int64Array
    thread: Int64Array
    is_wait: np.ndarray
    own_op: Int64Array
    is_sync: np.ndarray
    sure: np.ndarray
    tid: Int64Array
    visible: bool
    waits_visible: bool
    streams_nodes: bool


@dataclass(frozen=True, slots=True)
class Launched:
    """Per op: the row of its launch in the host's calls and its graph launch, dense (-1: none)."""

    launch: Int64Array
    replay: Int64Array


def dense(values: Int64Array) -> Int64Array:
    """The values as numbers 0, 1, ... in their order."""
    return np.unique(values, return_inverse=True)[1].astype(np.int64)


def host_of(trace: Trace, ops: pl.DataFrame, origin: int) -> tuple[Host, Launched]:
    """The host calls that launch these ops or wait, and what launched each op."""
    calls = trace.calls
    used = ops["launch_id"].drop_nulls().unique()
    first = calls["start_ns"].gather(used.sort().head(1))
    since = int(first[0]) if first.len() else origin
    until = int(ops["end_ns"].max() or origin)  # type: ignore[arg-type]
    # waits of other processes wait for other work
    mine = pl.col("pid").is_in(calls["pid"].gather(used).unique().implode(), nulls_equal=True)
    waiting = pl.col("kind").is_in(["sync", "memcpy"]) & (pl.col("end_ns") > since) & (pl.col("start_ns") <= until)
    rows = calls.filter(pl.col("launch_id").is_in(used.implode()) | (mine & waiting))
    place = np.full(calls.height + 1, -1, dtype=np.int64)
    place[rows["launch_id"].to_numpy()] = np.arange(rows.height)
    launch = place[ops["launch_id"].fill_null(calls.height).to_numpy()]
    tid, threads = np.unique(rows["tid"].fill_null(-1).to_numpy(), return_inverse=True)
    own = np.full(rows.height, -1, dtype=np.int64)
    own[launch[launch >= 0]] = np.flatnonzero(launch >= 0)
    kind = rows["kind"].cast(pl.String).to_numpy() if rows.height else np.zeros(0, str)
    in_graph = np.append(kind == "graph_launch", False)[launch]
    names = rows.filter(pl.col("kind") == "graph_launch")["name"].cast(pl.String)
    host = Host(
        rows["start_ns"].to_numpy() - origin,
        rows["end_ns"].to_numpy() - origin,
        threads.astype(np.int64),
        (kind == "sync") | (kind == "memcpy"),
        own,
        kind == "sync",
        np.ones(rows.height, dtype=bool),
        tid.astype(np.int64),
        bool((launch >= 0).any()),
        bool((calls["kind"] == "sync").any()) or _copies_block(trace),
        bool(names.str.starts_with("hip").any()),
    )
    replay = np.where(in_graph, launch, -1)
    return host, Launched(launch, np.where(in_graph, dense(replay) - int((~in_graph).any()), -1))


def _copies_block(trace: Trace) -> bool:
    """Whether copies to the host return when they are done: then they are how the host waits."""
    copies = trace.gpu_ops.filter((pl.col("kind") == "memcpy") & pl.col("launch_id").is_not_null())
    copies = copies.filter(pl.col("name").cast(pl.String).str.contains(TO_HOST)).drop_nulls("end_ns")
    returned = trace.calls["end_ns"].gather(copies["launch_id"])
    return copies.height > 0 and float(np.mean((copies["end_ns"] <= returned).to_numpy())) > 0.5


def busy_until(trace: Trace, ops: pl.DataFrame) -> int:
    """When the device was done with all that started before these ops; the smallest integer when there was nothing."""
    first, device = ops["op_id"][0], ops["device"][0]
    before = trace.gpu_ops.filter((pl.col("op_id") < first) & pl.col("device").eq_missing(pl.lit(device)))
    return int(before["end_ns"].max() or 0) if before["end_ns"].count() else np.iinfo(np.int64).min // 2  # type: ignore[arg-type]


def latencies(
    start: Int64Array, end: Int64Array, launched: Launched, host: Host, busy: int
) -> tuple[Int64Array, Int64Array]:
    """Per op (low, high) time from its launch call to its start when the device had nothing else to do at the call.

    Measured apart for eager and graph launches: a graph takes longer to begin than a kernel.
    """
    launch, in_graph = launched.launch, launched.replay >= 0
    reach = np.maximum(np.concatenate(([busy], np.maximum.accumulate(end)[:-1])), busy)
    called = host.start_ns[np.maximum(launch, 0)] if host.start_ns.size else start
    first = np.concatenate(([True], launch[1:] != launch[:-1])) | ~in_graph
    free = (launch >= 0) & first & (reach <= called) & (start >= called)
    lag = start - called
    measured = [lag[free & of] for of in (~in_graph, in_graph)]
    # The latency of the other sort is a better guess than none.
    eager, graph = (
        usual_latency(own if own.size else other) for own, other in zip(measured, measured[::-1], strict=True)
    )
    low, high = np.where(in_graph, graph[0], eager[0]), np.where(in_graph, graph[1], eager[1])
    return low.astype(np.int64), high.astype(np.int64)


def usual_latency(lag: Int64Array) -> tuple[int, int]:
    """The shortest lag, and the longest that is no wait."""
    # A clock that is late everywhere makes all of them long; then the shortest still is what a launch takes.
    lag = lag[lag <= max(LATENCY_MOST_NS, int(lag.min(initial=0)))] if lag.size else lag
    if lag.size == 0:
        return 0, UNKNOWN_LATENCY_NS
    # What starts much later than its like also waited for something else.
    usual = lag[lag <= LATENCY_SPREAD * np.median(lag)]
    return max(int(lag.min()), 0), int(usual.max()) if usual.size else int(lag.min())


def release(start: Int64Array, launched: Launched, host: Host, latency_low: Int64Array) -> Int64Array:
    """The latest instant the host side of each launch can have been ready, latency excluded.

    HIP releases graph nodes one by one while the launch call runs, so late nodes of a long graph are released late;
    CUDA hands over the whole graph at once.
    """
    launch, replay = launched.launch, launched.replay
    ready = np.where(launch >= 0, host.start_ns[np.maximum(launch, 0)] if host.start_ns.size else 0, start)
    inside = np.flatnonzero(replay >= 0) if host.streams_nodes else np.zeros(0, np.int64)
    if inside.size == 0:
        return ready
    nodes = inside[np.argsort(replay[inside], kind="stable")]
    size = np.bincount(replay[nodes])[replay[nodes]]
    ordinal = np.arange(nodes.size) - np.searchsorted(replay[nodes], replay[nodes], side="left")
    called, returned = host.start_ns[launch[nodes]], host.end_ns[launch[nodes]]
    # The latency of an empty queue already holds the release of the first node.
    later = (start[nodes] - called - latency_low[nodes]) / np.maximum(ordinal, 1)
    fastest = np.full(int(replay.max()) + 1, np.inf)
    np.minimum.at(fastest, replay[nodes][ordinal > 0], later[ordinal > 0])
    per_node = np.minimum((returned - called) / size, np.maximum(fastest[replay[nodes]], 0.0))
    ready[nodes] = called + (per_node * ordinal).astype(np.int64)
    return ready


def latest_release(start: Int64Array, end: Int64Array, ready: Int64Array, launched: Launched, host: Host) -> Int64Array:
    """The latest possible readiness: in a streamed graph with branches nodes are not released in order of start."""
    launch, replay = launched.launch, launched.replay
    latest = ready.copy()
    if not host.streams_nodes or not (replay >= 0).any():
        return latest
    nodes = pl.DataFrame({"replay": replay, "start": start, "end": end}).with_row_index("op").filter(replay >= 0)
    beside = nodes.filter(pl.col("start") < pl.col("end").cum_max().shift().over("replay"))["replay"].unique()
    branched = nodes.filter(pl.col("replay").is_in(beside.implode()))["op"].to_numpy().astype(np.int64)
    latest[branched] = np.minimum(np.maximum(host.end_ns[launch[branched]], ready[branched]), start[branched])
    return latest
