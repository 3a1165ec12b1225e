"""Nsight Systems tables, whatever holds them (SQLite, Parquet folder): kernels, copies, API calls, NVTX, syncs.

Tables and columns come and go with the export version, so each is looked for and its absence is reported. Source:
the comments of `nsys export --type sqlite` itself and docs.nvidia.com/nsight-systems, "SQLite Schema Reference".
Ignored: OS runtime, CPU samples, NVTX marks and payloads, GPU metrics.
"""

from __future__ import annotations

from collections.abc import Collection

import polars as pl

from trace_budget.errors import InputError
from trace_budget.readers.nsys.nsys_devices import gpus_of, renumbered
from trace_budget.readers.processes import keys_of, with_processes
from trace_budget.readers.records import Records, Tables, trace_of
from trace_budget.schema.trace import Caveat, Trace

KERNELS = "CUPTI_ACTIVITY_KIND_KERNEL"
_GRAPHS = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"
_CALL_TABLES = ("CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_DRIVER")
_RANGES = (59, 60)
_NO_STREAM = 4_294_967_295
_SYNC_KINDS = {1: "event_sync", 2: "stream_wait", 3: "stream_sync", 4: "context_sync"}
_COPY_KINDS = {
    1: "Host-to-Device",
    2: "Device-to-Host",
    3: "Host-to-Array",
    4: "Array-to-Host",
    5: "Array-to-Array",
    6: "Array-to-Device",
    7: "Device-to-Array",
    8: "Device-to-Device",
    9: "Host-to-Host",
    10: "Peer-to-Peer",
    11: "Unified Host-to-Device",
    12: "Unified Device-to-Host",
    13: "Unified Device-to-Device",
}
_HIDDEN_SHARE = 0.01
_RERECORD = "Record again with: nsys profile --trace=cuda,nvtx --cuda-graph-trace=node COMMAND"
_PLACE = ("start", "end", "deviceId", "contextId", "streamId", "correlationId", "globalPid", "graphNodeId")
_RENAMED = {
    "start": "start_ns",
    "end": "end_ns",
    "deviceId": "device",
    "contextId": "context",
    "streamId": "stream",
    "correlationId": "correlation",
    "graphNodeId": "graph_node_id",
}


def is_nsys(names: Collection[str]) -> bool:
    """Whether these are the table names of an Nsight Systems export."""
    activities = any(name.startswith("CUPTI_ACTIVITY_KIND_") for name in names)
    return "StringIds" in names and (activities or "META_DATA_EXPORT" in names)


def read_trace(tables: Tables, format_name: str, source_bytes: int, rank: int | None) -> Trace:
    """The Trace of one Nsight Systems export; InputError when it holds no kernels or only whole graphs."""
    # an id that stands twice would make two kernels of one
    strings = tables.read("StringIds", {"id": pl.Int64(), "value": pl.String()}).unique("id", keep="first")
    kernels = _kernels(tables, strings)
    hidden = _hidden_graphs(tables, kernels)
    if not kernels.height:
        found = "no table of kernels" if not tables.has(KERNELS) else "an empty table of kernels"
        raise InputError("holds no GPU kernels", where=str(tables.path), found=found, advice=_RERECORD)
    gpus = gpus_of(tables)
    calls = _calls(tables, strings)
    recorded = pl.concat([kernels, _copies(tables), _memsets(tables)], how="diagonal")
    owned, unsure = with_processes(recorded, calls, ("device", "context"), str(tables.path), _RERECORD)
    ops = renumbered(owned.drop("context"), gpus)
    records = Records(
        ops=ops,
        calls=calls,
        markers=_markers(tables, strings),
        keys=keys_of(ops, calls),
        syncs=_syncs(tables, gpus),
        caveats=(*hidden, *unsure),
        earliest_ns=0,
    )
    return trace_of(
        tables,
        format_name,
        records,
        device_name=_device_names(tables),
        vendor="NVIDIA",
        source_bytes=source_bytes,
        rank=rank,
    )


def _numbers(*names: str) -> dict[str, pl.DataType]:
    return {name: pl.Int64() for name in names}


