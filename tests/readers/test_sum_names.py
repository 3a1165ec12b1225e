"""Sums of something else than kernels are told by the file's name and by what is summed."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from trace_budget.bench_files import read_bench
from trace_budget.contracts import ReadOptions
from trace_budget.errors import InputError
from trace_budget.inputs.detect import detect
from trace_budget.readers.sum_names import none_of_kernels, other_domain
from trace_budget.schema.trace import Trace

STATS = "Name,Calls,TotalDurationNs,AverageNs,Percentage,MinNs,MaxNs,StdDev\n"
SUMMARY = "Name,Calls,DURATION (nsec),AVERAGE (nsec),PERCENT (INC),MIN (nsec),MAX (nsec),STD_DEV\n"
NSYS = "Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),"


def read(path: Path, text: str) -> Trace:
    path.write_text(text)
    return detect(path).read(path, ReadOptions())


@pytest.mark.parametrize(
    ("name", "domain"),
    [
        ("decode_marker_api_stats.csv", "marker_api"),
        ("domain_stats.csv", "domain"),
        ("4242_hip_runtime_api_stats.csv", "hip_runtime_api"),
        ("out_memory_allocation_stats.csv", "memory_allocation"),
        ("run_markers_summary.csv", "markers"),
        ("memory_copies_summary_by_rank.csv", "memory_copies"),
        ("decode_mpi_event_sum.csv", "decode_mpi_event"),
        ("x.hiptrace.csv", "hiptrace"),
        ("results.copy_stats.csv", "copy"),
        ("decode_kernel_stats.csv", None),
        ("my_hip_kernel_stats.csv", None),
        ("results.stats.csv", None),
        ("kernels_summary.csv", None),
        ("report_cuda_gpu_kern_sum.csv", None),
        ("report_cuda_gpu_kern_gb_sum.csv", None),
        ("x.hipkernel.csv", None),
    ],
)
def test_file_names(name: str, domain: str | None) -> None:
    assert other_domain(name) == domain


@pytest.mark.parametrize(
    ("names", "none"),
    [
        (["KERNEL_DISPATCH", "HIP_API"], True),
        (["KERNELS", "MARKERS", "something_new"], True),
        (["MPI_Allreduce", "MPI_Bcast"], True),
        (["MEMORY_ALLOCATION_ALLOCATE"], True),
        (["hipMemcpyAsync", "hipGraphLaunch"], True),
        (["execute_context_0(0)_generation_1(1)"], True),
        (["CopyHostToDevice", "MEMORY_COPY_DEVICE_TO_HOST"], True),
        (["gemm", "CopyHostToDevice"], False),
        (["ncclDevKernel_AllReduce_Sum_bf16_RING_LL", "cuApplyLayerNorm"], False),
    ],
)
def test_names_of_what_is_summed(names: list[str], none: bool) -> None:
    assert none_of_kernels(pl.Series(names)) is none


def test_a_table_under_another_name_is_refused_by_what_it_sums(tmp_path: Path) -> None:
    for text in (STATS + "HIP_API,3,300,100,100,1,2,0\n", NSYS + "Source,Name\n80,8,1,1,1,1,1,0,MPI,MPI_Bcast\n"):
        with pytest.raises(InputError, match="kernel"):
            read(tmp_path / "unknown.csv", text)


def test_sums_of_calls_are_no_benchmark(tmp_path: Path) -> None:
    path = tmp_path / "run_mpi_event_sum.csv"
    path.write_text(NSYS + "Source,Name\n80,8000,16,500,500,400,600,1,MPI,MPI_Bcast\n")
    with pytest.raises(InputError, match="not of kernels"):
        read_bench(path)


def test_copies_among_kernels_are_left_out_and_told(tmp_path: Path) -> None:
    trace = read(tmp_path / "results.stats.csv", STATS + "gemm,2,80,40,80,1,2,0\nCopyHostToDevice,1,20,20,20,1,2,0\n")
    assert trace.aggregates is not None
    assert trace.aggregates["name"].cast(str).to_list() == ["gemm"]
    assert "other_sums_left_out" in [caveat.code for caveat in trace.caveats]
    assert "bad_sums" not in [caveat.code for caveat in trace.caveats]


def test_a_summary_of_rocpd(tmp_path: Path) -> None:
    trace = read(tmp_path / "run_kernels_summary.csv", SUMMARY + '"gemm<a, b>(int)",4,400,100.0,100.0,90,110,8.1\n')
    assert trace.aggregates is not None
    assert trace.aggregates.select("calls", "total_ns", "min_ns", "max_ns").rows() == [(4, 400, 90, 110)]
    with pytest.raises(InputError, match="several processes"):
        read(
            tmp_path / "run_kernels_summary_by_rank.csv",
            "ProcessID,Hostname," + SUMMARY + "1,h,g,4,400,1,50,9,9,1\n2,h,g,4,400,1,50,9,9,1\n",
        )


def test_one_row_per_name_of_sums_by_grid(tmp_path: Path) -> None:
    rows = "60,600,2,300,300,290,310,1,  1 2 3,  4 5 6,gemm\n40,400,4,100,100,90,110,1,  9 9 9,  4 5 6,gemm\n"
    trace = read(tmp_path / "run_cuda_gpu_kern_gb_sum.csv", NSYS + "GridXYZ,BlockXYZ,Name\n" + rows)
    assert trace.aggregates is not None
    assert trace.aggregates.select("calls", "total_ns", "min_ns", "max_ns").rows() == [(6, 1_000, 90, 310)]
