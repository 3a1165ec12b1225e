"""rocprof (version 1) results.db (`rocprof --stats` or traces): SQLite tables KERN, OPS, HIP, HSA, COPY, rocTX.

KERN lists dispatches as results.csv does; OPS lists them again with the number of the API call, and alone what a
`--hip-trace` without counters saw. Source: ROCm/rocprofiler `bin/tblextr.py`, `bin/sqlitedb.py`, `bin/dform.py`.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

from trace_budget.contracts import FileNames, Head, Reader, ReadOptions
from trace_budget.errors import InputError
from trace_budget.io import sqlite
from trace_budget.io.sqlite import Database
from trace_budget.readers.records import Records, trace_of
from trace_budget.readers.work_kinds import is_no_work, kind_of
from trace_budget.schema.trace import Trace

_IDENTITY = ["start_ns", "end_ns", "device", "queue"]
# without these the two lists cannot be known to name one kernel twice
_COMPARABLE = {"KERN": ("gpu-id", "queue-id"), "OPS": ("BeginNs", "EndNs", "dev-id", "queue-id")}
_TIMED = ("BeginNs", "EndNs", "DispatchNs")
_RERECORD = (
    "Record with: rocprof --hip-trace --roctx-trace --timestamp on COMMAND (or, better, rocprofv3 --kernel-trace)"
)


def _recognises(head: Head) -> bool:
    names = set(head.names)
    foreign = any(name.startswith("rocpd_") for name in names) or "STR_TABLE" in names
    return head.data.startswith(sqlite.MAGIC) and not foreign and bool({"KERN", "OPS"} & names)


def _read(path: Path, options: ReadOptions) -> Trace:
    with sqlite.opened(path) as db:
        _refuse_counters(db)
        calls = _calls(db)
        ops = pl.concat([_kernels(db), _copies(db, calls)], how="diagonal")
        if not ops.filter(pl.col("kind") == "kernel").height:
            raise InputError("holds no kernels", where=f"{path}, tables KERN and OPS", advice=_RERECORD)
        records = Records(ops, calls, _markers(db), ("pid", "correlation"))
        return trace_of(
            db,
            "rocprof_v1_db",
            records,
            vendor="AMD",
            dispatch_gap_in_duration=True,
            rank=options.rank,
        )


def _refuse_counters(db: Database) -> None:
    """KERN has the counters between the kernel's object and its times; without times OPS alone shows them."""
    columns = db.tables.get("KERN", ())
    if not columns:
        return
    where = f"{db.path}, table KERN"
    if not db.has("KERN", *_TIMED):
        if db.has("OPS", "BeginNs", "EndNs") and db.filled("OPS"):
            return
        raise InputError("recorded without timestamps", where=where, found="no BeginNs, EndNs", advice=_RERECORD)
    before = [columns.index(name) for name in ("sig", "obj") if name in columns]
    counters = columns[max(before, default=0) + 1 : columns.index("DispatchNs")] if before else ()
    if counters:
        message = "a performance-counter run: kernels run one by one, their times are no decode step's"
        raise InputError(message, where=where, found=f"counters {', '.join(counters[:4])}", advice=_RERECORD)


def _numbers(*names: str) -> dict[str, pl.DataType]:
    return {name: pl.Int64() for name in names}


def _kernels(db: Database) -> pl.DataFrame:
    """Dispatches of KERN with the call and stream that OPS knows, and those that only OPS knows."""
    wanted = _numbers("BeginNs", "EndNs", "gpu-id", "queue-id", "pid", "grd", "wgr")
    table = "KERN" if db.has("KERN", *_TIMED) else ""
    kern = db.read(table, {**wanted, "KernelName": pl.String()}).select(
        pl.lit("kernel").alias("kind"),
        # the writer stores the quotes of its CSV
        pl.col("KernelName").str.strip_prefix('"').str.strip_suffix('"').alias("name"),
        pl.col("gpu-id").alias("device"),
        pl.col("queue-id").alias("queue"),
        pl.col("pid"),
        pl.col("grd").alias("grid_x"),
        pl.col("wgr").alias("block_x"),
        pl.col("BeginNs").alias("start_ns"),
        pl.col("EndNs").alias("end_ns"),
    )
    work = _device_rows(db, "OPS").filter(~is_no_work(pl.col("name")).fill_null(value=False))
    ops = work.with_columns(kind_of(pl.col("name")).alias("kind"))
    if kern.height and not all(db.has(table, *columns) for table, columns in _COMPARABLE.items()):
        ops = ops.clear()
    facts = ops.select(*_IDENTITY, "stream", "correlation").unique(_IDENTITY, keep="first", maintain_order=True)
    listed = kern.join(facts, on=_IDENTITY, how="left", maintain_order="left")
    return pl.concat([listed, ops.join(kern, on=_IDENTITY, how="anti")], how="diagonal")


def _copies(db: Database, calls: pl.DataFrame) -> pl.DataFrame:
    """Copies; HSA numbers some of them in another series, so only a call that copies counts as their launch."""
    rows = _device_rows(db, "COPY").with_columns(pl.lit("memcpy").alias("kind"))
    copying = calls.filter(pl.col("name").str.contains("[Mm]em(cpy|set)"))
    mine = copying.select("pid", "correlation", pl.lit(True).alias("copies")).unique(["pid", "correlation"])
    linked = rows.join(mine, on=["pid", "correlation"], how="left", maintain_order="left")
    return linked.with_columns(pl.when("copies").then(pl.col("correlation")).alias("correlation")).drop("copies")


def _device_rows(db: Database, table: str) -> pl.DataFrame:
    wanted = _numbers("BeginNs", "EndNs", "dev-id", "queue-id", "stream-id", "pid", "Index")
    return db.read(table, {**wanted, "Name": pl.String()}).select(
        pl.col("Name").alias("name"),
        pl.col("dev-id").alias("device"),
        pl.col("queue-id").alias("queue"),
        pl.col("stream-id").alias("stream"),
        pl.col("pid"),
        pl.col("Index").alias("correlation"),
        pl.col("BeginNs").alias("start_ns"),
        pl.col("EndNs").alias("end_ns"),
    )


def _host_rows(db: Database, table: str) -> pl.DataFrame:
    wanted = _numbers("BeginNs", "EndNs", "pid", "tid", "Index")
    return db.read(table, {**wanted, "Name": pl.String()}).rename(
        {"BeginNs": "start_ns", "EndNs": "end_ns", "Name": "name", "Index": "correlation"}
    )


def _calls(db: Database) -> pl.DataFrame:
    """HIP calls carry the numbers that OPS refers to; those of HSA calls are another series."""
    hsa = _host_rows(db, "HSA").with_columns(pl.lit(None, pl.Int64).alias("correlation"))
    return pl.concat([_host_rows(db, "HIP"), hsa])


def _markers(db: Database) -> pl.DataFrame:
    rows = _host_rows(db, "rocTX").filter(pl.col("end_ns") != pl.col("start_ns"))
    return rows.with_columns(pl.lit("annotation").alias("kind"))


READER = Reader(
    name="rocprof_v1_db",
    title="rocprof v1 results.db",
    recognised_by="an SQLite file with tables KERN or OPS and none of rocpd or hipprof",
    cannot_tell="grid and block beyond their products; idle time between kernels (booked into the kernels)",
    recognises=_recognises,
    read=_read,
    suffixes=(".db",),
    writers={"rocprof": 0},
    names=FileNames(output="results"),
)
