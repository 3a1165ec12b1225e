"""`nsys stats` CSV: units, notes between reports, files beside each other, reports that hold no kernels."""

from __future__ import annotations

import shutil
from pathlib import Path

import polars as pl
import pytest
from sample_traces.make import nsys_text

import same_run as run
from trace_budget.contracts import ReadOptions
from trace_budget.errors import InputError
from trace_budget.inputs.detect import detect
from trace_budget.schema.trace import Trace

SAMPLES = run.SAMPLES / "nsys_csv"
GPU_TRACE = "Start (ns),Duration (ns),CorrId,GrdX,GrdY,GrdZ,BlkX,BlkY,BlkZ,Bytes (MB),Device,Ctx,Strm,Name"


def read(path: Path) -> Trace:
    reader = detect(path)
    assert reader.name == "nsys_csv"
    return reader.read(path, ReadOptions())


def written(tmp_path: Path, text: str, name: str = "out.csv") -> Path:
    path = tmp_path / name
    path.write_text(text)
    return path


def codes(trace: Trace) -> dict[str, int]:
    return {caveat.code: caveat.count for caveat in trace.caveats}


@pytest.mark.parametrize("unit", ["ns", "us", "ms"])
def test_the_unit_stands_in_the_header(tmp_path: Path, unit: str) -> None:
    trace = read(written(tmp_path, nsys_text.one_output(run.RUN, unit)))
    first = run.RUN.ops[1]
    start = nsys_text.since_start(first.start_ns)
    row = trace.gpu_ops.filter(pl.col("kind") == "kernel").select("start_ns", "end_ns").row(0)
    assert row == (start, start + first.end_ns - first.start_ns)
    assert trace.resolution_ns == 1


def test_old_units_and_fewer_decimals_set_the_resolution(tmp_path: Path) -> None:
    header = GPU_TRACE.replace("Start (ns)", "Start(sec)").replace("Duration (ns)", "Duration(nsec)")
    trace = read(written(tmp_path, header + "\n1.234567,890,1,1,1,1,64,1,1,,GPU,1,7,f\n"))
    assert trace.gpu_ops.select("start_ns", "end_ns").row(0) == (1_234_567_000, 1_234_567_890)
    assert trace.resolution_ns == 1_000


def test_kinds_devices_and_bytes(tmp_path: Path) -> None:
    rows = (
        '100,50,1,8,2,1,64,1,1,,NVIDIA H100 (3),1,7,"void f<int, 4>(T1 *, const char *)"\n'
        "200,50,2,,,,,,,4.194,NVIDIA H100 (3),1,7,[CUDA memcpy HtoD]\n"
        "300,50,3,,,,,,,0.001,NVIDIA H100 (3),1,7,[CUDA memset]\n"
    )
    trace = read(written(tmp_path, GPU_TRACE + "\n" + rows))
    found = trace.gpu_ops.select("kind", "name", "device", "stream", "grid_x", "grid_y", "block_x", "bytes").rows()
    assert found == [
        ("kernel", "void f<int, 4>(T1 *, const char *)", 3, 7, 8, 2, 64, None),
        ("memcpy", "[CUDA memcpy HtoD]", 3, 7, None, None, None, 4_194_000),
        ("memset", "[CUDA memset]", 3, 7, None, None, None, 1_000),
    ]
    assert (trace.device_name, trace.vendor, trace.dispatch_gap_in_duration) == ("NVIDIA H100", "NVIDIA", False)
    assert codes(trace) == {"bytes_rounded": 2, "no_calls": 1}


def test_rows_of_other_reports_never_count_as_kernels(tmp_path: Path) -> None:
    text = nsys_text.kernel_sums(run.RUN) + nsys_text.api_sums(run.RUN)
    sums = read(written(tmp_path, text)).aggregates
    assert sums is not None
    assert "cudaGraphLaunch" not in sums["name"].cast(pl.String).to_list()
    assert sums["calls"].sum() == 63


def test_files_beside_it_of_another_run_are_left_out(tmp_path: Path) -> None:
    for name in ("cuda_gpu_trace", "cuda_api_trace", "nvtx_pushpop_trace"):
        shutil.copy(SAMPLES / f"beside_{name}.csv", tmp_path / f"a_{name}.csv")
    assert read(tmp_path / "a_cuda_gpu_trace.csv").calls.height == 9
    other = (tmp_path / "a_cuda_api_trace.csv").read_text().replace(",0,1", ",0,9")
    (tmp_path / "a_cuda_api_trace.csv").write_text(other.replace(",0,2", ",0,9").replace(",0,3", ",0,9"))
    trace = read(tmp_path / "a_cuda_gpu_trace.csv")
    assert (trace.calls.height, trace.markers.height) == (0, 0)
    assert codes(trace)["sibling_of_other_run"] == 1


def test_projected_ranges_give_the_host_ranges(tmp_path: Path) -> None:
    header = "Name,Projected Start (ns),Projected Duration (ns),Orig Start (ns),Orig Duration (ns),Style,PID,TID,"
    ranges = header + "NumGPUOps,Lvl\n:execute_context_0(0)_generation_4(4),150,30,90,20,PushPop,5,6,2,0\n"
    text = GPU_TRACE + "\n100,50,1,8,2,1,64,1,1,,GPU (0),1,7,f\n\nProcessing [x] with [nvtx_gpu_proj_trace.py]...\n"
    trace = read(written(tmp_path, text + ranges))
    found = trace.markers.select("name", "start_ns", "end_ns", "pid", "tid").rows()
    assert found == [("execute_context_0(0)_generation_4(4)", 90, 110, 5, 6)]


def test_negative_lengths_and_no_numbers_are_unknown(tmp_path: Path) -> None:
    rows = (
        "100,-5,1,8,2,1,64,1,1,,GPU (0),1,7,f\n200,x,1,8,2,1,64,1,1,,GPU (0),1,7,g\n0,9,1,8,2,1,64,1,1,,GPU (0),1,7,h\n"
    )
    trace = read(written(tmp_path, GPU_TRACE + "\n" + rows))
    assert trace.gpu_ops.select("name", "start_ns", "end_ns").rows() == [
        ("h", 0, 9),
        ("f", 100, None),
        ("g", 200, None),
    ]
    assert codes(trace)["bad_duration"] == 2


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (nsys_text.api_trace(run.RUN), "only host calls"),
        (nsys_text.pushpop_trace(run.RUN), "only host ranges"),
        (GPU_TRACE + "\n200,50,2,,,,,,,4.194,GPU (0),1,7,[CUDA memcpy HtoD]\n", "no GPU kernels.*1 copies"),
        (nsys_text.kernel_sums(run.RUN).split("\n", 1)[0] + "\n", "no kernel sums"),
    ],
)
def test_reports_without_kernels_are_refused(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        read(written(tmp_path, text))


def test_a_device_column_that_is_missing_leaves_devices_unknown(tmp_path: Path) -> None:
    text = (SAMPLES / "same_run.csv").read_text()
    assert ",Device," in text
    trace = read(written(tmp_path, text.replace(",Device,", ",Devi_e,")))
    whole = read(written(tmp_path, text, "whole.csv"))
    assert trace.gpu_ops.height == whole.gpu_ops.height > 1
    assert trace.gpu_ops["device"].null_count() == trace.gpu_ops.height
    assert trace.gpu_ops["name"].cast(str).to_list() == whole.gpu_ops["name"].cast(str).to_list()
