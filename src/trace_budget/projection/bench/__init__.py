"""Standalone times of the old and the new kernel: one file = one format of benchmark output.

`NAMES` is the explicit list: adding a format is one new file and one word here.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import polars as pl

from trace_budget.errors import InputError, UsageError
from trace_budget.projection.bench.contract import COLUMNS, BenchFile, BenchFormat, Standalone, bench_file
from trace_budget.projection.names import closest, matching
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
    found: BenchFormat = import_module(f"trace_budget.projection.bench.{name}").FORMAT
    return found


def read_bench(path: Path | str, unit: str | None = None) -> pl.DataFrame:
    """The times of a benchmark file, whatever its known format: one row a name, columns as in `COLUMNS`, times in us.

    `unit` (ns, us, ms, s) is needed where the file does not say it, and refused where it says another.
    Raises InputError for what cannot be read, UsageError for a missing or contradicting unit.
    """
    if unit is not None and unit not in US_IN:
        raise UsageError("no such unit", where="--unit", expected=", ".join(US_IN), found=ascii(unit))
    file = bench_file(Path(path))
    rows = _format_of(file).read(file, unit)
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


def baseline_and_candidate(frame: pl.DataFrame, old: str | None, new: str) -> Standalone:
    """Times of the old and of the new kernel, each by a pattern as for --kernel; the median where it is known.

    Without `old` there is no control. Raises UsageError when a pattern fits no name or several.
    """
    baseline = _one(frame, old, "--bench-old") if old is not None else None
    candidate = _one(frame, new, "--bench-new")
    rows = pl.DataFrame([row for row in (baseline, candidate) if row is not None], schema=COLUMNS)
    figure = "mean" if rows["median_us"].null_count() else "median"
    times = rows[f"{figure}_us"].to_list()
    return Standalone(times[0] if baseline else None, times[-1], str(candidate["source"]), figure)


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
