"""A plain table of device work: `name,start_us,end_us[,stream,device,step]` as CSV, JSON Lines or Parquet.

For profilers of one's own. The header states the unit of every time: `start_ns`, `end_us`, `dur_ms`, `start (us)`.
Needed are `name`, a start, and an end or a duration; `kind` (kernel, memcpy, memset), `stream`, `device`, `pid`, `step`
(a number or a text) and `phase` (decode, prefill, …) are read where they are there, other columns are not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from trace_budget.contracts import Head, Reader, ReadOptions
from trace_budget.errors import InputError
from trace_budget.io import parquet_file
from trace_budget.io.csv.table import Cells, CsvTable, Shape, first_lines, header_cells, read_csv
from trace_budget.io.inflate import PlainStream
from trace_budget.io.parquet_folder import MAGIC
from trace_budget.readers.csv_trace import NO_CALLS, damage_of, ns_from_decimal
from trace_budget.readers.plain.json_lines import LineTable, is_object, keys_of, read_lines
from trace_budget.readers.records import Records, trace_of
from trace_budget.readers.stated_steps import steps_of
from trace_budget.schema.tables import OP_KINDS
from trace_budget.schema.trace import Caveat, Trace

DIGITS = {"ns": 0, "us": 3, "ms": 6, "s": 9}  # decimal digits of a nanosecond in one unit
_TIME = re.compile(r"^(start|end|dur|duration)[ _]?[(\[]?(ns|us|µs|μs|ms|s)[)\]]?$", re.IGNORECASE)
_OF_OTHERS = {"corrid", "rangeid", "range id", "tid", "correlation_id", "index", "ph"}  # columns of other writers
_TEXTS = ("name", "kind", "step", "phase")
_IDS = ("stream", "device", "pid")
_TIMES = ("start", "end", "dur")
_EXACT_FLOAT = 1 << 53


@dataclass(frozen=True, slots=True)
class _Source:
    """What the records are of, for the errors and the caveats about its end."""

    path: Path
    damage: str = ""


def _column(cell: str) -> str:
    """The name a column has here; '' for one that is not read."""
    time = _TIME.match(cell.strip())
    if time:
        return "dur" if time[1].lower().startswith("dur") else time[1].lower()
    word = cell.strip().lower()
    return word if word in (*_TEXTS, *_IDS) else ""


def _units(cells: Iterable[str]) -> dict[str, str]:
    """The unit of each time column."""
    found = ((cell.strip(), _TIME.match(cell.strip())) for cell in cells)
    return {_column(cell): match[2].lower().replace("µ", "u").replace("μ", "u") for cell, match in found if match}


def _is_table(header: Iterable[str]) -> bool:
    cells = list(header)
    names = {_column(cell) for cell in cells}
    others = {cell.strip().lower() for cell in cells} & _OF_OTHERS
    return {"name", "start"} <= names and bool(names & {"end", "dur"}) and not others


def _lacks_units(cells: Iterable[str]) -> bool:
    """A header that would be one if it stated the units."""
    words = {cell.strip().lower() for cell in cells}
    return "name" in words and "start" in words and bool(words & {"end", "dur", "duration"}) and not words & _OF_OTHERS


def _recognises(head: Head) -> bool:
    if head.data.startswith(MAGIC):
        return head.path.is_file() and _is_table(parquet_file.column_names(head.path))
    lines = list(first_lines(head.data, 3))
    if lines and is_object(lines[0]):
        return _is_table(keys_of(lines[0])) or _lacks_units(keys_of(lines[0]))
    headers = [header_cells(line) for line in lines[:1]]
    return any(_is_table(cells) or _lacks_units(cells) for cells in headers)


def _read(path: Path, options: ReadOptions) -> Trace:
    with PlainStream(path) as stream:
        start = stream.read(1 << 16)
    if start.startswith(MAGIC):
        return _trace(path, *_of_parquet(path))
    first = next(first_lines(start), "")
    if is_object(first):
        return _trace(path, *_of_lines(path, read_lines(path)))
    return _trace(path, *_of_csv(path))


Parts = tuple[pl.DataFrame, Mapping[str, str], str, tuple[Caveat, ...]]


def _of_csv(path: Path) -> Parts:
    """Texts of every column read, units, damage, caveats."""
    shape = Shape("table", _is_csv, "name", ("name", "kind", "phase"), _IDS, (*_TIMES, "step"), _column)
    file = read_csv(path, (shape,), r"(?i)name")
    tables = file.of("table")
    if not tables:
        raise _without_units(path, "a header without units")
    units = _units(tables[0].header)
    if any(_units(table.header) != units for table in tables):
        raise InputError("tables of different units in one file", where=str(path), expected="one unit a column")
    frames = [_texts(table) for table in tables]
    return pl.concat(frames, how="diagonal"), units, file.damage, damage_of(*tables)


def _is_csv(cells: Cells) -> bool:
    return _is_table(cells)


def _texts(table: CsvTable) -> pl.DataFrame:
    return table.frame.with_columns(pl.col(pl.Enum).cast(pl.String))


def _of_lines(path: Path, table: LineTable) -> Parts:
    units = _units(table.frame.columns)
    if not _is_table(table.frame.columns):
        raise _without_units(path, f"the keys {', '.join(table.frame.columns[:8])}")
    frame = table.frame.select(pl.col(name).alias(_column(name)) for name in table.frame.columns if _column(name))
    ids = [pl.col(name).cast(pl.Int64, strict=False) for name in _IDS if name in frame.columns]
    return frame.with_columns(ids), units, table.damage, table.caveats


def _of_parquet(path: Path) -> Parts:
    """Whole numbers are exact; floating ones hold what they hold, and are reported where that is less than 1 ns."""
    wanted = [name for name in parquet_file.column_names(path) if _column(name)]
    frame, units = parquet_file.read(path, wanted), _units(wanted)
    frame = frame.select(pl.col(name).alias(_column(name)) for name in wanted)
    rough: list[str] = []
    for column, unit in units.items():
        if frame[column].dtype.is_float():
            scaled = frame[column] * 10 ** DIGITS[unit]
            rough += [column] if (scaled.abs().max() or 0) >= _EXACT_FLOAT else []
            frame = frame.with_columns(scaled.round().cast(pl.Int64, strict=False))
        else:
            frame = frame.with_columns(pl.col(column).cast(pl.Int64, strict=False) * 10 ** DIGITS[unit])
    others = [pl.col(name).cast(pl.String) for name in _TEXTS if name in frame.columns]
    others += [pl.col(name).cast(pl.Int64, strict=False) for name in _IDS if name in frame.columns]
    text = f"floating-point times so large that neighbours lie more than 1 ns apart: {', '.join(rough)}"
    found = (Caveat("coarse_times", text, len(rough), "warning"),) if rough else ()
    return frame.with_columns(others), dict.fromkeys(units, "ns"), "", found


def _without_units(path: Path, found: str) -> InputError:
    return InputError(
        "not a plain table",
        where=str(path),
        expected="a header with name, start_us and end_us or dur_us (or ns, ms, s)",
        found=found,
        advice="State the unit of every time in its header.",
    )


def _trace(path: Path, frame: pl.DataFrame, units: Mapping[str, str], damage: str, found: tuple[Caveat, ...]) -> Trace:
    if not frame.height:
        raise InputError("a header without rows", where=str(path), expected="a row for each execution on the device")
    times = [
        (ns_from_decimal(name, DIGITS[units[name]]) if frame[name].dtype == pl.String else pl.col(name)).alias(name)
        for name in _TIMES
        if name in frame.columns
    ]
    rows = frame.with_columns(times)
    end = pl.col("end") if "end" in rows.columns else pl.col("start") + pl.col("dur")
    absent = [pl.lit(None, pl.Int64).alias(name) for name in _IDS if name not in rows.columns]
    ops = rows.with_columns(_kind(rows), pl.col("start").alias("start_ns"), end.alias("end_ns"), *absent)
    ops = ops.with_columns(pl.lit(None, pl.Int64).alias("correlation"))
    records = Records(ops, NO_CALLS, steps_of(ops), ("correlation",), caveats=found, earliest_ns=0)
    return trace_of(_Source(path, damage), "plain_table", records)


def _kind(rows: pl.DataFrame) -> pl.Expr:
    """What the table says of each row; a word that is none is a kernel, whose name may still say that it is a copy."""
    word = pl.col("kind").str.to_lowercase() if "kind" in rows.columns else pl.lit(None, pl.String)
    return pl.when(word.is_in(OP_KINDS)).then(word).otherwise(pl.lit("kernel")).alias("kind")


READER = Reader(
    name="plain_table",
    title="a plain table (CSV, JSON Lines or Parquet)",
    recognised_by="a header (or keys) with name, a start, and an end or duration, with units: start_us, dur_ns",
    cannot_tell="launches, host threads; steps without a step column",
    recognises=_recognises,
    read=_read,
    suffixes=(".csv", ".jsonl", ".parquet"),
)
