"""The dataset as other programs read it: Polars, pandas, PyArrow, DuckDB; declared columns, versioned files."""

import json
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

from batches.datasets import QUESTION
from trace_budget.batches.ingest import ingest
from trace_budget.contracts import ReadOptions
from trace_budget.readers import load
from trace_budget.schema.dataset import DATASET_TABLES, DATASET_VERSION
from trace_budget.schema.tables import TableSpec

SAMPLE = Path(__file__).parents[2] / "sample_traces" / "kineto" / "gdn_decode_gfx936.json.gz"


@pytest.mark.parametrize("spec", DATASET_TABLES, ids=lambda spec: spec.name)
def test_every_file_has_the_declared_columns_and_says_what_it_is(few_answered: Path, spec: TableSpec) -> None:
    files = sorted((few_answered / f"table={spec.name}").rglob("*.parquet"))
    assert files
    for file in files:
        frame = pl.read_parquet(file, hive_partitioning=False)
        assert dict(frame.schema) == dict(spec.empty().schema)
        nulls = {column.name for column in spec.columns if frame[column.name].null_count()}
        assert nulls <= {column.name for column in spec.columns if column.nullable}
        facts = {key.decode(): value.decode() for key, value in pq.read_metadata(file).metadata.items()}
        assert facts["trace_budget.dataset"] == str(DATASET_VERSION)
        assert facts["trace_budget.table"] == spec.name
        assert json.loads(facts["trace_budget.question"]) == json.loads(json.dumps(QUESTION.document()))
        assert pq.ParquetFile(file).metadata.row_group(0).column(0).compression == "ZSTD"


def best_by_polars(out: Path) -> tuple[int, float, set[str]]:
    rows = pl.scan_parquet(f"{out}/table=projections/**/*.parquet", hive_partitioning=True).collect()
    return rows.height, rows["saving_expected_pct"].max(), set(rows["question"])  # type: ignore[return-value]


def best_by_pandas(out: Path) -> tuple[int, float, set[str]]:
    rows = pd.read_parquet(out / "table=projections")
    return len(rows), float(rows["saving_expected_pct"].max()), set(rows["question"].astype(str))


def best_by_pyarrow(out: Path) -> tuple[int, float, set[str]]:
    rows = ds.dataset(out / "table=projections", partitioning="hive").to_table().to_pandas()
    return len(rows), float(rows["saving_expected_pct"].max()), set(rows["question"])


def best_by_duckdb(out: Path) -> tuple[int, float, set[str]]:
    duckdb = pytest.importorskip("duckdb")
    place = f"read_parquet('{out}/table=projections/*/*.parquet', hive_partitioning=true)"
    query = f"SELECT count(*), max(saving_expected_pct), list(DISTINCT question) FROM {place}"  # noqa: S608
    ((count, best, questions),) = duckdb.sql(query).fetchall()
    return count, best, set(questions)


def test_four_libraries_read_the_same(few_answered: Path) -> None:
    found = best_by_polars(few_answered)
    assert (found[0], found[2]) == (36, {QUESTION.key()})
    assert found == best_by_pandas(few_answered) == best_by_pyarrow(few_answered) == best_by_duckdb(few_answered)


def test_tables_join_by_trace_id(few_answered: Path) -> None:
    duckdb = pytest.importorskip("duckdb")

    def table(name: str) -> str:
        return f"read_parquet('{few_answered}/table={name}/*/*.parquet')"

    query = f"""SELECT model, sum(calls_per_step) FROM {table("runs")} JOIN {table("projections")} USING (trace_id)
    GROUP BY model ORDER BY model"""  # noqa: S608
    runs = pl.read_parquet(f"{few_answered}/table=runs/**/*.parquet", hive_partitioning=False)
    expected = runs.group_by("model").agg(pl.col("layers").sum()).sort("model").rows()
    assert [(model, int(calls)) for model, calls in duckdb.sql(query).fetchall()] == expected


def test_ingested_tables_are_read_by_four_libraries(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    trace = load("kineto").read(SAMPLE, ReadOptions())
    folder, written = ingest(trace, tmp_path)
    assert written
    total = int((trace.gpu_ops["end_ns"] - trace.gpu_ops["start_ns"]).sum())
    polars = pl.scan_parquet(f"{tmp_path}/trace=*/gpu_ops.parquet", hive_partitioning=True).collect()
    pandas = pd.read_parquet(folder / "gpu_ops.parquet")
    arrow = ds.dataset(folder / "gpu_ops.parquet").to_table().to_pandas()
    assert set(polars["trace"].cast(pl.String)) == {folder.name.removeprefix("trace=")}
    for frame in (polars, pandas, arrow):
        assert int((frame["end_ns"] - frame["start_ns"]).sum()) == total
    assert [str(frame["name"][0]) for frame in (polars, pandas, arrow)] == [str(trace.gpu_ops["name"][0])] * 3
    query = f"SELECT sum(end_ns - start_ns), any_value(trace) FROM '{tmp_path}/trace=*/gpu_ops.parquet'"  # noqa: S608
    assert duckdb.sql(query).fetchall()[0] == (total, folder.name.removeprefix("trace="))
    assert pq.read_metadata(folder / "calls.parquet").metadata[b"trace_budget.ingested"] == b"1"
