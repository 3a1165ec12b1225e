"""rocpd databases (`rocprofv3`, default output since ROCm 7.0; rocprof-sys), schema 3.x and 4.x.

The launching call is found by `stack_id` of the events, which holds the internal correlation id; `correlation_id`
holds the user's external one, usually 0. Grid sizes count work-items. Source: rocm-systems,
projects/rocprofiler-sdk, generateRocpd.cpp and rocpd_tables.sql. Ignored: samples, allocations, call arguments.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

from trace_budget.contracts import FileNames, Head, Reader, ReadOptions
from trace_budget.errors import InputError
from trace_budget.io import sqlite
from trace_budget.io.sqlite import Database
from trace_budget.readers.records import Records, trace_of
from trace_budget.readers.rocprof.renamed import without_range_names
from trace_budget.readers.rocprof.rocpd_tables import frame_of, looked_up, tables_of, timed_rows
from trace_budget.schema.trace import Trace

_SIZES = {f"grid_size_{axis}": f"grid_{axis}" for axis in "xyz"} | {
    f"workgroup_size_{axis}": f"block_{axis}" for axis in "xyz"
}
_API = "(?i)hip|hsa|rccl"
_MARKER = "(?i)marker|roctx|^user$"
_RECORDED_NAME = "^roctx[A-Z]"


def _recognises(head: Head) -> bool:
    bases = ("rocpd_kernel_dispatch", "rocpd_info_agent")
    return head.data.startswith(sqlite.MAGIC) and any(tables_of(head.names, base) for base in bases)


def _read(path: Path, options: ReadOptions) -> Trace:
    with sqlite.opened(path) as db:
        agents = _agents(db)
        events = _events(db)
        kernels = _kernels(db, agents)
        _refuse_unusable(db, kernels)
        regions = _regions(db, events)
        is_marker = pl.col("category").str.contains(_MARKER)
        is_call = pl.col("category").str.contains(_API) & ~is_marker
        markers = _placed(db, _named_markers(db, regions.filter(is_marker)), events)
        named, renamed = without_range_names(kernels.rename({"start": "start_ns", "end": "end_ns"}), markers["name"])
        kernels = named.rename({"start_ns": "start", "end_ns": "end"}).with_columns(pl.col("name").cast(pl.String))
        ops = pl.concat([kernels, _copies(db, agents)], how="diagonal")
        records = Records(
            ops=_placed(db, ops, events),
            calls=_placed(db, regions.filter(is_call), events),
            markers=markers,
            caveats=renamed,
            keys=("guid", "pid", "correlation"),
        )
        return trace_of(
            db,
            "rocpd",
            records,
            device_name=_device_names(agents, ops),
            vendor="AMD",
            dispatch_gap_in_duration=True,
            rank=options.rank,
        )


def _refuse_unusable(db: Database, kernels: pl.DataFrame) -> None:
    if not kernels.height:
        where = f"{db.path}, table rocpd_kernel_dispatch"
        found = "empty" if tables_of(tuple(db.tables), "rocpd_kernel_dispatch") else "absent"
        advice = "Record again with: rocprofv3 --kernel-trace --hip-trace -- COMMAND (workers write files of their own)"
        raise InputError("holds no kernel dispatches", where=where, expected="filled", found=found, advice=advice)
    counted = frame_of(db, "rocpd_pmc_event", ("event_id",)).join(kernels, on=["guid", "event_id"], how="semi")
    if counted.height:
        advice = "Record a timeline without counters: rocprofv3 --kernel-trace --hip-trace -- COMMAND"
        raise InputError(
            "was recorded with hardware counters, which run kernels one by one: its times are no step's times",
            where=f"{db.path}, table rocpd_pmc_event",
            found=f"{counted.height} counter values on dispatches",
            advice=advice,
        )


def _agents(db: Database) -> pl.DataFrame:
    rows = frame_of(
        db,
        "rocpd_info_agent",
        ("id", "logical_index", "absolute_index"),
        ("type", "product_name", "model_name", "name"),
    )
    known = [pl.when(pl.col(name) != "").then(pl.col(name)) for name in ("product_name", "model_name", "name")]
    return rows.select(
        "guid",
        "id",
        pl.coalesce("logical_index", "absolute_index", "id").alias("device"),
        (pl.col("type") == "GPU").alias("is_gpu"),
        pl.coalesce(*known).alias("label"),
    )


def _kernels(db: Database, agents: pl.DataFrame) -> pl.DataFrame:
    rows = timed_rows(db, "rocpd_kernel_dispatch", ("kernel_id", "event_id", "graph_node_id"), tuple(_SIZES))
    symbols = frame_of(db, "rocpd_info_kernel_symbol", ("id",), ("display_name", "kernel_name"))
    known = [pl.when(pl.col(name) != "").then(pl.col(name)) for name in ("display_name", "kernel_name")]
    symbols = symbols.with_columns(pl.coalesce(*known).alias("name"))
    named = looked_up(looked_up(rows, "kernel_id", symbols, name="name"), "agent_id", agents, device="device")
    nameless = pl.format("kernel symbol {}", pl.col("kernel_id"))
    node = pl.when(pl.col("graph_node_id") > 0).then(pl.col("graph_node_id"))
    return named.with_columns(
        pl.lit("kernel").alias("kind"), pl.col("name").fill_null(nameless), node.alias("graph_node_id")
    ).rename(_SIZES)


def _copies(db: Database, agents: pl.DataFrame) -> pl.DataFrame:
    """Copies belong to the GPU they write to, else to the one they read from."""
    wanted = ("name_id", "event_id", "graph_node_id", "dst_agent_id", "src_agent_id", "size")
    rows = timed_rows(db, "rocpd_memory_copy", wanted)
    strings = frame_of(db, "rocpd_string", ("id",), ("string",))
    gpus = agents.filter(pl.col("is_gpu"))
    named = looked_up(rows, "name_id", strings, string="name")
    targets = looked_up(named, "dst_agent_id", gpus, device="device")
    sources = looked_up(targets, "src_agent_id", gpus, device="source_device")
    node = pl.when(pl.col("graph_node_id") > 0).then(pl.col("graph_node_id"))
    return sources.with_columns(
        pl.lit("memcpy").alias("kind"),
        pl.coalesce("device", "source_device").alias("device"),
        node.alias("graph_node_id"),
        pl.col("size").alias("bytes"),
    ).drop("source_device", "size")


def _regions(db: Database, events: pl.DataFrame) -> pl.DataFrame:
    """Host ranges with their names and categories (in 3.x a string, in 4.x a table of its own)."""
    strings = frame_of(db, "rocpd_string", ("id",), ("string",))
    categories = frame_of(db, "rocpd_info_category", ("id",), ("name",)).rename({"name": "string"})
    rows = looked_up(timed_rows(db, "rocpd_region", ("name_id", "event_id")), "name_id", strings, string="name")
    typed = looked_up(rows, "event_id", events, category_id="category_id")
    return looked_up(typed, "category_id", categories if categories.height else strings, string="category")


def _named_markers(db: Database, markers: pl.DataFrame) -> pl.DataFrame:
    """Older writers name a range after the roctx call and keep its text in the event's extra data."""
    kind = markers.with_columns(pl.lit("annotation").alias("kind"))
    if not markers.select(pl.col("name").str.contains(_RECORDED_NAME).any()).item():
        return kind
    extra = frame_of(db, "rocpd_event", ("id",), ("extdata",)).filter(pl.col("extdata").str.contains('"message"'))
    message = extra.with_columns(pl.col("extdata").str.json_path_match("$.message").alias("message"))
    texts = looked_up(kind, "event_id", message, message="message")
    recorded = pl.col("name").str.contains(_RECORDED_NAME) & pl.col("message").is_not_null()
    return texts.with_columns(pl.when(recorded).then(pl.col("message")).otherwise(pl.col("name")).alias("name"))


