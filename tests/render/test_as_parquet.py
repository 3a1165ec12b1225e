"""Parquet: full precision and provenance, readable by other tools."""

import io
import json

import pandas as pd
import polars as pl
import pyarrow.parquet as pq

from render.sample_reports import kernel_frame, kernels_report
from trace_budget import __version__
from trace_budget.render import as_parquet


def test_values_come_back_exactly_and_names_are_text() -> None:
    frame = pl.read_parquet(as_parquet.render(kernels_report(["a", "b"], limit=1)))
    expected = kernel_frame(["a", "b"]).with_columns(pl.col("kernel").cast(pl.String))
    assert frame.equals(expected)


def test_metadata_says_what_it_is_and_who_wrote_it() -> None:
    metadata = pq.read_schema(io.BytesIO(as_parquet.render(kernels_report()))).metadata
    assert metadata[b"trace_budget.schema"] == b"trace-budget/kernels/1"
    assert metadata[b"trace_budget.version"].decode() == __version__
    assert json.loads(metadata[b"trace_budget.trace"])["format"] == "kineto"
    assert [row["code"] for row in json.loads(metadata[b"trace_budget.caveats"])][1] == "lost_kernels"


def test_pandas_reads_it() -> None:
    frame = pd.read_parquet(io.BytesIO(as_parquet.render(kernels_report(["a", "b"]))))
    assert frame["mean_us"].tolist() == [20.27239, 1234567.891]
