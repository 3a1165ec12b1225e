"""Standalone times of the old and the new kernel: one file = one format of benchmark output.

`NAMES` is the explicit list: adding a format is one new file and one word here.
"""

from __future__ import annotations

import csv
from importlib import import_module
from pathlib import Path

import polars as pl

from trace_budget.bench_files.contract import (
    COLUMNS,
    BenchFile,
    BenchFormat,
    Standalone,
    bench_file,
    shown,
)
from trace_budget.errors import InputError, UsageError
from trace_budget.projection.names import closest, matching
from trace_budget.readers.sum_names import refuse_other_sums
from trace_budget.schema.quantities import LARGEST, SMALLEST
from trace_budget.units import US_IN

NAMES: tuple[str, ...] = (
    "kernel_stats",
    "google_benchmark",
    "pytest_benchmark",
    "ncu_csv",
    "hyperfine",
    "named_times",
    "perf_report",
)
__all__ = ["COLUMNS", "NAMES", "BenchFormat", "Standalone", "baseline_and_candidate", "load", "read_bench"]


def load(name: str) -> BenchFormat:
    """The format of that name; its module is imported only now."""
    found: BenchFormat = import_module(f"trace_budget.bench_files.{name}").FORMAT
    return found


def read_bench(path: Path | str, unit: str | None = None) -> pl.DataFrame:
    """The times of a benchmark file, whatever its known format: one row a name, columns as in `COLUMNS`, times in us.

    `unit` (ns, us, ms, s) is needed where the file does not say it, and refused where it says another.
    Raises InputError for what cannot be read, UsageError for a missing or contradicting unit.
    """
    if unit is not None and unit not in US_IN:
        raise UsageError("no such unit", where="--unit", expected=", ".join(US_IN), found=ascii(unit))
    file = bench_file(Path(path))
    try:
        found = _format_of(file)
        rows = found.read(file, unit)
    except csv.Error as error:
        raise InputError("CSV that cannot be read", where=str(path), found=str(error)) from error
    except RecursionError as error:
        raise InputError("JSON nested too deep", where=str(path)) from error
    if rows.height and found.sums:
        refuse_other_sums(file.path, rows["name"], "Name a file with times of kernels.")
    if rows.is_empty():
        raise InputError("no times in this benchmark file", where=str(path), expected="at least one")
    return rows


def _format_of(file: BenchFile) -> BenchFormat:
    """The first format of `NAMES` that recognises the file: from the most to the least particular."""
    for name in NAMES:
        found = load(name)
        if found.recognises(file):
            return found
    known = "; ".join(load(name).title for name in NAMES)
    raise InputError("no benchmark output that can be read", where=str(file.path), expected=known)


def baseline_and_candidate(frame: pl.DataFrame, old: str | None, new: str, where: str = "--bench") -> Standalone:
    """Times of the old and of the new kernel, each by a pattern as for --kernel; the median where it is known.

    Without `old` there is no control; `where` names the file in messages. Raises UsageError when a pattern fits no name
    or several, InputError for a time that is none and for two kernels without a statistic in common.
    """
    baseline = _one(frame, old, "--bench-old") if old is not None else None
    candidate = _one(frame, new, "--bench-new")
    rows = [row for row in (baseline, candidate) if row is not None]
    for row in rows:
        _refuse_no_time(row, where)
    figure = next((name for name in ("median", "mean") if all(row[f"{name}_us"] is not None for row in rows)), None)
    if figure is None:
        found = ", ".join(f"{_statistics(row)} of {shown(row['name'])}" for row in rows)
        raise InputError(
            "the old and the new kernel have no statistic in common",
            where=where, expected="the mean of both or the median of both", found=f"the {found}",
        )  # fmt: skip
    times = pl.DataFrame(rows, schema=COLUMNS)[f"{figure}_us"].to_list()
    return Standalone(times[0] if baseline else None, times[-1], str(candidate["source"]), figure)


def _refuse_no_time(row: dict[str, object], where: str) -> None:
    """InputError unless every figure of a benchmark is a time a kernel can take; first the extremes, as measured."""
    for key in ("min_us", "max_us", "mean_us", "median_us"):
        value = row[key]
        if isinstance(value, float) and not SMALLEST <= value <= LARGEST:
            raise InputError(
                f"the time of {shown(row['name'])} is not a finite number above 0",
                where=where, expected=f"{SMALLEST:g} to {LARGEST:g} us", found=f"{value:g} us",
            )  # fmt: skip


def _statistics(row: dict[str, object]) -> str:
    """The statistic a benchmark has where it lacks the other."""
    return "mean" if row["median_us"] is None else "median"


def _one(frame: pl.DataFrame, pattern: str, option: str) -> dict[str, object]:
    names = frame["name"].to_list()
    found = matching(pattern, names)
    if len(found) == 1:
        return frame.filter(pl.col("name") == found[0]).row(0, named=True)
    listed = "; ".join(found or closest(pattern, names) or names[:5])
    raise UsageError(
        "no benchmark of this name" if not found else "one pattern names several benchmarks",
        where=option, expected=f"one of {len(names)} for {pattern!r}", found=listed,
    )  # fmt: skip
