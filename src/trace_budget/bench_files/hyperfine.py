"""hyperfine JSON: times of whole processes in seconds, refused unless the user insists by --unit.

Start-up, compilation and copies are inside; a kernel is never what hyperfine measures.
"""

from __future__ import annotations

import polars as pl

from trace_budget.bench_files.contract import (
    BenchFile,
    BenchFormat,
    number,
    table,
    unit_known,
    unit_needed,
)

SOURCE = "hyperfine"
WHOLE = "hyperfine times whole processes, not kernels; to take them all the same say their unit"


def _recognises(file: BenchFile) -> bool:
    return any("command" in row and "mean" in row for row in file.records("results"))


def _read(file: BenchFile, unit: str | None) -> pl.DataFrame:
    unit_needed(file, unit, WHOLE)
    us = unit_known(file, unit, "s")
    rows = []
    for row in file.records("results"):
        times = {f"{key}_us": number(row.get(key)) for key in ("mean", "median", "min", "max")}
        runs = row.get("times")
        known = {key: None if value is None else value * us for key, value in times.items()}
        calls = len(runs) if isinstance(runs, list) else None
        rows.append({"name": str(row.get("command")), "calls": calls, **known, "source": SOURCE})
    return table([row for row in rows if row["mean_us"] is not None])


FORMAT = BenchFormat("hyperfine JSON (with --unit)", _recognises, _read)
