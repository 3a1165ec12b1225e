"""RPD, rocmProfileData (`runTracer.sh`, `rpdTracerControl`): SQLite with tables rocpd_op and rocpd_api, schema 2 and 3.

Kernels replayed by a graph have operation type `Task` and no row in rocpd_kernelapi, so RPD's own views leave them
out; here every row of rocpd_op is read. Source: github.com/ROCm/rocmProfileData, rocpd_python/rocpd/schema_data.
Ignored: call stacks, autograd arguments, clock and power samples.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

from trace_budget.contracts import Head, Reader, ReadOptions
from trace_budget.errors import InputError
from trace_budget.io import sqlite
from trace_budget.io.sqlite import Database
from trace_budget.readers.records import Records, Tables, trace_of
from trace_budget.readers.work_kinds import is_no_work, kind_of
from trace_budget.schema import build
from trace_budget.schema.kernel_names import is_dispatch_type
from trace_budget.schema.trace import Caveat, Trace

_MARKER_API = "UserMarker"
_SIZES = (("grid", "grid"), ("workgroup", "block"))
# rocprofiler-sdk's source of RPD writes every copy as of GPU 0, queue 0
_PLACELESS = (
    pl.col("op_type").str.starts_with("MEMORY_COPY") | pl.col("description").str.starts_with("hipMemcpy")
).fill_null(value=False)
_WORDS = {"description_id": "description", "opType_id": "op_type"}
_NEEDED = {"rocpd_string": ("id", "string"), "rocpd_op": ("id", "opType_id")}


def _recognises(head: Head) -> bool:
    return head.data.startswith(sqlite.MAGIC) and {"rocpd_op", "rocpd_api"} <= set(head.names)


def _read(path: Path, options: ReadOptions) -> Trace:
    with sqlite.opened(path) as database:
        strings = database.read("rocpd_string", {"id": pl.Int64(), "string": pl.String()})
        calls, markers = _host_rows(database, strings)
        ops, barriers = _ops(database, strings, calls)
        if not ops.height:
            advice = "Was tracing started (rpd.start()) while the GPU worked?"
            raise InputError("holds no GPU operations", where=f"{path}, table rocpd_op", advice=advice)
        _refuse_nameless(database)
        cuda = calls.filter(pl.col("name").str.starts_with("cu")).height > calls.height // 2
        return trace_of(
            database,
            "rpd",
            Records(ops, calls, markers, ("api_id",), caveats=barriers),
            vendor="NVIDIA" if cuda else "AMD",
            dispatch_gap_in_duration=not cuda,
            rank=options.rank,
        )


def _refuse_nameless(database: Database) -> None:
    """Without names and types, copies and barriers cannot be distinguished from kernels."""
    for table, wanted in _NEEDED.items():
        if not database.has(table, *wanted):
            found = f"columns {', '.join(database.tables[table])}" if database.has(table) else "no such table"
            where, expected = f"{database.path}, table {table}", f"columns {', '.join(wanted)}"
            raise InputError("lacks what tells kernels from copies", where=where, expected=expected, found=found)


def _numbers(*names: str) -> dict[str, pl.DataType]:
    return {name: pl.Int64() for name in names}


def _text_of(ids: str, strings: pl.DataFrame, name: str, rows: pl.DataFrame) -> pl.DataFrame:
    """Replace the column of string ids by its texts."""
    texts = strings.unique("id", keep="first").rename({"id": ids, "string": name})
    return rows.join(texts, on=ids, how="left", maintain_order="left").drop(ids)


def _host_rows(tables: Tables, strings: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """API calls and user ranges: rocpd_api holds both. Schema 3 keeps the texts of ranges in a table of their own."""
    wanted = _numbers("id", "pid", "tid", "start", "end", "apiName_id", "args_id")
    rows = _text_of("apiName_id", strings, "name", tables.read("rocpd_api", wanted)).rename(
        {"id": "api_id", "start": "start_ns", "end": "end_ns"}
    )
    is_marker = pl.col("name") == _MARKER_API
    texts = strings
    if tables.has("rocpd_ustring"):
        texts = tables.read("rocpd_ustring", {"id": pl.Int64(), "string": pl.String()})
    ranges = rows.filter(is_marker & (pl.col("end_ns") != pl.col("start_ns"))).drop("name", "api_id")
    markers = _text_of("args_id", texts, "name", ranges).with_columns(pl.lit("annotation").alias("kind"))
    return rows.filter(~is_marker.fill_null(False)).drop("args_id"), markers


def _ops(tables: Tables, strings: pl.DataFrame, calls: pl.DataFrame) -> tuple[pl.DataFrame, tuple[Caveat, ...]]:
    wanted = _numbers("id", "gpuId", "queueId", "start", "end", *_WORDS)
    rows = tables.read("rocpd_op", wanted)
    rows = rows.join(_words(rows, strings), on=list(_WORDS), how="left", nulls_equal=True, maintain_order="left")
    links = tables.read("rocpd_api_ops", _numbers("api_id", "op_id")).unique("op_id", keep="first")
    work = rows.filter("works").join(links, left_on="id", right_on="op_id", how="left", maintain_order="left")
    owners = calls.select("api_id", "pid").unique("api_id", keep="first")
    for facts in (owners, _launch_facts(tables)):
        work = work.join(facts, on="api_id", how="left", maintain_order="left")
    ops = work.with_columns(alone=_sizes_are_its_own(calls)).select(
        *("kind", "name", "api_id", "pid", "stream", "bytes"),
        pl.when("placed").then("gpuId").alias("device"),
        pl.when("placed").then("queueId").alias("queue"),
        pl.col("start").alias("start_ns"),
        pl.col("end").alias("end_ns"),
        *(pl.when("alone").then(f"{size}_{axis}").alias(f"{size}_{axis}") for _, size in _SIZES for axis in "xyz"),
    )
    dropped = rows.height - work.height
    text = "barrier records are not device work and are left out"
    return ops, ((Caveat("barriers_left_out", text, dropped),) if dropped else ())


def _words(rows: pl.DataFrame, strings: pl.DataFrame) -> pl.DataFrame:
    """What each pair of description and operation type means: kind, name, whether it is work and its place known."""
    pairs = rows.select(*_WORDS).unique(maintain_order=True)
    for ids, name in _WORDS.items():
        texts = strings.unique("id", keep="first").select(pl.col("id").alias(ids), pl.col("string").alias(name))
        pairs = pairs.join(texts, on=ids, how="left", maintain_order="left")
    barrier = is_no_work(pl.col("op_type")).fill_null(value=False)
    known = pairs.select(
        *_WORDS,
        kind_of(pl.col("description"), pl.col("op_type")).alias("kind"),
        _name().alias("name"),
        (~barrier).alias("works"),
        (~_PLACELESS).alias("placed"),
    )
    names = pl.Enum(known["name"].unique(maintain_order=True).drop_nulls())
    return known.with_columns(pl.col("name").cast(names))


def _name() -> pl.Expr:
    """The description; copies often have none but their type. The type of all kernels names none of them."""
    op_type, description = pl.col("op_type"), pl.col("description")
    typed = pl.when(~is_dispatch_type(op_type)).then(op_type)
    return pl.when(description != "").then(description).otherwise(typed)


def _sizes_are_its_own(calls: pl.DataFrame) -> pl.Expr:
    """Whether the one record of sizes that a call can have is of this kernel: not when the call started several."""
    graphs = calls.filter(build.call_kind("name") == "graph_launch")["api_id"].implode()
    return pl.col("api_id").is_unique() & ~pl.col("api_id").is_in(graphs)


def _launch_facts(tables: Tables) -> pl.DataFrame:
    """Stream, sizes and bytes, recorded with the launching call; absent for work that a graph launch enqueued."""
    sizes = {f"{rpd}{axis.upper()}": f"{ours}_{axis}" for rpd, ours in _SIZES for axis in "xyz"}
    text: dict[str, pl.DataType] = {"stream": pl.String()}
    kernels = tables.read("rocpd_kernelapi", {**_numbers("api_ptr_id", *sizes), **text}).rename(sizes)
    copies = tables.read("rocpd_copyapi", {**_numbers("api_ptr_id", "size"), **text}).rename({"size": "bytes"})
    facts = pl.concat([kernels, copies], how="diagonal").rename({"api_ptr_id": "api_id"})
    stream = pl.col("stream").str.strip_prefix("0x").str.to_integer(base=16, strict=False)
    return facts.with_columns(stream.alias("stream")).unique("api_id", keep="first")


READER = Reader(
    name="rpd",
    title="rocmProfileData (RPD) database",
    recognised_by="an SQLite file with tables rocpd_op and rocpd_api",
    cannot_tell="grid sizes and streams inside graph replays; correlation ids; the device's name",
    recognises=_recognises,
    read=_read,
    suffixes=(".rpd",),
    own_suffixes=(".rpd",),
    writers={"rpd": 0},
)
