"""Writes docs/dataset.md from the declared tables of the dataset: `python docs/make/dataset_page.py`."""

from __future__ import annotations

from pathlib import Path

from trace_budget.schema.dataset import DATASET_TABLES, DATASET_VERSION
from trace_budget.schema.tables import Column, TableSpec

PAGE = Path(__file__).parents[1] / "dataset.md"
INTRO = """# The dataset of a batch

Written by `docs/make/dataset_page.py` from the declared tables; do not edit by hand.

```text
OUT/table=runs/question=054514e030981991/52f31a0ff932ec14991db2d628d042d1.parquet
    table=T    one of @TABLES@
    question=Q a digest of all options, the version of trace-budget and the version of this schema
    file name  `trace_id`, a digest of the trace's content and of the rank its name tells
OUT/_tmp/      files that are being written
```

This dataset is what `batch` writes:

```sh
trace-budget batch week/ -o OUT --kernel gdn_fused --saving-us 3.228
```

Parquet with zstd, one small file per table and trace; of a finished trace all are there, also those without rows.
Units stand in the column names; null means that it is unknown, never 0. Each file's metadata tells
`trace_budget.table`, `trace_budget.dataset` (the schema version, now @VERSION@), `trace_budget.version` and
`trace_budget.question` (the options as JSON). Within a schema version columns are only added, at the end.

A file in `runs` or `failures` is put last: what it belongs to is then complete. So join the other tables with `runs`
where a batch may still be running. Rows never change and are never removed, with two exceptions: the row of a failure
goes when a batch finds that the file of that path gives a run after all, or is another file now; and `job` in `runs`
changes when ranks added later start a job of the same name that comes first in order of path.

## One query in each

The median expected saving per model, over one question. Polars:

```python
import polars as pl

runs = pl.scan_parquet("OUT/table=runs/**/*.parquet", hive_partitioning=True)
projections = pl.scan_parquet("OUT/table=projections/**/*.parquet", hive_partitioning=True)
joined = projections.join(runs.select("trace_id", "question", "model"), on=["trace_id", "question"])
print(joined.group_by("question", "model").agg(pl.col("saving_expected_pct").median()).collect())
```

pandas and PyArrow datasets:

```python
import pandas as pd
import pyarrow.dataset as ds

runs = pd.read_parquet("OUT/table=runs", columns=["trace_id", "question", "model"])
projections = ds.dataset("OUT/table=projections", partitioning="hive").to_table().to_pandas()
joined = projections.merge(runs.astype({"question": "string"}), on=["trace_id", "question"])
print(joined.groupby(["question", "model"])["saving_expected_pct"].median())
```

DuckDB:

```sql
SELECT question, model, median(saving_expected_pct)
FROM read_parquet('OUT/table=projections/*/*.parquet', hive_partitioning = true) AS projections
JOIN read_parquet('OUT/table=runs/*/*.parquet', hive_partitioning = true) AS runs USING (trace_id, question)
GROUP BY ALL;
```

Spark:

```python no-run
from pyspark.sql import functions as F


def table(name):
    return spark.read.option("basePath", "OUT").parquet(f"OUT/table={name}")


runs = table("runs").select("trace_id", "question", "model")
joined = table("projections").join(runs, ["trace_id", "question"])
joined.groupBy("question", "model").agg(F.median("saving_expected_pct")).show()
```

Many small files are slow to list. To hand a dataset on in one file per table, with DuckDB:

```sql
COPY (SELECT * FROM read_parquet('OUT/table=kernels/*/*.parquet', hive_partitioning = true))
TO 'kernels.parquet' (COMPRESSION zstd);
```

## Tables
"""


def page() -> str:
    """The whole page as Markdown."""
    names = ", ".join(spec.name for spec in DATASET_TABLES)
    head = INTRO.replace("@TABLES@", names).replace("@VERSION@", str(DATASET_VERSION))
    return head + "".join(_section(spec) for spec in DATASET_TABLES)


def _section(spec: TableSpec) -> str:
    head = "| column | type | may be null | meaning |\n| :--- | :--- | :--- | :--- |\n"
    return f"\n### {spec.name}\n\n{spec.meaning}\n\n{head}{''.join(map(_row, spec.columns))}"


def _row(column: Column) -> str:
    kind = str(column.dtype)
    shown = kind if kind.isalnum() else "list of structs"
    return f"| `{column.name}` | {shown} | {'yes' if column.nullable else ''} | {column.meaning} |\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
