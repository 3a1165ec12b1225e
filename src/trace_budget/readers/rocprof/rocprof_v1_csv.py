"""rocprof (version 1) results.csv: one row per dispatch, with or without quotes, of ROCm 3 to 6.

Two dialects: written directly (`--timestamp on`: plain header) and through the database (`--stats`: quoted header,
DurationNs last). Source: ROCm/rocprofiler `bin/tblextr.py`, `src/core/`. Refused with advice: runs without timestamps,
performance-counter runs (also hipprof's, which share the header and leave DispatchNs 0).
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

from trace_budget.contracts import FileNames, Head, Reader, ReadOptions
from trace_budget.errors import InputError
from trace_budget.io.csv.table import Cells, CsvFile, Shape, first_lines, header_cells, read_csv
from trace_budget.readers.csv_trace import NO_CALLS, NO_MARKERS, columns, damage_of, required, rows_of, several_tables
from trace_budget.readers.records import Records, trace_of
from trace_budget.schema.trace import Trace

_SIZES = ("grd", "wgr", "lds", "scr", "vgpr", "arch_vgpr", "accum_vgpr", "sgpr", "fbar", "wave_size", "sig", "obj")
_TIMES = ("DispatchNs", "BeginNs", "EndNs", "CompleteNs", "DurationNs")
_KNOWN = {"Index", "KernelName", "gpu-id", "queue-id", "queue-index", "pid", "tid", *_SIZES, *_TIMES}
_COLUMNS = {
    "device": "gpu-id",
    "queue": "queue-id",
    "pid": "pid",
    "grid_x": "grd",
    "block_x": "wgr",
    "start_ns": "BeginNs",
    "end_ns": "EndNs",
}
_ROCPROF = (
    "Record with: rocprof --hip-trace --roctx-trace --timestamp on COMMAND (or, better, rocprofv3 --kernel-trace)"
)
_HIPPROF = "Record with: hipprof --hip-trace --output-type 0 COMMAND"


def _is_results(cells: Cells) -> bool:
    return {"Index", "KernelName"} <= set(cells)


_SHAPE = Shape(
    "kernels",
    _is_results,
    "KernelName",
    texts=("KernelName",),
    integers=(*_COLUMNS.values(), "DispatchNs", "CompleteNs"),
)


def _recognises(head: Head) -> bool:
    return any(_is_results(header_cells(line)) for line in first_lines(head.data, 5))


def _read(path: Path, options: ReadOptions) -> Trace:
    file = required(read_csv(path, (_SHAPE,), "KernelName"), "a header with Index, KernelName, BeginNs, EndNs")
    rows = rows_of(file, "kernels")
    _refuse(file, rows)
    ops = rows.select(
        pl.lit("kernel").alias("kind"),
        pl.col("KernelName").alias("name"),
        pl.lit(None, pl.Int64).alias("correlation"),
        *columns(rows, _COLUMNS),
    )
    found = (*damage_of(*file.tables), *several_tables(file, "kernels"))
    records = Records(ops, NO_CALLS, NO_MARKERS, ("correlation",), caveats=found)
    return trace_of(
        file,
        "rocprof_v1_csv",
        records,
        vendor="AMD",
        dispatch_gap_in_duration=True,
    )


def _refuse(file: CsvFile, rows: pl.DataFrame) -> None:
    header = file.tables[0].header
    where = str(file.path)
    if "BeginNs" not in header or "EndNs" not in header:
        raise InputError("recorded without timestamps", where=where, found="no BeginNs, EndNs", advice=_ROCPROF)
    counters = [name for name in header if name and name not in _KNOWN]
    never_dispatched = {"DispatchNs", "CompleteNs"} <= set(rows.columns) and not (
        rows.select((pl.col("DispatchNs") != 0).any() | (pl.col("CompleteNs") != 0).any()).item()
    )
    if counters or (rows.height and never_dispatched):
        found = (
            f"counters {', '.join(counters[:4])}" if counters else "DispatchNs and CompleteNs all 0, as hipprof --pmc"
        )
        message = "a performance-counter run: kernels run one by one, their times are no decode step's"
        raise InputError(message, where=where, found=found, advice=_HIPPROF if never_dispatched else _ROCPROF)
    if not rows.height:
        raise InputError("no kernel dispatches", where=where, found="a header without rows", advice=_ROCPROF)


READER = Reader(
    name="rocprof_v1_csv",
    title="rocprof v1 results.csv",
    recognised_by="a header with Index and KernelName",
    cannot_tell="API calls, graph launches, steps from markers, streams, grid and block beyond their products",
    recognises=_recognises,
    read=_read,
    suffixes=(".csv",),
    writers={"rocprof": 2},
    names=FileNames(main=r"results[^/]*\.csv", output="results"),
)
