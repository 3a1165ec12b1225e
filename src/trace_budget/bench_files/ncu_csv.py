"""Nsight Compute `--csv` in its long form: one line a metric, of which `gpu__time_duration` or `Duration` is read.

Spec: https://docs.nvidia.com/nsight-compute/NsightComputeCli/. Lines before the header (`==PROF==`) are skipped;
numbers have thousands commas. ncu locks the clocks to their base unless asked otherwise: real times are shorter.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator

import polars as pl

from trace_budget.bench_files.contract import BenchFile, BenchFormat, shown, table, times_of, unit_needed
from trace_budget.errors import InputError
from trace_budget.units import US_IN

SOURCE = "ncu"
UNITS = {"nsecond": "ns", "usecond": "us", "msecond": "ms", "second": "s", "nanosecond": "ns", "microsecond": "us"}
METRICS = ("gpu__time_duration.sum", "gpu__time_duration.avg", "Duration")
NEEDED = {"ID", "Kernel Name", "Metric Name", "Metric Unit", "Metric Value"}


def _recognises(file: BenchFile) -> bool:
    return _header(file) >= 0


def _header(file: BenchFile) -> int:
    """The line of the header, -1 without one."""
    lines = enumerate(file.text.splitlines()[:10_000])
    return next((at for at, line in lines if line.startswith('"ID"') and "Metric Name" in line), -1)


def _read(file: BenchFile, unit: str | None) -> pl.DataFrame:
    kernels: dict[str, list[float]] = {}
    for row in _metrics(file):
        name = UNITS.get(row["Metric Unit"], row["Metric Unit"])
        us = US_IN.get(name) or unit_needed(file, unit, f"an unknown time unit {name!r}")
        kernels.setdefault(row["Kernel Name"], []).append(_value(file, row["Metric Value"]) * us)
    return table([times_of(name, values, SOURCE) for name, values in kernels.items()])


def _metrics(file: BenchFile) -> Iterator[dict[str, str]]:
    """The lines of the duration: of a kernel launch that has several such metrics, the first."""
    lines = file.text.splitlines()[_header(file) :]
    done: set[str] = set()
    for row in csv.DictReader(lines):
        if row.get("Metric Name") in METRICS and row.get("ID") not in done and all(row.get(key) for key in NEEDED):
            done.add(row["ID"])
            yield row


def _value(file: BenchFile, text: str) -> float:
    try:
        return float(text.replace(",", ""))
    except ValueError:
        raise InputError("not a duration", where=str(file.path), expected="a number", found=shown(text)) from None


FORMAT = BenchFormat("ncu --csv, long form", _recognises, _read)
