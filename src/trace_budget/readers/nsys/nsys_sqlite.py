"""Nsight Systems SQLite exports (`nsys export --type sqlite`), of any schema version."""

from __future__ import annotations

from pathlib import Path

from trace_budget.contracts import Head, Reader, ReadOptions
from trace_budget.io import sqlite
from trace_budget.readers.nsys.nsys_tables import is_nsys, read_trace
from trace_budget.schema.trace import Trace


def _recognises(head: Head) -> bool:
    return head.data.startswith(sqlite.MAGIC) and is_nsys(head.names)


def _read(path: Path, options: ReadOptions) -> Trace:
    with sqlite.opened(path) as database:
        return read_trace(database, "nsys_sqlite", path.stat().st_size, options.rank)


READER = Reader(
    name="nsys_sqlite",
    title="Nsight Systems SQLite export",
    recognised_by="an SQLite file with table StringIds beside META_DATA_EXPORT or CUPTI_ACTIVITY_KIND_…",
    cannot_tell="kernels inside CUDA graphs unless recorded with --cuda-graph-trace=node; module calls",
    recognises=_recognises,
    read=_read,
    suffixes=(".sqlite", ".sqlite3"),
    own_suffixes=(".sqlite",),
    writers={"nsys": 0},
    work_table="CUPTI_ACTIVITY_KIND_KERNEL",
)
