"""The queries of docs/dataset.md, run as they stand there on a dataset."""

import re
from pathlib import Path

import polars as pl
import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "dataset.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(python|sql)\n(.*?)```", PAGE, re.DOTALL)


def block(language: str, word: str, out: Path) -> str:
    (text,) = [text for kind, text in BLOCKS if kind == language and word in text]
    return text.replace("OUT/", f"{out}/").replace("print(", "found.append(")


def expected(out: Path) -> dict[str, float]:
    runs = pl.read_parquet(f"{out}/table=runs/**/*.parquet", hive_partitioning=False)
    rows = pl.read_parquet(f"{out}/table=projections/**/*.parquet", hive_partitioning=False)
    medians = rows.join(runs, on="trace_id").group_by("model").agg(pl.col("saving_expected_pct").median())
    return dict(medians.rows())


def test_polars(few_answered: Path) -> None:
    found: list[pl.DataFrame] = []
    exec(block("python", "scan_parquet", few_answered), {"found": found})  # noqa: S102
    assert dict(found[0].select("model", "saving_expected_pct").rows()) == pytest.approx(expected(few_answered))


def test_pandas_and_pyarrow(few_answered: Path) -> None:
    found: list[object] = []
    exec(block("python", "read_parquet(", few_answered), {"found": found})  # noqa: S102
    medians = {model: value for (_, model), value in found[0].items()}  # type: ignore[attr-defined]
    assert medians == pytest.approx(expected(few_answered))


def test_duckdb(few_answered: Path, tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    rows = duckdb.sql(block("sql", "median", few_answered)).fetchall()
    assert {model: value for _, model, value in rows} == pytest.approx(expected(few_answered))
    target = tmp_path / "kernels.parquet"
    duckdb.sql(block("sql", "COPY", few_answered).replace("kernels.parquet", str(target)))
    parts = pl.read_parquet(f"{few_answered}/table=kernels/**/*.parquet", hive_partitioning=False)
    assert pl.read_parquet(target).height == parts.height
