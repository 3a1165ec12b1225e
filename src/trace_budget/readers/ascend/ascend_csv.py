"""Ascend NPU: `kernel_details.csv` of torch_npu's profiler, and `op_summary_*.csv` of msprof.

Source: Ascend/pytorch `torch_npu/profiler/analysis` (headers of the kernel view) and the field tables of the CANN
documents. Times are microseconds of one clock, as decimal text with a tab behind it. `Step Id` is there where the
profiler had a schedule. Not read: counters, shapes; `trace_view.json` beside it says more. On trust, no file at hand:
that `Start Time(us)` is on the same clock for all devices of a file.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

from trace_budget.contracts import Head, Reader, ReadOptions
from trace_budget.errors import InputError
from trace_budget.io.csv.table import Cells, Shape, first_lines, header_cells, read_csv
from trace_budget.readers.ascend import tasks
from trace_budget.readers.csv_trace import NO_CALLS, damage_of, ns_from_decimal, rows_of, several_tables
from trace_budget.readers.records import Records, trace_of
from trace_budget.readers.stated_steps import steps_of
from trace_budget.schema.trace import Trace

_OF_SUMMARY = {
    "Op Name": "Name",
    "OP Type": "Type",
    "Task Type": "Accelerator Core",
    "Task Start Time(us)": "Start Time(us)",
    "Task Duration(us)": "Duration(us)",
    "Step ID": "Step Id",
}
_IDS = {"device": "Device_id", "stream": "Stream ID"}
_US_DIGITS = 3


def _column(cell: str) -> str:
    return _OF_SUMMARY.get(cell, cell)


def _is_kernels(cells: Cells) -> bool:
    return {"Name", "Type", "Accelerator Core", "Start Time(us)", "Duration(us)"} <= set(map(_column, cells))


_SHAPE = Shape(
    "kernels",
    _is_kernels,
    "Name",
    ("Name", "Type", "Accelerator Core"),
    tuple(_IDS.values()),
    ("Start Time(us)", "Duration(us)", "Step Id"),
    _column,
)


def _recognises(head: Head) -> bool:
    return any(_is_kernels(header_cells(line)) for line in first_lines(head.data, 1))


def _read(path: Path, options: ReadOptions) -> Trace:
    file = read_csv(path, (_SHAPE,), r"Duration\(us\)")
    if not file.of("kernels") or not (rows := rows_of(file, "kernels")).height:
        raise InputError("no kernels", where=str(path), expected=READER.recognised_by, found="a header without rows")
    start = ns_from_decimal("Start Time(us)", _US_DIGITS)
    times = rows.with_columns(start.alias("start_ns"), ns_from_decimal("Duration(us)", _US_DIGITS).alias("dur"))
    name, task = pl.col("Name").cast(pl.String), pl.col("Type").cast(pl.String)
    own = pl.when(name.fill_null("").is_in(("", "N/A"))).then(task).otherwise(name)
    ops = times.with_columns(
        tasks.without_number(own).alias("name"),
        tasks.kind_of(name, task).alias("kind"),
        (pl.col("start_ns") + pl.col("dur")).alias("end_ns"),
        *(_known(times, recorded).alias(new) for new, recorded in _IDS.items()),
        *(pl.lit(None, pl.Int64).alias(name) for name in ("pid", "correlation")),
    )
    found = (*damage_of(*file.tables), *several_tables(file, "kernels"))
    steps = steps_of(ops.rename({"Step Id": "step"}) if "Step Id" in ops.columns else ops)
    records = Records(ops, NO_CALLS, steps, ("correlation",), caveats=found, earliest_ns=0)
    return trace_of(file, "ascend_csv", records, vendor="Ascend")


def _known(rows: pl.DataFrame, column: str) -> pl.Expr:
    return pl.col(column) if column in rows.columns else pl.lit(None, pl.Int64)


READER = Reader(
    name="ascend_csv",
    title="Ascend kernel_details.csv (torch_npu), op_summary_*.csv (msprof)",
    recognised_by="a header with Name, Type, Accelerator Core, Start Time(us) and Duration(us) (msprof: Op Name, …)",
    cannot_tell="launches, host threads; steps without Step Id",
    recognises=_recognises,
    read=_read,
    suffixes=(".csv",),
    writers={"torch_npu": 1, "msprof": 1},
)
