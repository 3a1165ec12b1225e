"""trace_processor's JSON import (its WebAssembly build, run by Node): kernels and their sum by SQL."""

import sys
from pathlib import Path

import polars as pl

from trace_budget.io.perfetto.trace_processor import session

query = "SELECT count(*) AS n, sum(dur) AS ns FROM slice WHERE category IN ('kernel', 'gpu_memcpy', 'gpu_memset')"
with session(Path(sys.argv[1])) as opened:
    print(*opened.query(query, {"n": pl.Int64, "ns": pl.Int64}).row(0))