def _process(column: str) -> pl.Expr:
    """The process inside a serialised GlobalId: bits 24 to 47."""
    return (pl.col(column) // (1 << 24) % (1 << 24)).alias("pid")


def _thread(column: str) -> pl.Expr:
    return (pl.col(column) % (1 << 24)).alias("tid")


def _placed(rows: pl.DataFrame) -> pl.DataFrame:
    return rows.with_columns(_process("globalPid")).drop("globalPid").rename(_RENAMED)


def _texts(ids: pl.DataFrame, column: str, strings: pl.DataFrame) -> pl.Series:
    """The text of each id in `column`; null without one."""
    found = ids.select(column).join(strings, left_on=column, right_on="id", how="left", maintain_order="left")
    return found["value"]


def _kernels(tables: Tables, strings: pl.DataFrame) -> pl.DataFrame:
    sizes = {
        f"{nsys}{axis.upper()}": f"{ours}_{axis}"
        for nsys, ours in (("grid", "grid"), ("block", "block"))
        for axis in "xyz"
    }
    rows = tables.read(KERNELS, _numbers(*_PLACE, "demangledName", "shortName", *sizes))
    name = _texts(rows, "demangledName", strings).fill_null(_texts(rows, "shortName", strings))
    placed = _placed(rows.drop("demangledName", "shortName")).rename(sizes)
    return placed.with_columns(pl.lit("kernel").alias("kind"), name.alias("name"))


def _copies(tables: Tables) -> pl.DataFrame:
    rows = tables.read("CUPTI_ACTIVITY_KIND_MEMCPY", _numbers(*_PLACE, "copyKind", "bytes"))
    label = pl.col("copyKind").replace_strict(_COPY_KINDS, default="Unknown", return_dtype=pl.String)
    name = pl.format("[CUDA memcpy {}]", label)
    return _placed(rows).with_columns(pl.lit("memcpy").alias("kind"), name.alias("name")).drop("copyKind")


def _memsets(tables: Tables) -> pl.DataFrame:
    rows = tables.read("CUPTI_ACTIVITY_KIND_MEMSET", _numbers(*_PLACE, "bytes"))
    return _placed(rows).with_columns(pl.lit("memset").alias("kind"), pl.lit("[CUDA memset]").alias("name"))


def _hidden_graphs(tables: Tables, kernels: pl.DataFrame) -> tuple[Caveat, ...]:
    """Graph launches recorded as one block each: their kernels are not in the file."""
    rows = tables.read(_GRAPHS, _numbers("start", "end", "correlationId", "globalPid")).with_columns(
        _process("globalPid")
    )
    known = kernels.select("correlation", "pid")
    hidden = rows.join(known, left_on=["correlationId", "pid"], right_on=["correlation", "pid"], how="anti")
    if not hidden.height:
        return ()
    hidden_ns = hidden.select((pl.col("end") - pl.col("start")).sum()).item()
    kernel_ns = kernels.select((pl.col("end_ns") - pl.col("start_ns")).sum()).item()
    if hidden_ns >= _HIDDEN_SHARE * (hidden_ns + kernel_ns):
        raise InputError(
            "recorded whole CUDA graphs, not the kernels inside them",
            where=f"{tables.path}, table {_GRAPHS}",
            found=f"{hidden.height} graph launches of {hidden_ns} ns without kernels, {kernels.height} kernels outside",
            advice=_RERECORD,
        )
    text = "graph launches were recorded as one block each: the kernels inside them are missing"
    return (Caveat("graph_kernels_missing", text, hidden.height, "warning"),)


def _calls(tables: Tables, strings: pl.DataFrame) -> pl.DataFrame:
    wanted = _numbers("start", "end", "globalTid", "correlationId", "nameId")
    rows = pl.concat([tables.read(table, wanted) for table in _CALL_TABLES])
    return rows.select(
        _texts(rows, "nameId", strings).alias("name"),
        _process("globalTid"),
        _thread("globalTid"),
        pl.col("start").alias("start_ns"),
        pl.col("end").alias("end_ns"),
        pl.col("correlationId").alias("correlation"),
    )


def _markers(tables: Tables, strings: pl.DataFrame) -> pl.DataFrame:
    wanted = {**_numbers("start", "end", "eventType", "textId", "globalTid"), "text": pl.String()}
    rows = tables.read("NVTX_EVENTS", wanted).filter(pl.col("eventType").is_in(_RANGES))
    return rows.select(
        pl.lit("annotation").alias("kind"),
        rows["text"].fill_null(_texts(rows, "textId", strings)).alias("name"),
        _process("globalTid"),
        _thread("globalTid"),
        pl.col("start").alias("start_ns"),
        pl.col("end").alias("end_ns"),
    )


def _syncs(tables: Tables, gpus: pl.DataFrame) -> pl.DataFrame:
    """Waits, joined with the event records they wait for, and those records where the device clock was taken."""
    event = ("globalPid", "eventId", "eventSyncId")
    wanted = _numbers("start", "end", "deviceId", "streamId", "correlationId", "syncType", *event)
    waits = _on_gpu(tables.read("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", wanted), gpus)
    stamped = _numbers("timestamp", "deviceId", "streamId", "correlationId", *event)
    records = _on_gpu(tables.read("CUPTI_ACTIVITY_KIND_CUDA_EVENT", stamped), gpus)
    recorded = records.select(
        *event, pl.col("streamId").alias("wait_stream"), pl.col("correlationId").alias("wait_correlation")
    ).unique(event, keep="last", maintain_order=True)
    waiting = waits.join(recorded, on=list(event), how="left", maintain_order="left").select(
        pl.col("syncType").replace_strict(_SYNC_KINDS, default="other", return_dtype=pl.String).alias("kind"),
        *_sync_place("start", "end"),
        "wait_stream",
        "wait_correlation",
    )
    timed = records.filter(pl.col("timestamp") > 0)
    recording = timed.select(pl.lit("event_record").alias("kind"), *_sync_place("timestamp", "timestamp"))
    return pl.concat([waiting, recording], how="diagonal").filter(pl.col("start_ns").is_not_null())


def _on_gpu(rows: pl.DataFrame, gpus: pl.DataFrame) -> pl.DataFrame:
    return renumbered(rows.rename({"deviceId": "device"}).with_columns(_process("globalPid")), gpus)


def _sync_place(start: str, end: str) -> tuple[pl.Expr, ...]:
    stream = pl.when(pl.col("streamId") != _NO_STREAM).then(pl.col("streamId"))
    return (
        pl.col("device").cast(pl.Int32, strict=False),
        stream.alias("stream"),
        pl.col(start).alias("start_ns"),
        pl.col(end).alias("end_ns"),
        pl.col("correlationId").alias("correlation"),
    )


def _device_names(tables: Tables) -> str | None:
    names = tables.read("TARGET_INFO_GPU", {"name": pl.String()})["name"].drop_nulls().unique(maintain_order=True)
    return ", ".join(names) or None
