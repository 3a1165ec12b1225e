"""pytest-benchmark JSON (`--benchmark-json`): `stats` in seconds, measured with a host clock.

Spec: https://pytest-benchmark.readthedocs.io/en/latest/usage.html. `fullname` separates tests of several files where
`name` does not.
"""

from __future__ import annotations

from collections import Counter

import polars as pl

from trace_budget.bench_files.contract import BenchFile, BenchFormat, calls_of, number, table, unit_known

SOURCE = "pytest-benchmark"


def _recognises(file: BenchFile) -> bool:
    return "machine_info" in file.mapping and any("stats" in row for row in file.records("benchmarks"))


def _read(file: BenchFile, unit: str | None) -> pl.DataFrame:
    us = unit_known(file, unit, "s")
    seen = Counter(str(row.get("name")) for row in file.records("benchmarks"))
    rows = []
    for row in file.records("benchmarks"):
        stats = row.get("stats")
        if not isinstance(stats, dict):
            continue
        name = str(row.get("name"))
        times = {f"{key}_us": number(stats.get(key)) for key in ("mean", "median", "min", "max")}
        rows.append(
            {
                "name": name if seen[name] == 1 else str(row.get("fullname", name)),
                "calls": calls_of(
                    file, name, (number(stats.get("rounds")) or 0) * (number(stats.get("iterations")) or 1)
                ),
                **{key: None if value is None else value * us for key, value in times.items()},
                "source": SOURCE,
            }
        )
    return table([row for row in rows if row["mean_us"] is not None])


FORMAT = BenchFormat("pytest-benchmark JSON", _recognises, _read)
