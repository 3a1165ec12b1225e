"""google-benchmark JSON (`--benchmark_out`): the median aggregate where there is one, else the median of repetitions.

Spec: https://github.com/google/benchmark/blob/main/docs/user_guide.md. `real_time` in `time_unit` (also with manual
time). Rows with an error, complexity fits (BigO, RMS) and relative aggregates (cv) are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import polars as pl

from trace_budget.bench_files.contract import (
    BenchFile,
    BenchFormat,
    calls_of,
    number,
    table,
    times_of,
    unit_needed,
)
from trace_budget.units import US_IN

SOURCE = "google-benchmark"
Row = Mapping[str, object]


def _recognises(file: BenchFile) -> bool:
    return "context" in file.mapping and any("real_time" in row for row in file.records("benchmarks"))


def _read(file: BenchFile, unit: str | None) -> pl.DataFrame:
    runs: dict[str, list[Row]] = {}
    for row in file.records("benchmarks"):
        if not row.get("error_occurred") and number(row.get("real_time")) is not None:
            runs.setdefault(str(row.get("run_name") or row.get("name")), []).append(row)
    rows = (_times(file, name, parts, unit) for name, parts in runs.items())
    return table([row for row in rows if row is not None])


def _times(file: BenchFile, name: str, rows: Iterable[Row], unit: str | None) -> Row | None:
    """One benchmark: its repetitions, and its aggregates in place of what they say better."""
    single, known = [], {}
    calls = 0.0
    for row in rows:
        us = US_IN.get(str(row.get("time_unit", "ns"))) or unit_needed(file, unit, "an unknown time unit")
        value = (number(row.get("real_time")) or 0.0) * us
        if row.get("run_type") != "aggregate":
            single.append(value)
            calls += number(row.get("iterations")) or 0
        elif row.get("aggregate_name") in ("mean", "median"):
            known[f"{row['aggregate_name']}_us"] = value
    if single:
        return {**times_of(name, single, SOURCE, calls_of(file, name, calls)), **known}
    return {"name": name, "source": SOURCE, **known} if known else None


FORMAT = BenchFormat("google-benchmark JSON", _recognises, _read)
