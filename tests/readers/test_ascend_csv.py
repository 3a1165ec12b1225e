"""Kernels of an Ascend NPU: exact times, copies, steps where they are stated, both writers' titles."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from sample_traces.make import run_description as described

import same_run as run
from trace_budget import api
from trace_budget.errors import InputError

DETAILS = run.SAMPLES / "ascend_csv" / "kernel_details.csv"
SUMMARY = run.SAMPLES / "ascend_csv" / "op_summary_20260101.csv"


@pytest.mark.parametrize("path", [DETAILS, SUMMARY], ids=lambda path: path.name)
def test_kernels_and_copies_to_the_nanosecond(path: Path) -> None:
    trace = api.open_trace(path)
    assert trace.format == "ascend_csv"
    assert run.kernel_rows(trace) == run.expected_kernels()
    copies = trace.gpu_ops.filter(pl.col("kind") == "memcpy").select("start_ns", "end_ns").rows()
    assert copies == run.expected_copies()
    assert trace.gpu_ops.select("device", "stream").unique().rows() == [(described.DEVICE, described.STREAM)]


def test_stated_steps_are_the_steps() -> None:
    steps = api.analyse(api.open_trace(DETAILS)).steps
    assert steps.frame.height == described.STEPS
    assert steps.frame["kernels"].to_list() == [4 * 5 + 1] * described.STEPS


def test_a_name_that_is_not_available_is_the_type(tmp_path: Path) -> None:
    text = DETAILS.read_text(encoding="utf-8").replace("lm_head_gemm_kernel,MatMulV2", "N/A,MatMulV2")
    (tmp_path / "k.csv").write_text(text, encoding="utf-8")
    names = api.open_trace(tmp_path / "k.csv").gpu_ops["name"].cast(pl.String)
    assert names.filter(names == "MatMulV2").len() == described.STEPS


def test_a_header_alone_is_refused(tmp_path: Path) -> None:
    (tmp_path / "k.csv").write_text(DETAILS.read_text(encoding="utf-8").splitlines()[0] + "\n", encoding="utf-8")
    with pytest.raises(InputError, match="no kernels"):
        api.open_trace(tmp_path / "k.csv")
