"""rocprofv2 CSV: `results_*.csv` and `hcc_ops_trace_*.csv`, with `hip_api_trace_*.csv` beside the latter.

Source: ROCm/rocprofiler `plugin/file/`. Its results file holds dispatches with their sizes, the ops trace holds device
activity that API calls can be linked to. Refused with advice: runs with counters. rocprofv2 is retired in favour of
rocprofv3.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

from trace_budget.contracts import FileNames, Head, Reader, ReadOptions
from trace_budget.errors import InputError
from trace_budget.io.csv.table import Cells, CsvFile, CsvTable, Shape, first_lines, header_cells, read_csv
from trace_budget.readers.csv_trace import (
    NO_CALLS,
    NO_MARKERS,
    columns,
    damage_of,
    required,
    rows_of,
    several_tables,
    sibling,
    stem_of,
)
from trace_budget.readers.records import Records, trace_of
from trace_budget.schema.trace import Trace

_RECORD = "Record with: rocprofv3 --kernel-trace --hip-runtime-trace --output-format csv -- COMMAND"
_SIZES = ("Grid_Size", "Workgroup_Size", "LDS_Per_Workgroup", "Scratch_Per_Workitem", "Arch_VGPR", "Accum_VGPR", "SGPR")
_IDS = ("Dispatch_ID", "GPU_ID", "Queue_ID", "PID", "TID", "Correlation_ID", "Wave_Size", "Kernel_Name", "XCC_Index")
_OLD = {"GRD": "Grid_Size", "WGR": "Workgroup_Size"}  # of the first releases, with the words of rocprof v1
_OLD_SIZES = ("Queue_Index", "LDS", "SCR", "ACCUM_VGPR", "SIG", "OBJ")
_KNOWN = {*_IDS, *_SIZES, *_OLD, *_OLD_SIZES, "Start_Timestamp", "End_Timestamp"}
_DISPATCH = {
    "device": "GPU_ID",
    "queue": "Queue_ID",
    "pid": "PID",
    "grid_x": "Grid_Size",
    "block_x": "Workgroup_Size",
    "start_ns": "Start_Timestamp",
    "end_ns": "End_Timestamp",
}
_ACTIVITY = {"start_ns": "Start_Timestamp", "end_ns": "Stop_Timestamp", "correlation": "Correlation_ID"}
_CALL = {"start_ns": "Start_Timestamp", "end_ns": "End_Timestamp", "correlation": "Correlation_ID"}


def _is_dispatches(cells: Cells) -> bool:
    return {"Dispatch_ID", "GPU_ID", "Kernel_Name", "Start_Timestamp"} <= set(cells)


def _is_activity(cells: Cells) -> bool:
    return {"Domain", "Operation", "Kernel_Name", "Stop_Timestamp"} <= set(cells)


def _is_calls(cells: Cells) -> bool:
    return {"Domain", "Function", "Start_Timestamp", "Correlation_ID"} <= set(cells)


_SHAPES = (
    Shape(
        "dispatches",
        _is_dispatches,
        "Kernel_Name",
        texts=("Kernel_Name",),
        integers=(*_DISPATCH.values(), "Dispatch_ID", "XCC_Index"),
        column_of=lambda cell: _OLD.get(cell, cell),
    ),
    Shape("activity", _is_activity, "Kernel_Name", ("Operation", "Kernel_Name"), tuple(_ACTIVITY.values())),
    Shape("calls", _is_calls, "Function", ("Function",), tuple(_CALL.values())),
)


def _recognises(head: Head) -> bool:
    cells = [header_cells(line) for line in first_lines(head.data, 5)]
    return any(shape.matches(header) for header in cells for shape in _SHAPES)


def _read(path: Path, options: ReadOptions) -> Trace:
    file = required(read_csv(path, _SHAPES, "_Timestamp"), READER.recognised_by)
    ops = _dispatches(file) if file.of("dispatches") else _activity(file)
    if not ops.height:
        only = "only API calls" if file.of("calls") else "a header without rows"
        raise InputError("no kernel dispatches", where=str(path), found=only, advice=_RECORD)
    calls = _calls(path) if file.of("activity") else NO_CALLS
    found = (*damage_of(*file.tables), *several_tables(file, "dispatches", "activity"))
    records = Records(ops, calls, NO_MARKERS, ("correlation",), caveats=found)
    return trace_of(
        file,
        "rocprofv2_csv",
        records,
        vendor="AMD",
        dispatch_gap_in_duration=True,
    )


def _dispatches(file: CsvFile) -> pl.DataFrame:
    counters = _counters(file.of("dispatches"))
    if counters:
        message = "a performance-counter run: kernels run one by one, their times are no decode step's"
        found = f"counters {', '.join(counters[:4])}"
        raise InputError(message, where=str(file.path), found=found, advice=_RECORD)
    rows = _one_row_each(rows_of(file, "dispatches"))
    # the correlation ids of this file are not those of the API trace
    correlation = pl.lit(None, pl.Int64).alias("correlation")
    return rows.select(*_kind_and_name(pl.lit("kernel"), pl.col("Kernel_Name")), correlation, *columns(rows, _DISPATCH))


def _one_row_each(rows: pl.DataFrame) -> pl.DataFrame:
    """One row per dispatch where there is one per XCC, each with the same number and, but for clock grain, times."""
    if "XCC_Index" not in rows.columns or rows["XCC_Index"].null_count() == rows.height:
        return rows
    owner = [name for name in ("PID", "GPU_ID", "Queue_ID", "Dispatch_ID", "Kernel_Name") if name in rows.columns]
    ends = {"Start_Timestamp": pl.Expr.min, "End_Timestamp": pl.Expr.max}
    times = [bound(pl.col(name)) for name, bound in ends.items() if name in rows.columns]
    others = [name for name in rows.columns if name not in (*owner, "XCC_Index", *ends)]
    return rows.group_by(owner, maintain_order=True).agg(*(pl.col(name).first() for name in others), *times)


def _counters(tables: tuple[CsvTable, ...]) -> list[str]:
    """Unknown columns; not those of a header as long as a first one without any: that is this header, damaged."""
    unknown = [[name for name in table.header if name and name not in _KNOWN] for table in tables]
    if not unknown[0]:
        widths = [len(table.header) for table in tables]
        unknown = [names for names, width in zip(unknown, widths, strict=True) if width != widths[0]]
    return [name for names in unknown for name in names]


def _activity(file: CsvFile) -> pl.DataFrame:
    rows = rows_of(file, "activity") if file.of("activity") else pl.DataFrame()
    if not rows.height:
        return rows
    kernel = pl.col("Kernel_Name").cast(pl.String)
    is_kernel = kernel.is_not_null() & (kernel != "")
    operation = pl.col("Operation").cast(pl.String)
    work = rows.filter(is_kernel | operation.str.contains("(?i)copy"))
    kind = pl.when(is_kernel).then(pl.lit("kernel")).otherwise(pl.lit("memcpy"))
    name = pl.when(is_kernel).then(kernel).otherwise(operation)
    pid = pl.lit(None, pl.Int64).alias("pid")
    return work.select(*_kind_and_name(kind, name), pid, *columns(work, _ACTIVITY))


def _kind_and_name(kind: pl.Expr, name: pl.Expr) -> list[pl.Expr]:
    return [kind.alias("kind"), name.alias("name")]


def _calls(path: Path) -> pl.DataFrame:
    """The API trace of the same process beside it."""
    stem = stem_of(path)
    beside = sibling(path, stem.replace("hcc_ops_trace", "hip_api_trace")) if "hcc_ops_trace" in stem else None
    file = read_csv(beside, _SHAPES, "_Timestamp") if beside else None
    if file is None or not file.of("calls"):
        return NO_CALLS
    rows = rows_of(file, "calls")
    process = pl.lit(None, pl.Int64)
    return rows.select(pl.col("Function").alias("name"), process.alias("pid"), *columns(rows, _CALL))


READER = Reader(
    name="rocprofv2_csv",
    title="rocprofv2 CSV (results, hcc_ops_trace)",
    recognised_by="a header with Dispatch_ID and GPU_ID, or with Operation, Kernel_Name and Stop_Timestamp",
    cannot_tell="streams; steps from markers; in results files API calls, in ops traces device, queue and sizes",
    recognises=_recognises,
    read=_read,
    suffixes=(".csv",),
    names=FileNames(main=r"results[^/]*\.csv", companions=r"(?:hcc_ops|async_copy|roctx)_trace(?:_\d+)?\.csv"),
)
