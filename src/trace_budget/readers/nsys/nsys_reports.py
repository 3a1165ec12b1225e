"""The reports `nsys stats` prints as CSV: how each is recognised, and its rows as raw records in ns."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import reduce
from pathlib import Path

import polars as pl

from trace_budget.errors import InputError
from trace_budget.io.csv.table import Cells, CsvFile, CsvTable, Shape, header_cells, read_csv
from trace_budget.io.dictionary import by_text
from trace_budget.readers.csv_trace import columns, last_number, ns_from_decimal, stacked
from trace_budget.readers.work_kinds import kind_of
from trace_budget.schema.trace import Caveat

_DIGITS = {"ns": 0, "nsec": 0, "us": 3, "usec": 3, "μs": 3, "µs": 3, "ms": 6, "msec": 6, "s": 9, "sec": 9}
_UNIT = re.compile(r"^(.*?)\s*\(([^()]*)\)$")
_TIMES = ("Start", "Duration", "End", "Orig Start", "Orig Duration", "Total Time", "Min", "Max", "Minimum", "Maximum")
_SIZES = {
    f"{ours}_{axis}": f"{nsys}{axis.upper()}" for ours, nsys in (("grid", "Grd"), ("block", "Blk")) for axis in "xyz"
}
_HEADER_LIKE = r'^"?(?:Start ?\(|Time ?\(%\)|Name,Projected Start)'
_BEGINNING = re.compile(rb"(?m)^[ \t]*(?:\xef\xbb\xbf)?[ \t]*" + _HEADER_LIKE.removeprefix("^").encode())
# notes between reports, and headers of reports that are not read: their rows must not count as rows of the one before
_ENDS = r'^(?:Processing \[|NOTICE|SKIPPED|"?(?:Time|Total|API Start|Timestamp|Start|NVTX Range)\b[^,]{0,12}[(,])'
_MEGABYTE = 1_000_000


def _column(cell: str) -> str:
    """The header cell without its unit."""
    found = _UNIT.match(cell)
    return found[1] if found else cell


def _with(*names: str, without: tuple[str, ...] = ()) -> Callable[[Cells], bool]:
    def matches(cells: Cells) -> bool:
        present = {_column(cell) for cell in cells}
        return set(names) <= present and not present & set(without)

    return matches


_SUMMED = {"Time", "Total Time", "Instances", "Name", "Avg", "Med", "Min", "Max", "StdDev", "GridXYZ", "BlockXYZ"}
# columns that sums of other domains have beside these
_OF_OTHERS = {"Num Calls", "Calls", "Count", "Operations", "Operation", "Range", "Style", "Source", "Category", "Total"}
_SUMMED |= {"Average", "Minimum", "Maximum", "Median"}


def _are_kernel_sums(cells: Cells) -> bool:
    """No other columns than kernel sums have: Source, Style, Range, Category belong to sums of something else."""
    return {"Time", "Total Time", "Instances", "Name"} <= {_column(cell) for cell in cells} <= _SUMMED


SHAPES = (
    Shape(
        "ops",
        _with("Start", "Duration", "CorrId", "GrdX", "Name"),
        "Name",
        texts=("Name", "Device"),
        integers=("CorrId", "Ctx", "Strm", *_SIZES.values()),
        decimals=("Start", "Duration", "Bytes"),
        column_of=_column,
    ),
    Shape(
        "calls",
        _with("Start", "Duration", "Name", "Result", "CorrID"),
        "Name",
        texts=("Name",),
        integers=("CorrID", "Pid", "Tid"),
        decimals=("Start", "Duration"),
        column_of=_column,
    ),
    Shape(
        "ranges",
        _with("Start", "End", "Name", "PID", "TID", "Lvl"),
        "Name",
        texts=("Name",),
        integers=("PID", "TID"),
        decimals=("Start", "End"),
        column_of=_column,
    ),
    Shape(
        "ranges",
        _with("Name", "Orig Start", "Orig Duration", "PID", "TID"),
        "Name",
        texts=("Name",),
        integers=("PID", "TID"),
        decimals=("Orig Start", "Orig Duration"),
        column_of=_column,
    ),
    Shape(
        "sums",
        _are_kernel_sums,
        "Name",
        texts=("Name",),
        integers=("Instances",),
        decimals=("Total Time", "Min", "Max", "Minimum", "Maximum"),
        column_of=_column,
    ),
    Shape("other sums", _with("Time", "Total Time"), "Name", texts=("Name",), column_of=_column),
)


def may_begin(data: bytes) -> bool:
    """Whether any line looks like the header of a report: most files are told from these without a look at each."""
    return _BEGINNING.search(data) is not None


def shape_of(line: str) -> str | None:
    """Return which report a header line opens: ops, calls, ranges, sums; else None."""
    if not re.search(_HEADER_LIKE, line):
        return None
    cells = header_cells(line)
    return next((shape.name for shape in SHAPES if shape.matches(cells)), None)


def read_reports(path: Path) -> CsvFile:
    """Read every known report in a file of `nsys stats` output. Raises InputError for an unknown unit of time."""
    file = read_csv(path, SHAPES, _HEADER_LIKE, _ENDS)
    _refuse_unknown_units(file)
    return file


def _refuse_unknown_units(file: CsvFile) -> None:
    for cell in (cell for table in file.tables for cell in table.header if _column(cell) in _TIMES):
        unit = _UNIT.match(cell)
        if unit and unit[2] not in _DIGITS:
            units = f"one of {', '.join(_DIGITS)}"
            raise InputError("a unit of time nobody knows", where=str(file.path), expected=units, found=ascii(cell))


def _digits(table: CsvTable, column: str) -> int:
    """How many digits its unit lies above ns; reports without a unit are in ns."""
    unit = _UNIT.match(next(cell for cell in table.header if _column(cell) == column))
    return _DIGITS[unit[2]] if unit else 0


def _ns(table: CsvTable, column: str) -> pl.Expr:
    if column not in table.frame.columns:
        return pl.lit(None, pl.Int64)
    return ns_from_decimal(column, _digits(table, column))


def resolution_ns(table: CsvTable) -> int:
    """Return the grid of the recorded starts in ns: that of the longest decimal fraction."""
    digits = _digits(table, "Start")
    decimals = table.frame["Start"].str.extract(r"\.(\d+)", 1).str.len_chars().max()
    unseen = max(0, digits - (decimals if isinstance(decimals, int) else 0))
    return int(10**unseen)


def ops(tables: Sequence[CsvTable]) -> pl.DataFrame:
    """Return kernels, copies and memsets of cuda_gpu_trace."""
    return stacked([_ops(table) for table in tables])


def _ops(table: CsvTable) -> pl.DataFrame:
    text = pl.col("text")
    start, duration = _ns(table, "Start"), _ns(table, "Duration")
    megabytes = pl.col("Bytes").cast(pl.Float64, strict=False) if "Bytes" in table.frame.columns else pl.lit(None)
    device = (
        table.frame["Device"]
        if "Device" in table.frame.columns
        else pl.repeat(None, table.frame.height, dtype=pl.String, eager=True)
    )
    return table.frame.select(
        by_text(table.frame["Name"], kind_of(text)).alias("kind"),
        pl.col("Name").alias("name"),
        last_number(device).alias("device"),
        by_text(device, text.str.replace(r"\s*\(\d+\)$", "")).alias("device_name"),
        pl.lit(None, pl.Int64).alias("pid"),
        start.alias("start_ns"),
        (start + duration).alias("end_ns"),
        (megabytes * _MEGABYTE).round().cast(pl.Int64, strict=False).alias("bytes"),
        *columns(table.frame, {"context": "Ctx", "stream": "Strm", "correlation": "CorrId", **_SIZES}),
    )


def calls(tables: Sequence[CsvTable]) -> pl.DataFrame:
    """Return the API calls of cuda_api_trace."""
    names = {"pid": "Pid", "tid": "Tid", "correlation": "CorrID"}
    frames = [
        table.frame.select(
            pl.col("Name").alias("name"),
            _ns(table, "Start").alias("start_ns"),
            (_ns(table, "Start") + _ns(table, "Duration")).alias("end_ns"),
            *columns(table.frame, names),
        )
        for table in tables
    ]
    return stacked(frames)


def ranges(tables: Sequence[CsvTable]) -> pl.DataFrame:
    """Return the host ranges of NVTX; names lose the colon that ends the (empty) default domain's name."""
    return pl.concat(map(_ranges, tables))