def _events(db: Database) -> pl.DataFrame:
    """Events with one correlation each: the internal id, or the external one when the writer knew no internal ids."""
    rows = frame_of(db, "rocpd_event", ("id", "stack_id", "correlation_id", "category_id"))
    internal = rows.select((pl.col("stack_id") != 0).any()).item()
    known = pl.col("stack_id" if internal else "correlation_id")
    return rows.select("guid", "id", "category_id", pl.when(known != 0).then(known).alias("correlation"))


def _placed(db: Database, rows: pl.DataFrame, events: pl.DataFrame) -> pl.DataFrame:
    """Declared names for times and places; process and thread as the OS numbers them."""
    linked = looked_up(rows, "event_id", events, correlation="correlation")
    for column, base in (("pid", "rocpd_info_process"), ("tid", "rocpd_info_thread")):
        numbers = frame_of(db, base, ("id", column))
        linked = looked_up(linked.rename({column: "row_id"}), "row_id", numbers, **{column: column})
        linked = linked.with_columns(pl.coalesce(column, "row_id").alias(column)).drop("row_id")
    return linked.rename({"start": "start_ns", "end": "end_ns", "stream_id": "stream", "queue_id": "queue"})


def _device_names(agents: pl.DataFrame, ops: pl.DataFrame) -> str | None:
    used = agents.join(ops, left_on=["guid", "id"], right_on=["guid", "agent_id"], how="semi")
    return ", ".join(used["label"].drop_nulls().unique(maintain_order=True)) or None


READER = Reader(
    name="rocpd",
    title="rocpd database (rocprofv3, rocprof-sys)",
    recognised_by="an SQLite file with tables rocpd_kernel_dispatch or rocpd_info_agent, with or without a guid suffix",
    cannot_tell="idle time between kernels of one queue (booked into the kernels); module calls",
    recognises=_recognises,
    read=_read,
    suffixes=(".db",),
    writers={"rocprofv3": 0},
    work_table="rocpd_kernel_dispatch",
    names=FileNames(output="results"),
)
