"""Sums per kernel of a traced standalone run: rocprofv3 `*_kernel_stats.csv`, rocprof `*.stats.csv`, `*.hipkernel.csv`.

Read by the same reader as traces; times are ns. Means only: pick a kernel with many more calls than warm-up has.
"""

from __future__ import annotations

import polars as pl

from trace_budget.bench_files.contract import COLUMNS, BenchFile, BenchFormat, unit_known
from trace_budget.contracts import ReadOptions
from trace_budget.io.csv.table import first_lines, header_cells
from trace_budget.readers.rocprof.kernel_stats_csv import READER, column_of

SOURCE = "rocprof kernel stats"
HEADER = {"Name", "Calls", "TotalDurationNs", "AverageNs"}


def _recognises(file: BenchFile) -> bool:
    lines = first_lines(file.text[:65_536].encode(), 5)
    return any(set(map(column_of, header_cells(line))) >= HEADER for line in lines)


def _read(file: BenchFile, unit: str | None) -> pl.DataFrame:
    us = unit_known(file, unit, "ns")
    sums = READER.read(file.path, ReadOptions()).aggregates
    if sums is None:
        return pl.DataFrame(schema=COLUMNS)
    return sums.select(
        pl.col("name").cast(pl.String),
        "calls",
        (pl.col("mean_ns") * us).alias("mean_us"),
        pl.lit(None, dtype=pl.Float64).alias("median_us"),
        (pl.col("min_ns") * us).alias("min_us"),
        (pl.col("max_ns") * us).alias("max_us"),
        pl.lit(SOURCE).alias("source"),
    )


FORMAT = BenchFormat("kernel sums of rocprof, rocprofv3 or hipprof (CSV)", _recognises, _read, sums=True)
