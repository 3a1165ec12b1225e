"""hipprof databases of Hygon's DTK (`hipprof --hip-trace -o NAME`): SQLite, one set of tables per process KEY.

`_Index` names a launch, not a row: a graph launch owns every kernel and copy that carries its `_Index`. Kernel names
are ids into STR_TABLE, API names stand at the start of `args`. Values may be stored as text. Tables that hipprof adds
when it exports (HIPTXOPS_, SUMMARY, …) are not needed. There is no public specification; the layout is the one that
public readers of real databases rely on. Ignored: HSA calls.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from trace_budget.contracts import FileNames, Head, Reader, ReadOptions
from trace_budget.errors import InputError
from trace_budget.io import sqlite
from trace_budget.io.sqlite import Database
from trace_budget.readers.records import Records, trace_of, with_call_kinds
from trace_budget.schema.trace import Trace

_KERNEL_NAMES = 6
_COPY_KINDS = {"0": "HostToHost", "1": "HostToDevice", "2": "DeviceToHost", "3": "DeviceToDevice"}
_COPY_KINDS |= {"H2H": "HostToHost", "H2D": "HostToDevice", "D2H": "DeviceToHost", "D2D": "DeviceToDevice"}
_SET_KIND = "SET"
_SEGMENT = re.compile(r"(?:_stream|_copy)?(?:_\d+)?$")
_OLD_NAMES = re.compile(r"^(?:hip-prof-|result_)(?=\d+)")
_API = r"^(_*hip\w+)"


def _recognises(head: Head) -> bool:
    return head.data.startswith(sqlite.MAGIC) and _has_parts(head.names)


def _has_parts(names: Sequence[str]) -> bool:
    return "STR_TABLE" in names and any(re.match(r"HIP(OPS|COPY)?_", name) for name in names)


def _read(path: Path, options: ReadOptions) -> Trace:
    with sqlite.opened(path) as db:
        calls = _calls(db)
        ops = pl.concat([_kernels(db), _copies(db, calls)], how="diagonal")
        if not ops.filter(pl.col("kind") == "kernel").height:
            advice = "Record again with: hipprof --hip-trace -o NAME COMMAND"
            raise InputError("holds no kernels", where=f"{path}, tables HIPOPS_…", advice=advice)
        records = Records(ops, _kinds_by_work(calls, ops), _markers(db), ("key", "correlation"))
        return trace_of(
            db,
            "hipprof_db",
            records,
            vendor="Hygon",
            dispatch_gap_in_duration=True,
            rank=options.rank,
        )


def _rows(db: Database, prefix: str, numbers: Sequence[str], texts: Sequence[str] = ()) -> pl.DataFrame:
    """The rows of `<prefix>_<KEY>` of all processes, with `key`."""
    columns: dict[str, pl.DataType] = {name: pl.Int64() for name in numbers} | {name: pl.String() for name in texts}
    frames = [pl.DataFrame(schema={**columns, "key": pl.String()})]
    for table in db.tables:
        if table.startswith(f"{prefix}_"):
            frames.append(db.read(table, columns).with_columns(pl.lit(table[len(prefix) + 1 :]).alias("key")))
    return pl.concat(frames)


def _on_device() -> tuple[pl.Expr, ...]:
    # hipprof shows a queue as a stream and records nothing else about streams
    queue = pl.col("queue_id").str.strip_chars().cast(pl.Int64, strict=False)
    return (
        pl.col("dev_id").alias("device"),
        queue.alias("queue"),
        queue.alias("stream"),
        pl.col("pid"),
        pl.col("BeginNs").alias("start_ns"),
        pl.col("EndNs").alias("end_ns"),
        pl.col("_Index").alias("correlation"),
        pl.col("key"),
    )


def _kernels(db: Database) -> pl.DataFrame:
    rows = _rows(db, "HIPOPS", ("BeginNs", "EndNs", "dev_id", "pid", "_Index"), ("queue_id", "Name"))
    number = pl.col("Name").str.strip_chars().cast(pl.Int64, strict=False)
    named = _looked_up(rows.with_columns(number.alias("STR_ID")), db)
    nameless = pl.format("kernel {}", pl.col("Name"))
    text = pl.when(pl.col("STR_ID").is_null()).then(pl.col("Name")).otherwise(nameless)
    return named.select(pl.lit("kernel").alias("kind"), pl.col("STR_NAME").fill_null(text).alias("name"), *_on_device())


def _looked_up(rows: pl.DataFrame, db: Database) -> pl.DataFrame:
    """Add STR_NAME by (key, STR_ID), or by STR_ID alone in databases whose STR_TABLE does not name the keys."""
    numbers: dict[str, pl.DataType] = {"TYPE": pl.Int64(), "STR_ID": pl.Int64()}
    names = db.read("STR_TABLE", {**numbers, "CONFIG_KEY": pl.String(), "STR_NAME": pl.String()})
    kernels = names.filter(pl.col("TYPE").is_null() | (pl.col("TYPE") == _KERNEL_NAMES)).rename({"CONFIG_KEY": "key"})
    keyed = kernels["key"].is_in(rows["key"].unique().to_list()).any()
    keys = ["key", "STR_ID"] if keyed else ["STR_ID"]
    texts = kernels.select(*keys, "STR_NAME").unique(keys, keep="first", maintain_order=True)
    return rows.join(texts, on=keys, how="left", maintain_order="left")


def _copies(db: Database, calls: pl.DataFrame) -> pl.DataFrame:
    """Copies and fills; a kind that is neither known is a fill when a memset call owns it."""
    rows = _rows(db, "HIPCOPY", ("BeginNs", "EndNs", "dev_id", "pid", "_Index", "Bytes"), ("queue_id", "Kind"))
    owners = calls.select("key", pl.col("correlation").alias("_Index"), pl.col("name").alias("api"))
    owned = rows.join(owners.unique(["key", "_Index"]), on=["key", "_Index"], how="left", maintain_order="left")
    kind = pl.col("Kind").str.strip_chars()
    known = kind.replace_strict(_COPY_KINDS, default=None, return_dtype=pl.String)
    is_set = (kind.str.to_uppercase() == _SET_KIND) | (known.is_null() & pl.col("api").str.contains("[Mm]emset"))
    fill = is_set.fill_null(False)
    name = (
        pl.when(fill)
        .then(pl.lit("Memset"))
        .otherwise(pl.concat_str(pl.lit("Copy"), known.fill_null(pl.concat_str(pl.lit(" kind "), kind.fill_null("?")))))
    )
    bytes_moved = pl.col("Bytes").alias("bytes")
    return owned.select(
        pl.when(fill).then(pl.lit("memset")).otherwise(pl.lit("memcpy")).alias("kind"),
        name.alias("name"),
        bytes_moved,
        *_on_device(),
    )


def _calls(db: Database) -> pl.DataFrame:
    rows = _rows(db, "HIP", ("BeginNs", "EndNs", "pid", "tid", "_Index"), ("Name", "args"))
    args, name = pl.col("args").str.strip_chars(), pl.col("Name").str.strip_chars()
    in_json = args.str.extract(r'^\{.*?"[Nn]ame"\s*:\s*"(\w+)')
    known = pl.coalesce(name.str.extract(_API), args.str.extract(_API), in_json)
    return rows.select(
        known.fill_null(pl.concat_str(pl.lit("HIP call "), name.fill_null("?"))).alias("name"),
        "pid",
        "tid",
        pl.col("BeginNs").alias("start_ns"),
        pl.col("EndNs").alias("end_ns"),
        pl.col("_Index").alias("correlation"),
        "key",
    )


def _kinds_by_work(calls: pl.DataFrame, ops: pl.DataFrame) -> pl.DataFrame:
    """What a call does, by its name; a call without a known name is what the work it owns says."""
    kernels = (pl.col("kind") == "kernel").sum()
    owned = ops.group_by("key", "correlation").agg(
        pl.when(pl.len() == 1)
        .then(pl.when(kernels == 1).then(pl.lit("launch")).otherwise(pl.col("kind").first()))
        .otherwise(pl.lit("graph_launch"))
        .alias("work")
    )
    joined = calls.join(owned, on=["key", "correlation"], how="left", maintain_order="left")
    nameless = pl.col("name").str.starts_with("HIP call ")
    return (
        with_call_kinds(joined)
        .with_columns(pl.when(nameless).then(pl.col("work").fill_null("other")).otherwise(pl.col("kind")).alias("kind"))
        .drop("work")
    )


def _markers(db: Database) -> pl.DataFrame:
    rows = _rows(db, "HIPTX", ("BeginNs", "EndNs", "pid", "tid"), ("message",))
    return rows.filter(pl.col("EndNs") != pl.col("BeginNs")).select(
        pl.lit("annotation").alias("kind"),
        pl.col("message").alias("name"),
        "pid",
        "tid",
        pl.col("BeginNs").alias("start_ns"),
        pl.col("EndNs").alias("end_ns"),
    )


def _page_of(database: str, page: str) -> bool:
    """Whether a page, or a segment of one, is of the process of a database; older releases name both by the process."""
    base, other = _OLD_NAMES.sub("", database), _OLD_NAMES.sub("", page)
    return base in (other, _SEGMENT.sub("", other))


READER = Reader(
    name="hipprof_db",
    title="hipprof database (Hygon DTK)",
    recognised_by="an SQLite file with STR_TABLE and tables HIPOPS_…, HIPCOPY_… or HIP_…",
    cannot_tell="idle time between kernels of one queue (booked into the kernels); grid sizes; the device's name",
    recognises=_recognises,
    read=_read,
    suffixes=(".db",),
    writers={"hipprof": 0},
    work_table="HIPOPS_",
    names=FileNames(page_of=_page_of),
)
