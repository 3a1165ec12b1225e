"""Writes the described run as `nsys export --type parquetdir` does: a folder with one Parquet file per table.

Run from the root of the repository: `python -m sample_traces.make.nsys_parquet [--out FOLDER]`. The bytes follow the
Parquet library, the content does not.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from sample_traces.make import nsys_database
from sample_traces.make import run_description as described

ROOT = Path(__file__).resolve().parents[1]


def write_all(out: Path) -> None:
    """Every table of the SQLite sample as a file of its own; tables without rows are left out, as nsys does."""
    content = nsys_database.same_run()
    folder = out / "nsys_parquetdir" / "same_run"
    folder.mkdir(parents=True, exist_ok=True)
    for table, rows in content.rows.items():
        names = dict.fromkeys(name for row in rows for name in row)
        columns = {name: [row.get(name) for row in rows] for name in names}
        if columns:
            pq.write_table(pa.table(columns), folder / f"{table}.parquet")
    described.write_truth(folder.with_suffix(".truth.json"), described.truth())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT)
    write_all(parser.parse_args().out)
