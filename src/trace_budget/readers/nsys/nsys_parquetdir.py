"""Nsight Systems Parquet exports (`nsys export --type parquetdir`): a folder with one file per table."""

from __future__ import annotations

from pathlib import Path

from trace_budget.contracts import FileNames, Head, Reader, ReadOptions
from trace_budget.io.parquet_folder import MAGIC, ParquetFolder
from trace_budget.readers.nsys.nsys_tables import is_nsys, read_trace
from trace_budget.schema.trace import Trace


def _recognises(head: Head) -> bool:
    return head.data.startswith(MAGIC) and is_nsys(head.names)


def _read(path: Path, options: ReadOptions) -> Trace:
    folder = ParquetFolder(path)
    return read_trace(folder, "nsys_parquetdir", folder.size_bytes, options.rank)


READER = Reader(
    name="nsys_parquetdir",
    title="Nsight Systems Parquet export (a folder)",
    recognised_by="a folder with StringIds.parquet beside META_DATA_EXPORT.parquet or CUPTI_ACTIVITY_KIND_….parquet",
    cannot_tell="kernels inside CUDA graphs unless recorded with --cuda-graph-trace=node; module calls",
    recognises=_recognises,
    read=_read,
    writers={"nsys": 1},
    names=FileNames(output="parquetdir|pqtdir"),
)
