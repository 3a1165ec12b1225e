"""Names with times, as people write them: CSV with a name column and a time column, or JSON alike.

The unit is in the name of the time column (`us`, `median_us`, `time (ms)`) or comes from the user. Several lines of one
name are several measurements. JSON is a list of such objects, or one object from name to time.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping

import polars as pl

from trace_budget.bench_files.contract import (
    BenchFile,
    BenchFormat,
    number,
    shown,
    table,
    times_of,
    unit_known,
    unit_needed,
)
from trace_budget.errors import InputError

SOURCE = "named times"
NAME_KEYS = ("name", "kernel", "kernel_name", "kernel name", "benchmark", "label", "provider")
TIME_KEY = re.compile(r"^(?:(?:time|mean|median|avg|average|duration|latency|elapsed)[ _(]+)?(ns|us|ms|s)\)?$")
BARE_KEYS = ("median", "time", "mean", "avg", "average", "duration", "latency", "elapsed")
NO_UNIT = "the file does not say the unit of its times"


def _recognises(file: BenchFile) -> bool:
    rows = _rows(file)
    return bool(rows) and _keys(rows[0]) is not None


def _rows(file: BenchFile) -> list[Mapping[str, object]]:
    """The records of the file, whatever its layout; none when it has another."""
    document = file.document
    if isinstance(document, list):
        return [row for row in document if isinstance(row, dict)]
    if isinstance(document, dict):
        flat = document and all(number(value) is not None for value in document.values())
        return [{"name": name, "time": value} for name, value in document.items()] if flat else []
    lines = [line for line in file.text.splitlines() if line.strip() and not line.startswith("#")]
    return list(csv.DictReader(lines, skipinitialspace=True))


def _keys(row: Mapping[str, object]) -> tuple[str, str, str | None] | None:
    """(name column, time column, unit or None) of a record."""
    plain = {str(key).strip().lower(): str(key) for key in row if key is not None}
    name = next((plain[key] for key in NAME_KEYS if key in plain), None)
    if name is None:
        return None
    timed = [(key, match[1]) for key in plain if (match := TIME_KEY.match(key))]
    # Of several figures the median says most.
    for key, unit in sorted(timed, key=lambda pair: "median" not in pair[0]):
        return name, plain[key], unit
    bare = next((plain[key] for key in BARE_KEYS if key in plain), None)
    return (name, bare, None) if bare is not None else None


def _read(file: BenchFile, unit: str | None) -> pl.DataFrame:
    rows = _rows(file)
    keys = _keys(rows[0])
    if keys is None:
        return table([])
    name_key, time_key, known = keys
    us = unit_known(file, unit, known) if known else unit_needed(file, unit, NO_UNIT)
    values: dict[str, list[float]] = {}
    for row in rows:
        if row.get(time_key) not in (None, ""):
            values.setdefault(str(row.get(name_key)).strip(), []).append(_time(file, row[time_key]) * us)
    return table([times_of(name, times, SOURCE) for name, times in values.items()])


def _time(file: BenchFile, value: object) -> float:
    try:
        return float(str(value))
    except ValueError:
        raise InputError("not a time", where=str(file.path), expected="a number", found=shown(value)) from None


FORMAT = BenchFormat("CSV or JSON of names and times", _recognises, _read, sums=True)
