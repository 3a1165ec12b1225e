"""The parent's memory hardly grows with the number of traces whose rows it sums up."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

FEW, MANY = 200, 4_000
GROWTH_MIB = 60  # three times what it is; the rows of one file after the other, all kept, would be more than 150
PROGRAM = """
import resource, sys
from trace_budget.batches.dataset import joined
from trace_budget.io.store import LocalStore
from trace_budget.schema.dataset import RUNS
store, names = LocalStore(sys.argv[1]), sys.argv[2:]
for count in map(int, names):
    assert joined(store, RUNS, [f"{number}.parquet" for number in range(count)]).height == count
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""


def test_the_sum_of_thousands_of_files(few_answered: Path, tmp_path: Path) -> None:
    data = next(few_answered.glob("table=runs/*/*.parquet")).read_bytes()
    (tmp_path / "0.parquet").write_bytes(data)
    for number in range(1, MANY):
        (tmp_path / f"{number}.parquet").symlink_to(tmp_path / "0.parquet")
    command = [sys.executable, "-c", PROGRAM, str(tmp_path), str(FEW), str(MANY)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    few, many = map(int, done.stdout.split())
    assert many - few < GROWTH_MIB
