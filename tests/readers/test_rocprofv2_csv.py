"""rocprofv2 CSV: results, ops traces with API calls, counters."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import same_run as run
from trace_budget.contracts import ReadOptions
from trace_budget.errors import InputError
from trace_budget.inputs.detect import detect
from trace_budget.schema.trace import Trace

SAMPLES = run.SAMPLES / "rocprofv2_csv"


def read(path: Path) -> Trace:
    reader = detect(path)
    assert reader.name == "rocprofv2_csv"
    return reader.read(path, ReadOptions())


def test_results_hold_sizes_and_place() -> None:
    trace = read(SAMPLES / "results_4242.csv")
    row = trace.gpu_ops.select("device", "queue", "pid", "grid_x", "block_x", "correlation").row(0)
    assert row == (0, 2, 4242, 256, 256, None)


def test_calls_of_the_ops_trace_lie_beside_it(tmp_path: Path) -> None:
    assert run.launched_kernels(read(SAMPLES / "hcc_ops_trace_4242.csv")) == [21, 21, 21]
    shutil.copy(SAMPLES / "hcc_ops_trace_4242.csv", tmp_path / "hcc_ops_trace_4242.csv")
    alone = read(tmp_path / "hcc_ops_trace_4242.csv")
    assert (alone.gpu_ops.height, alone.calls.height) == (66, 0)


def test_counters_are_refused(tmp_path: Path) -> None:
    lines = (SAMPLES / "results_4242.csv").read_text().splitlines()
    path = tmp_path / "results.csv"
    path.write_text("\n".join([lines[0] + ",SQ_WAVES", *(line + ",64" for line in lines[1:])]) + "\n")
    with pytest.raises(InputError, match="SQ_WAVES"):
        read(path)


def test_api_traces_and_headers_alone_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="only API calls"):
        read(SAMPLES / "hip_api_trace_4242.csv")
    path = tmp_path / "results.csv"
    path.write_text((SAMPLES / "results_4242.csv").read_text().splitlines()[0] + "\n")
    with pytest.raises(InputError, match="a header without rows"):
        read(path)


def test_rows_of_each_xcc_are_one_dispatch_without_ends_too(tmp_path: Path) -> None:
    text = (SAMPLES / "results_of_xccs.csv").read_text()
    assert "XCC_Index" in text
    whole = read(SAMPLES / "results_of_xccs.csv")
    path = tmp_path / "results_of_xccs.csv"
    path.write_text(text.replace("End_Timestamp", ""))
    damaged = read(path)
    assert damaged.gpu_ops.height == whole.gpu_ops.height > 1
    assert damaged.gpu_ops["end_ns"].null_count() == damaged.gpu_ops.height
    assert "bad_duration" in {caveat.code for caveat in damaged.caveats}