def _ranges(table: CsvTable) -> pl.DataFrame:
    if "Orig Start" in table.frame.columns:
        start, end = _ns(table, "Orig Start"), _ns(table, "Orig Start") + _ns(table, "Orig Duration")
    else:
        start, end = _ns(table, "Start"), _ns(table, "End")
    return table.frame.select(
        pl.lit("annotation").alias("kind"),
        pl.col("Name").cast(pl.String).str.strip_prefix(":").alias("name"),
        start.alias("start_ns"),
        end.alias("end_ns"),
        *columns(table.frame, {"pid": "PID", "tid": "TID"}),
    )


def sums(tables: Sequence[CsvTable]) -> pl.DataFrame:
    """Return the sums of cuda_gpu_kern_sum (gpukernsum of old versions), also those that cannot be."""
    return pl.concat(map(_sums, tables))


def _sums(table: CsvTable) -> pl.DataFrame:
    least, most = (pl.coalesce(_ns(table, short), _ns(table, long)) for short, long in _EXTREMES)
    return table.frame.select(
        pl.col("Name").cast(pl.String).alias("name"),
        pl.col("Instances").alias("calls"),
        _ns(table, "Total Time").alias("total_ns"),
        least.alias("min_ns"),
        most.alias("max_ns"),
    )


def rows_below_damaged_headers(file: CsvFile) -> tuple[Caveat, ...]:
    """Return the caveat about sums whose header is of no known report: rows that may be kernels are not read."""
    unknown = [t for t in file.of("other sums") if {_column(cell) for cell in t.header} - _SUMMED - _OF_OTHERS]
    rows = sum(max(table.frame.height, 1) for table in unknown)  # without a column that is known none is counted
    text = "rows below a header that is of no known report are left out; if they are kernels, that header is damaged"
    return (Caveat("rows_of_other_tables", text, rows, "warning"),) if rows else ()


def once_per_name(sums: pl.DataFrame) -> pl.DataFrame:
    """Return one row per kernel name: cuda_gpu_kern_gb_sum has one per grid and block."""
    if sums["name"].n_unique() == sums.height:
        return sums
    totals = [pl.col("calls").sum(), pl.col("total_ns").sum(), pl.col("min_ns").min(), pl.col("max_ns").max()]
    return sums.group_by("name", maintain_order=True).agg(totals)


_EXTREMES = (("Min", "Minimum"), ("Max", "Maximum"))


def rounding(tables: Sequence[CsvTable]) -> tuple[Caveat, ...]:
    """Return what printing lost: bytes in megabytes of three decimals."""
    sized = reduce(lambda total, table: total + _sized(table), tables, 0)
    text = "sizes of copies were printed in megabytes with three decimals: they are right to 500 bytes"
    return (Caveat("bytes_rounded", text, sized),) if sized else ()


def _sized(table: CsvTable) -> int:
    return table.frame["Bytes"].drop_nulls().len() if "Bytes" in table.frame.columns else 0
