"""Sums per kernel name: `*_kernel_stats.csv` (rocprofv3), `results.stats.csv` (rocprof), `*.hipkernel.csv` (hipprof).

One header, three dialects: rocprof quotes names only, hipprof quotes everything and ends with a Total row, rocprofv3
adds MinNs, MaxNs, StdDev. There is no timeline in them: calls and means are known, nothing about steps.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

from trace_budget.contracts import FileNames, Head, Reader, ReadOptions
from trace_budget.errors import InputError
from trace_budget.io.csv.table import Cells, CsvFile, Shape, first_lines, header_cells, read_csv
from trace_budget.readers.csv_trace import damage_of, required, rows_of, several_tables
from trace_budget.readers.sum_names import kernels_alone, refuse_other_sums
from trace_budget.schema import build, caveats
from trace_budget.schema.check import checked
from trace_budget.schema.tables import GPU_OPS
from trace_budget.schema.trace import Caveat, Trace

_HEADER: Cells = ("Name", "Calls", "TotalDurationNs", "AverageNs", "Percentage")
# as `rocpd summary --format csv`, and the views of a rocpd database, call the same columns
_SUMMARY = {
    "name": "Name",
    "calls": "Calls",
    "DURATION (nsec)": "TotalDurationNs",
    "AVERAGE (nsec)": "AverageNs",
    "PERCENT (INC)": "Percentage",
    "MIN (nsec)": "MinNs",
    "MAX (nsec)": "MaxNs",
}
_PROCESS = "ProcessID"
_ADVICE = "Name the kernel sums of that run, if it has any: *_kernel_stats.csv, *.stats.csv or *.hipkernel.csv"


def column_of(cell: str) -> str:
    """The column of kernel sums that a header cell means."""
    return _SUMMARY.get(cell, cell)


def _is_stats(cells: Cells) -> bool:
    return set(_HEADER) <= set(map(column_of, cells))


_SHAPE = Shape(
    "sums",
    _is_stats,
    "Name",
    texts=("Name",),
    integers=("Calls", _PROCESS),
    decimals=("TotalDurationNs", "MinNs", "MaxNs", "Percentage"),
    column_of=column_of,
)
_NS = ("TotalDurationNs", "MinNs", "MaxNs")


def _recognises(head: Head) -> bool:
    return any(_is_stats(header_cells(line)) for line in first_lines(head.data, 5))


def _read(path: Path, options: ReadOptions) -> Trace:
    file = required(read_csv(path, (_SHAPE,), r"TotalDurationNs|DURATION \(nsec\)"), READER.recognised_by)
    everything = _without_total(rows_of(file, "sums"))
    _refuse(file, everything)
    rows, others = kernels_alone(everything, "Name")
    texts = [pl.col(c).str.strip_chars() for c in _decimals(rows)]
    ints = [text.cast(pl.Float64, strict=False).round().cast(pl.Int64, strict=False) for text in texts]
    exact = [text.cast(pl.Int64, strict=False) for text in texts]
    sums = rows.with_columns(pl.coalesce(a, b).alias(c) for a, b, c in zip(exact, ints, _decimals(rows), strict=True))
    names = {"Name": "name", "Calls": "calls", "TotalDurationNs": "total_ns", "MinNs": "min_ns", "MaxNs": "max_ns"}
    known, unusable = caveats.usable_sums(sums.drop("Percentage", _PROCESS, strict=False).rename(names, strict=False))
    unusable = (*unusable, *others, *_missing(everything))
    found = (caveats.aggregates_only(), *damage_of(*file.tables), *unusable, *several_tables(file, "sums"))
    if file.damage:
        found = (caveats.partial_file(file.damage), *found)
    return checked(
        Trace(
            str(path),
            "kernel_stats_csv",
            GPU_OPS.empty(),
            complete=not file.damage,
            dispatch_gap_in_duration=True,
            events=known.height,
            source_bytes=path.stat().st_size,
            caveats=found,
            aggregates=build.aggregates(known),
        )
    )


def _decimals(rows: pl.DataFrame) -> list[str]:
    return [name for name in _NS if name in rows.columns]


def _without_total(rows: pl.DataFrame) -> pl.DataFrame:
    """Drop hipprof's last row, the sum of the others."""
    others = rows.filter(pl.col("Name").cast(pl.String).ne_missing("Total"))
    is_total = rows.height > 1 and others.height == rows.height - 1 and rows["Name"][-1] == "Total"
    return others if is_total and rows["Calls"][-1] == others["Calls"].sum() else rows


def _missing(rows: pl.DataFrame) -> tuple[Caveat, ...]:
    """Rows that are gone without a trace in the text still lack in the shares, which are rounded to 0.01 at least."""
    shares = rows["Percentage"].str.strip_chars().cast(pl.Float64, strict=False)
    whole = float(shares.sum())
    if abs(whole - 100) <= 1 + 0.005 * rows.height:
        return ()
    text = f"the shares of the rows add up to {whole:.1f} %, not 100: rows are missing or changed"
    return (Caveat("bad_sums", text, rows.height, "warning"),)


def _refuse(file: CsvFile, rows: pl.DataFrame) -> None:
    where = str(file.path)
    if not rows.height:
        raise InputError("no kernel sums", where=where, found="a header without rows", advice=_ADVICE)
    processes = rows[_PROCESS].n_unique() if _PROCESS in rows.columns else 1
    if processes > 1:
        advice = "Sums of one process, or of all: rocpd summary without --summary-by-rank."
        found = f"{processes} values of {_PROCESS}"
        raise InputError("kernel sums of several processes in one table", where=where, found=found, advice=advice)
    refuse_other_sums(file.path, rows["Name"], _ADVICE)


READER = Reader(
    name="kernel_stats_csv",
    title="sums per kernel: rocprofv3 kernel_stats, rocprof stats, hipprof hipkernel (CSV)",
    recognised_by="a header with Name, Calls, TotalDurationNs, AverageNs and Percentage",
    cannot_tell="anything in time: steps, layers, overlap, idle, medians; warm-up and autotuning are inside the sums",
    recognises=_recognises,
    read=_read,
    suffixes=(".csv",),
    timeline=False,
    writers={"rocprofv3": 4, "rocprof": 3, "hipprof": 3},
    names=FileNames(
        companions=r"\.(?:hip|hsa|copy)_stats\.csv", output="kernel|kernel_stats|domain_stats|stats|hipkernel"
    ),
)
