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
TOUCH_GRAIN_NS = 500
LATENCY_SPREAD = 2.0  # launch latencies beyond this multiple of the median are waits, not latency
LATENCY_MOST_NS = 200_000  # an op that starts later after its launch waited for work the trace does not show
UNKNOWN_LATENCY_NS = 10_000
COLLECTIVE = (
    r"(?i)nccl|rccl|msccl|all_?reduce|all_?gather|reduce_?scatter|all_?to_?all"
    r"|cross_device_reduce|quick_?reduce|deep_ep"
)


@dataclass(frozen=True, slots=True)
class Host:
    """Launch and wait calls of the stretch on their threads.

    `is_wait`: calls that may block until device work ends; `own_op`: the op a copy call launched, -1 otherwise;
    `visible`: launches can be followed; `waits_visible`: the trace holds wait calls; `streams_nodes`: graph launches
    release their nodes one by one (HIP).
    """

    start_ns: Int64Array
    end_ns: Int64Array
    thread: Int64Array
    is_wait: np.ndarray
    own_op: Int64Array
    visible: bool
    waits_visible: bool
    streams_nodes: bool


@dataclass(frozen=True, slots=True)
class Timeline:
    """Ops of one device over a stretch of whole steps, sorted by start; times relative to the first start.

    `lane`: dense stream number; `fifo`: what an eager op follows on its lane, -1 for the first and for graph nodes;
    `early`: starts before `fifo` ended (PDL); `effective_ns`: the part of the op that delays what follows;
    `replay`: dense graph-launch number, -1 for eager ops; `node`: identity of the op inside its replay;
    `launch`: row in `host`, -1 unknown; `steps`: steps from the first to the last;
    `release_ns`: host-side readiness (graph nodes are streamed on ROCm), `latest_release_ns` at the very latest;
    `waited_ns`: how long a collective waited for other ranks (beyond the shortest of its name), -1 for other ops;
    `pace`: waits, ahead, unclear or one: how the host follows the device;
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
    latest_release_ns: Int64Array
    waits_on: tuple[tuple[int, ...], ...]
    edges_known: np.ndarray
    host: Host
    latency_ns: tuple[int, int]
    gap_ns: int
    gap_max_ns: int
    steps: int
    next_start: int | None
    waited_ns: Int64Array
    pace: str

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
    """The timeline of steps first … last (step indexes, both included), with what the trace tells of dependencies.

    With `closing` the first op of step last + 1 ends the timeline (`next_start`): then the step interval counts.
    """
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
    return _arrays(trace, ops, floor, last - first + 1, following)


def _arrays(trace: Trace, ops: pl.DataFrame, floor: Floor, count: int, following: int | None) -> Timeline:
    origin = int(ops["start_ns"][0])
    start = ops["start_ns"].to_numpy() - origin
    end = ops["end_ns"].to_numpy() - origin
    lane = _dense(ops["stream"].fill_null(-1).to_numpy())
    launch, host, replay = _host(trace, ops, origin)
    ahead = _previous_on_lane(lane, end, replay)
    fifo = _in_order(start, end, ahead)
    ordered = bool((fifo == ahead).all())
    start, early = _touching(start, end, fifo)
    before = np.where(early, np.minimum(end[np.maximum(fifo, 0)], end), start)
    latency = _latency(start, end, launch, replay, host, _busy_until(trace, ops) - origin)
    waits = _known_waits(trace, ops, host)
    release = _release(start, launch, replay, host, latency)
    # With one stream, or with every cross-stream wait recorded, nothing else can hold an eager op back. Streams whose
    # ops overlap are not those the ops ran on.
    complete = ordered and (np.unique(lane).size == 1 or _waits_recorded(trace))
    known = (replay < 0) & complete & ~_behind_branches(start, end, fifo, replay)
    return Timeline(
        ops["op_id"].to_numpy(), ops["step"].to_numpy().astype(np.int64), start, end, end - before, lane, fifo, early,
        replay, _nodes(ops, replay), launch, release, _latest_release(start, end, release, launch, replay, host),
        waits, known, host,
        latency, floor.gap_ns, floor.gap_max_ns, count, following, _waited(ops),
        _pace(ops, end, launch, host),
    )  # fmt: skip


def _pace(ops: pl.DataFrame, end: Int64Array, launch: Int64Array, host: Host) -> str:
    """How the host follows the device from step to step.

    waits: most steps are waited for before the next launch; ahead: most are launched before their predecessor ended;
    unclear: neither, the host is slower than the device; one: there is nothing to follow.
    """
    indexes, step = np.unique(ops["step"].to_numpy(), return_inverse=True)
    if indexes.size < 3 or not host.visible:
        return "one"
    ended, following = np.zeros(indexes.size, np.int64), np.full(indexes.size, np.iinfo(np.int64).max)
    np.maximum.at(ended, step, end)
    launched = launch >= 0
    np.minimum.at(following, step[launched], host.start_ns[launch[launched]])
    ended, following = ended[:-1], following[1:]
    if np.mean(following < ended) > 0.5:
        return "ahead"
    waits = np.flatnonzero(host.is_wait)
    waits = waits[np.argsort(host.end_ns[waits], kind="stable")]
    first = np.searchsorted(host.end_ns[waits], ended, side="left").tolist()
    last = np.searchsorted(host.end_ns[waits], following, side="right").tolist()
    entered, never = host.start_ns[waits], np.iinfo(np.int64).max
    waited = [
        int(entered[begin:stop].min(initial=never)) <= until
        for begin, stop, until in zip(first, last, ended.tolist(), strict=True)
    ]
    return "waits" if np.mean(waited) > 0.5 else "unclear"


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
    last = _last_to_end(end, replay)
    followed = np.where(fifo >= 0, replay[np.maximum(fifo, 0)], -1)
    fifo = np.where(followed >= 0, last[followed], fifo)
    fifo[replay >= 0] = -1
    return fifo


def _last_to_end(end: Int64Array, replay: Int64Array) -> Int64Array:
    """The op of each replay that ends last, the first of equals; one entry at least."""
    inside = np.flatnonzero(replay >= 0)
    last = np.full(int(replay.max(initial=0)) + 1, -1, dtype=np.int64)
    ordered = inside[np.lexsort((-inside, end[inside], replay[inside]))]
    last[replay[ordered]] = ordered  # of several for one replay the last one stays
    return last


def _in_order(start: Int64Array, end: Int64Array, fifo: Int64Array) -> Int64Array:
    """Drop predecessors that end too late for the op to have waited for them."""
    ahead = np.where(fifo >= 0, end[np.maximum(fifo, 0)] - start, 0)
    return np.where(ahead > PDL_MOST_NS, -1, fifo)


def _behind_branches(start: Int64Array, end: Int64Array, fifo: Int64Array, replay: Int64Array) -> np.ndarray:
    """Ops that follow a replay of several branches: each of its last nodes may hold them back, not the latest only."""
    nodes = pl.DataFrame({"replay": replay, "start": start, "end": end}).with_row_index("op").filter(replay >= 0)
    beside = nodes.filter(pl.col("start") < pl.col("end").cum_max().shift().over("replay"))
    followed = np.where(fifo >= 0, replay[np.maximum(fifo, 0)], -1)
    behind: np.ndarray = (followed >= 0) & np.isin(followed, beside["replay"].unique().to_numpy())
    return behind


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
        bool(rows.filter(pl.col("kind") == "graph_launch")["name"].cast(pl.String).str.starts_with("hip").any()),
    )
    return launch, host, np.where(replay >= 0, _dense(replay) - int((replay < 0).any()), -1)


def _busy_until(trace: Trace, ops: pl.DataFrame) -> int:
    """When the device was done with all that started before these ops; the smallest integer when there was nothing."""
    first, device = ops["op_id"][0], ops["device"][0]
    before = trace.gpu_ops.filter((pl.col("op_id") < first) & pl.col("device").eq_missing(pl.lit(device)))
    return int(before["end_ns"].max() or 0) if before["end_ns"].count() else np.iinfo(np.int64).min // 2  # type: ignore[arg-type]


def _latency(
    start: Int64Array, end: Int64Array, launch: Int64Array, replay: Int64Array, host: Host, busy_until: int
) -> tuple[int, int]:
    """(low, high) time from a launch call to the start of its op when the device had nothing else to do at the call."""
    reach = np.maximum(np.concatenate(([busy_until], np.maximum.accumulate(end)[:-1])), busy_until)
    called = host.start_ns[np.maximum(launch, 0)] if host.start_ns.size else start
    first = np.concatenate(([True], launch[1:] != launch[:-1])) | (replay < 0)
    lag = (start - called)[(launch >= 0) & first & (reach <= called)]
    lag = lag[lag <= LATENCY_MOST_NS]
    if lag.size == 0:
        return 0, UNKNOWN_LATENCY_NS
    # What starts much later than its like also waited for something else.
    usual = lag[lag <= LATENCY_SPREAD * np.median(lag)]
    return max(int(lag.min()), 0), int(usual.max()) if usual.size else int(lag.min())


def _release(
    start: Int64Array, launch: Int64Array, replay: Int64Array, host: Host, latency: tuple[int, int]
) -> Int64Array:
    """The latest instant the host side of each launch can have been ready, latency excluded.

    HIP releases graph nodes one by one while the launch call runs, so late nodes of a long graph are released late;
    CUDA hands over the whole graph at once.
    """
    release = np.where(launch >= 0, host.start_ns[np.maximum(launch, 0)] if host.start_ns.size else 0, start)
    inside = np.flatnonzero(replay >= 0) if host.streams_nodes else np.zeros(0, np.int64)
    if inside.size == 0:
        return release
    nodes = inside[np.argsort(replay[inside], kind="stable")]
    size = np.bincount(replay[nodes])[replay[nodes]]
    ordinal = np.arange(nodes.size) - np.searchsorted(replay[nodes], replay[nodes], side="left")
    called, returned = host.start_ns[launch[nodes]], host.end_ns[launch[nodes]]
    # The latency of an empty queue already holds the release of the first node.
    later = (start[nodes] - called - latency[0]) / np.maximum(ordinal, 1)
    fastest = np.full(int(replay.max()) + 1, np.inf)
    np.minimum.at(fastest, replay[nodes][ordinal > 0], later[ordinal > 0])
    per_node = np.minimum((returned - called) / size, np.maximum(fastest[replay[nodes]], 0.0))
    release[nodes] = called + (per_node * ordinal).astype(np.int64)
    return release


def _latest_release(
    start: Int64Array, end: Int64Array, release: Int64Array, launch: Int64Array, replay: Int64Array, host: Host
) -> Int64Array:
    """The latest possible readiness: in a streamed graph with branches nodes are not released in order of start."""
    latest = release.copy()
    if not host.streams_nodes or not (replay >= 0).any():
        return latest
    nodes = pl.DataFrame({"replay": replay, "start": start, "end": end}).with_row_index("op").filter(replay >= 0)
    beside = nodes.filter(pl.col("start") < pl.col("end").cum_max().shift().over("replay"))["replay"].unique()
    branched = nodes.filter(pl.col("replay").is_in(beside.implode()))["op"].to_numpy().astype(np.int64)
    latest[branched] = np.minimum(np.maximum(host.end_ns[launch[branched]], release[branched]), start[branched])
    return latest


def _nodes(ops: pl.DataFrame, replay: Int64Array) -> Int64Array:
    """Identity of each op inside its replay: the graph node id, else the k-th call of its name."""
    frame = ops.select("name", "graph_node_id").with_columns(pl.Series("replay", replay))
    if frame.filter(pl.col("replay") >= 0)["graph_node_id"].null_count() == 0:
        return _dense(frame["graph_node_id"].fill_null(-1).to_numpy())
    turn = frame.select((pl.int_range(pl.len()).over("replay", "name")).alias("turn"))["turn"].to_numpy()
    name = frame["name"].to_numpy()
    return _dense(name * (int(turn.max()) + 1) + turn)


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
