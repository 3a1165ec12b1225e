"""The part of a trace a projection is computed on: device ops and host calls of a stretch of steps, as plain arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from trace_budget.analysis.floor import Floor
from trace_budget.schema.findings import Int64Array, Steps
from trace_budget.schema.trace import Trace

OP_BUDGET = 40_000  # ops a stretch may hold; later steps of longer traces repeat earlier ones
PDL_MOST_NS = (
    5_000  # programmatic early starts were measured up to 4 us; larger overlaps on one stream are no FIFO order
)
TOUCH_NS = 200  # overlaps up to this on one stream are clock grain (27 ns on AMD), not early starts
LATENCY_SPREAD = 2.0  # launch latencies beyond this multiple of the median are waits, not latency
UNKNOWN_LATENCY_NS = 10_000


@dataclass(frozen=True, slots=True)
class Host:
    """Launch and wait calls of the stretch on their threads.

    Per op: `launch` (row in these arrays, -1 unknown), `release_ns` the latest instant at which the host side of the
    launch can have been ready, `latency_ns` (low, high) of an empty queue. `waits` rows are (call row, op or -1).
    """

    start_ns: Int64Array
    end_ns: Int64Array
    thread: Int64Array
    is_wait: np.ndarray
    own_op: Int64Array
    visible: bool
    waits_visible: bool


@dataclass(frozen=True, slots=True)
class Timeline:
    """Ops of one device over a stretch of whole steps, sorted by start; times relative to the first start.

    `lane`: dense stream number; `fifo`: what an eager op follows on its lane, -1 for the first and for graph nodes;
    `early`: starts before `fifo` ended (PDL); `effective_ns`: the part of the op that delays what follows;
    `replay`: dense graph-launch number, -1 for eager ops; `node`: identity of the op inside its replay;
    `launch`: row in `host`, -1 unknown; `release_ns`: latest host-side readiness (graph nodes are streamed on ROCm);
    `waits_on`: for each op, ops it is known to wait for (cuda_sync records). `gap_max_ns`: largest back-to-back gap.
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
    waits_on: tuple[tuple[int, ...], ...]
    edges_known: np.ndarray
    host: Host
    latency_ns: tuple[int, int]
    gap_ns: int
    gap_max_ns: int
    steps: int
    next_start: int | None

    @property
    def size(self) -> int:
        """Number of ops."""
        return int(self.op_id.size)


