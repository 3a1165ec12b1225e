"""What the names of files tell, as their readers state it: companions, outputs of one run, what ought to be a trace."""

from __future__ import annotations

from pathlib import Path

import pytest

from trace_budget.batches import identify
from trace_budget.batches.sources import Source
from trace_budget.inputs.same_run import accompanies, is_companion, is_kernel_trace, stem_of_run

COMPANIONS = (
    *("7_hip_api_trace.csv", "7_MARKER_api_trace_2.csv", "7_memory_copy_trace.csv.gz", "7_agent_info.csv"),
    *("r_cuda_api_trace.csv", "r_nvtx_pushpop_trace.csv", "hcc_ops_trace_42.csv", "roctx_trace.csv"),
    *("7_counter_values_x.csv", "results.hip_stats.csv", "results.copy_stats.csv"),
)
KERNEL_TRACES = ("7_kernel_trace.csv", "r_cuda_gpu_trace.csv", "r_gpu_trace.csv.gz", "results_42.csv", "results.csv")
NEITHER = ("rank0.json.gz", "7_kernel_stats.csv", "7_hip_api_trace.json", "times.csv", "7_kernel_trace.json")


@pytest.mark.parametrize("name", COMPANIONS)
def test_companions(name: str) -> None:
    assert is_companion(name)


@pytest.mark.parametrize("name", KERNEL_TRACES)
def test_kernel_traces_with_companions(name: str) -> None:
    assert is_kernel_trace(name)


@pytest.mark.parametrize("name", NEITHER)
def test_others_are_neither(name: str) -> None:
    assert not is_companion(name)
    assert not is_kernel_trace(name)


def test_a_companion_without_its_kernel_trace_is_missed_unless_every_process_writes_it() -> None:
    beside = ("8_kernel_trace.csv",)
    assert accompanies("8_hip_api_trace.csv", beside) is True
    assert accompanies("7_hip_api_trace.csv", beside) is None
    assert accompanies("7_agent_info.csv", beside) is True
    assert accompanies("7_hip_api_trace.csv", ()) is False


@pytest.mark.parametrize(
    "outputs",
    [
        ("42_results.db", "42_kernel_trace.csv", "42_results.json.gz", "42_results.pftrace", "42_kernel_stats.csv"),
        ("r.sqlite", "r_cuda_gpu_trace.csv", "r_cuda_gpu_kern_sum.csv", "r_parquetdir", "r.sqlite.gz"),
        ("p.db", "p.json", "p.html", "p_kernel.json", "p.hiptrace.csv"),
    ],
)
def test_outputs_of_one_run_have_one_stem(outputs: tuple[str, ...]) -> None:
    assert len({stem_of_run(Path(name)) for name in outputs}) == 1


@pytest.mark.parametrize(
    ("name", "telling", "possible"),
    [
        ("run.rpd.gz", True, True),
        ("RUN.NSYS-REP", True, True),
        ("run.sqlite", True, True),
        ("run.sqlite3", False, True),
        ("host.xplane.pb", True, True),
        ("a.pftrace", True, True),
        ("rank3.json", True, True),
        ("config.json", False, True),
        ("names.csv.zst", False, True),
        ("page.html", False, True),
        ("ops.def", False, False),
        ("notes.txt", False, False),
        ("weights.bin", False, False),
    ],
)
def test_what_ought_to_be_and_what_could_be_a_trace(name: str, telling: bool, possible: bool) -> None:
    source = Source(name, name, 1)
    assert identify._telling(source) is telling
    assert identify._maybe(source) is possible