def effective_ns(trace: Trace) -> Int64Array:
    """The part of each op that delays what follows on its stream: without the time a PDL op runs ahead of its predecessor.

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
    """The timeline of steps first … last (step indexes, both included), with what the trace tells of dependencies.

    With `closing` the first op of step last + 1 ends the timeline (`next_start`): the step interval is what counts then.
    """
    wanted = (steps.op_step >= first) & (steps.op_step <= last)
    rows = trace.gpu_ops.select(
        "op_id", "device", "stream", "start_ns", "end_ns", "launch_id", "graph_node_id",
        pl.col("name").to_physical().cast(pl.Int64).alias("name"),
    ).with_columns(pl.Series("step", steps.op_step))  # fmt: skip
    inside = rows.filter(pl.Series(wanted)).drop_nulls(["start_ns", "end_ns"])
    after = (
        rows.filter(pl.Series(steps.op_step == last + 1)).drop_nulls(["start_ns", "end_ns"]).head(1 if closing else 0)
    )
    ops = pl.concat([inside, after]).sort("start_ns", "op_id") if after.height else inside
    following = ops["op_id"].to_list().index(after["op_id"][0]) if after.height else None
    return _arrays(trace, ops, floor, last - first + 1, following)


def _arrays(trace: Trace, ops: pl.DataFrame, floor: Floor, count: int, following: int | None) -> Timeline:
    origin = int(ops["start_ns"][0])
    start = ops["start_ns"].to_numpy() - origin
    end = ops["end_ns"].to_numpy() - origin
    lane = _dense(ops["stream"].fill_null(-1).to_numpy())
    launch, host, replay = _host(trace, ops, origin)
    fifo = _in_order(start, end, _previous_on_lane(lane, end, replay))
    start, early = _touching(start, end, fifo)
    before = np.where(early, np.minimum(end[np.maximum(fifo, 0)], end), start)
    latency = _latency(start, end, launch, replay, host)
    waits = _known_waits(trace, ops, host, launch)
    single = np.unique(lane).size == 1
    # With one stream, or with every cross-stream wait recorded, nothing else can hold an eager op back.
    known = (replay < 0) & (single or trace.syncs.height > 0)
    return Timeline(
        ops["op_id"].to_numpy(), ops["step"].to_numpy().astype(np.int64), start, end, end - before, lane, fifo, early,
        replay, _nodes(ops, replay), launch, _release(trace, start, launch, replay, host, latency), waits, known, host,
        latency, floor.gap_ns, floor.gap_max_ns, count, following,
    )  # fmt: skip


def _dense(values: Int64Array) -> Int64Array:
    return np.unique(values, return_inverse=True)[1].astype(np.int64)


def _previous_on_lane(lane: Int64Array, end: Int64Array, replay: Int64Array) -> Int64Array:
    """What each eager op follows on its stream: the op before, or all of a graph replay, which is its last op to end.

    Replay nodes have no such predecessor: inside a graph the stream shown orders nothing.
    """
    fifo = np.full(lane.size, -1, dtype=np.int64)
    order = np.argsort(lane, kind="stable")
    same = lane[order][1:] == lane[order][:-1]
    fifo[order[1:][same]] = order[:-1][same]
    for index in np.unique(replay[replay >= 0]):
        nodes = np.flatnonzero(replay == index)
        follows = np.isin(fifo, nodes)
        fifo[follows] = nodes[np.argmax(end[nodes])]
    fifo[replay >= 0] = -1
    return fifo


def _in_order(start: Int64Array, end: Int64Array, fifo: Int64Array) -> Int64Array:
    """Drop predecessors that end too late for the op to have waited for them."""
    ahead = np.where(fifo >= 0, end[np.maximum(fifo, 0)] - start, 0)
    return np.where(ahead > PDL_MOST_NS, -1, fifo)


def _touching(start: Int64Array, end: Int64Array, fifo: Int64Array) -> tuple[Int64Array, np.ndarray]:
    """Starts with clock grain removed, and which ops truly start before their predecessor on the stream ended."""
    previous_end = np.where(fifo >= 0, end[np.maximum(fifo, 0)], start)
    ahead = previous_end - start
    grain = (ahead > 0) & (ahead <= TOUCH_NS)
    return np.where(grain, np.minimum(previous_end, end), start), ahead > TOUCH_NS


def _host(trace: Trace, ops: pl.DataFrame, origin: int) -> tuple[Int64Array, Host, Int64Array]:
    """Launch row of each op, the host calls that launch these ops or wait, and the replay of each op."""
    calls = trace.calls
    used = ops["launch_id"].drop_nulls().unique()
    first = calls["start_ns"].gather(used.sort().head(1))
    since = int(first[0]) if first.len() else origin
    until = int(ops["end_ns"].max() or origin)  # type: ignore[arg-type]
    waiting = pl.col("kind").is_in(["sync", "memcpy"]) & pl.col("start_ns").is_between(since, until)
    rows = calls.filter(pl.col("launch_id").is_in(used.implode()) | waiting)
    place = np.full(calls.height + 1, -1, dtype=np.int64)
    place[rows["launch_id"].to_numpy()] = np.arange(rows.height)
    launch = place[ops["launch_id"].fill_null(calls.height).to_numpy()]
    threads = _dense(rows["tid"].fill_null(-1).to_numpy()) if rows.height else np.zeros(0, np.int64)
    own = np.full(rows.height, -1, dtype=np.int64)
    own[launch[launch >= 0]] = np.flatnonzero(launch >= 0)
    kind = rows["kind"].cast(pl.String).to_numpy() if rows.height else np.zeros(0, str)
    graph = np.isin(np.arange(rows.height), np.flatnonzero(kind == "graph_launch"))
    replay = np.where(launch >= 0, np.where(graph[np.maximum(launch, 0)] if rows.height else False, launch, -1), -1)
    host = Host(
        rows["start_ns"].to_numpy() - origin,
        rows["end_ns"].to_numpy() - origin,
        threads,
        (kind == "sync") | (kind == "memcpy"),
        own,
        bool((launch >= 0).any()),
        bool((calls["kind"] == "sync").any()),
    )
    return launch, host, np.where(replay >= 0, _dense(replay) - int((replay < 0).any()), -1)


def _latency(start: Int64Array, end: Int64Array, launch: Int64Array, replay: Int64Array, host: Host) -> tuple[int, int]:
    """(low, high) time from a launch call to the start of its op when the device had nothing else to do at the call."""
    reach = np.concatenate(([0], np.maximum.accumulate(end)[:-1]))
    called = host.start_ns[np.maximum(launch, 0)] if host.start_ns.size else start
    first = np.concatenate(([True], launch[1:] != launch[:-1])) | (replay < 0)
    lag = (start - called)[(launch >= 0) & first & (reach <= called)]
    if lag.size == 0:
        return 0, UNKNOWN_LATENCY_NS
    # What starts much later than its like also waited for something else.
    usual = lag[lag <= LATENCY_SPREAD * np.median(lag)]
    return max(int(lag.min()), 0), int(usual.max()) if usual.size else int(lag.min())


def _release(
    trace: Trace, start: Int64Array, launch: Int64Array, replay: Int64Array, host: Host, latency: tuple[int, int]
) -> Int64Array:
    """The latest instant the host side of each launch can have been ready, latency excluded.

    HIP releases graph nodes one by one while the launch call runs, so late nodes of a long graph are released late;
    CUDA hands over the whole graph at once.
    """
    release = np.where(launch >= 0, host.start_ns[np.maximum(launch, 0)] if host.start_ns.size else 0, start)
    if not trace.dispatch_gap_in_duration:
        return release
    for index in range(int(replay.max()) + 1 if replay.size else 0):
        nodes = np.flatnonzero(replay == index)
        call = launch[nodes[0]]
        ordinal = np.arange(1, nodes.size + 1)
        fastest = float(((start[nodes] - host.start_ns[call] - latency[0]) / ordinal).min())
        per_node = min((host.end_ns[call] - host.start_ns[call]) / nodes.size, max(fastest, 0.0))
        release[nodes] = host.start_ns[call] + (per_node * ordinal).astype(np.int64)
    return release


def _nodes(ops: pl.DataFrame, replay: Int64Array) -> Int64Array:
    """Identity of each op inside its replay: the graph node id, else the k-th call of its name."""
    frame = ops.select("name", "graph_node_id").with_columns(pl.Series("replay", replay))
    if frame.filter(pl.col("replay") >= 0)["graph_node_id"].null_count() == 0:
        return _dense(frame["graph_node_id"].fill_null(-1).to_numpy())
    turn = frame.select((pl.int_range(pl.len()).over("replay", "name")).alias("turn"))["turn"].to_numpy()
    name = frame["name"].to_numpy()
    return _dense(name * (int(turn.max()) + 1) + turn)


def _known_waits(trace: Trace, ops: pl.DataFrame, host: Host, launch: Int64Array) -> tuple[tuple[int, ...], ...]:
    """Ops each op waits for through recorded events: the last op before the record holds the next op on the waiting stream."""
    out: list[tuple[int, ...]] = [() for _ in range(ops.height)]
    waits = trace.syncs.filter((pl.col("kind") == "stream_wait") & pl.col("wait_correlation").is_not_null())
    if waits.is_empty() or not host.visible:
        return tuple(out)
    by_correlation = (
        trace.calls.drop_nulls("correlation").select("correlation", "start_ns").unique("correlation", keep="first")
    )
    record = waits.join(
        by_correlation, left_on="wait_correlation", right_on="correlation", how="inner", suffix="_record"
    )
    both = record.join(by_correlation, on="correlation", how="inner", suffix="_wait")
    stream = ops["stream"].fill_null(-1).to_numpy()
    begin = np.where(launch >= 0, host.start_ns[np.maximum(launch, 0)], np.iinfo(np.int64).max)
    origin = int(ops["start_ns"][0])
    columns = ("stream", "wait_stream", "start_ns_record", "start_ns_wait")
    for waiting, recorded, at_record, at_wait in zip(*(both[c].to_list() for c in columns), strict=True):
        source = np.flatnonzero((stream == recorded) & (begin < at_record - origin))
        target = np.flatnonzero((stream == waiting) & (begin > at_wait - origin) & (launch >= 0))
        if source.size and target.size:
            out[target[0]] = (*out[target[0]], int(source[-1]))
    return tuple(out)
