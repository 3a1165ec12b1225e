"""Sums per kernel: three dialects of one header, Total rows, tables that are not of kernels."""

from __future__ import annotations

from pathlib import Path

import pytest

import same_run as run
from shared_traces import SHARED, needs_shared
from trace_budget.contracts import ReadOptions
from trace_budget.errors import InputError
from trace_budget.inputs.detect import detect
from trace_budget.readers.rocprof.kernel_stats_csv import READER
from trace_budget.schema.trace import Trace

HEADER = '"Name","Calls","TotalDurationNs","AverageNs","Percentage"'


def read(tmp_path: Path, text: str) -> Trace:
    path = tmp_path / "stats.csv"
    path.write_text(text)
    assert detect(path).name == "kernel_stats_csv"
    return READER.read(path, ReadOptions())


def rows(trace: Trace) -> list[tuple[object, ...]]:
    assert trace.aggregates is not None
    return trace.aggregates.rows()


def test_each_value_quoted_and_a_total_that_is_dropped(tmp_path: Path) -> None:
    body = '"f(int, float)","3","60","20","75.00"\n"g","2","20","10","25.00"\n"Total","5","80","16","100.0"\n'
    trace = read(tmp_path, f"{HEADER}\n{body}")
    assert rows(trace) == [("f(int, float)", 3, 60, 20.0, None, None), ("g", 2, 20, 10.0, None, None)]


def test_a_kernel_called_total_stays_unless_it_is_the_sum(tmp_path: Path) -> None:
    trace = read(tmp_path, f'{HEADER}\n"f",3,60,20,75.0\n"Total",1,20,20,25.0\n')
    assert [row[0] for row in rows(trace)] == ["f", "Total"]


def test_minimum_and_maximum_of_rocprofv3_and_scientific_numbers(tmp_path: Path) -> None:
    body = '"f",4,100,25.000000,9.9e+01,10,40,1.2e-01\n"g",2,1.5e+03,7.5e+02,1.0e-01,7e+02,8e+02,0\n'
    assert rows(read(tmp_path, f'{HEADER},"MinNs","MaxNs","StdDev"\n{body}')) == [
        ("g", 2, 1_500, 750.0, 700, 800),
        ("f", 4, 100, 25.0, 10, 40),
    ]


def test_unescaped_quotes_in_names(tmp_path: Path) -> None:
    trace = read(tmp_path, f'{HEADER}\n"f<"a,b">(int)",3,60,20,100.0\n')
    assert rows(trace)[0][:3] == ('f<"a,b">(int)', 3, 60)
    assert [caveat.code for caveat in trace.caveats] == ["aggregates_only", "damaged_lines_repaired"]


def test_sums_that_are_no_numbers_are_left_out_and_counted(tmp_path: Path) -> None:
    trace = read(tmp_path, f'{HEADER}\n"f",3,60,20,75.0\n"g",x,20,20,25.0\n"h",0,0,0,0\n')
    assert [row[0] for row in rows(trace)] == ["f"]
    assert {caveat.code: caveat.count for caveat in trace.caveats}["bad_sums"] == 2


@pytest.mark.parametrize(
    "names",
    [
        ("hipLaunchKernel", "hipMemcpyAsync"),
        ("hsa_queue_create", "hsa_init"),
        ("MEMORY_COPY_HOST_TO_DEVICE", "MEMORY_COPY_DEVICE_TO_HOST"),
        ("CopyDeviceToHost", "CopyHostToDevice"),
        ("KERNEL_DISPATCH", "HIP_API"),
    ],
)
def test_sums_of_calls_and_copies_are_refused(tmp_path: Path, names: tuple[str, str]) -> None:
    with pytest.raises(InputError, match="not of kernels"):
        read(tmp_path, HEADER + "\n" + "".join(f'"{name}",1,10,10,50.0\n' for name in names))


def test_kernels_whose_names_sound_like_calls_are_kernels(tmp_path: Path) -> None:
    trace = read(tmp_path, f'{HEADER}\n"ncclDevKernel_AllReduce_Sum_bf16_RING_LL",1,10,10,50.0\n')
    assert trace.aggregates is not None


def test_columns_of_the_views_of_rocpd(tmp_path: Path) -> None:
    """Lower case, a column of squares between total and mean."""
    header = '"name","calls","DURATION (nsec)","SQR (nsec)","AVERAGE (nsec)","PERCENT (INC)","MIN (nsec)","MAX (nsec)"'
    trace = read(tmp_path, f'{header}\n"f",3,60,1200,20.0,75.0,19,21\n"g",2,20,200,10.0,25.0,9,11\n')
    assert rows(trace) == [("f", 3, 60, 20.0, 19, 21), ("g", 2, 20, 10.0, 9, 11)]


def test_blanks_before_numbers(tmp_path: Path) -> None:
    trace = read(tmp_path, "Name, Calls, TotalDurationNs, AverageNs, Percentage\nf, 3, 60, 20, 100.0\n")
    assert rows(trace) == [("f", 3, 60, 20.0, None, None)]


@pytest.mark.parametrize("processes", [1, 2])
def test_sums_by_rank_are_those_of_one_process(tmp_path: Path, processes: int) -> None:
    header = '"ProcessID","Hostname","Name","Calls","DURATION (nsec)","AVERAGE (nsec)","PERCENT (INC)"'
    text = header + "\n" + "".join(f'{pid},"h","f",3,60,20.0,100.0\n' for pid in range(processes))
    if processes > 1:
        with pytest.raises(InputError, match="several processes"):
            read(tmp_path, text)
    else:
        assert rows(read(tmp_path, text)) == [("f", 3, 60, 20.0, None, None)]


def test_header_only_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a header without rows"):
        read(tmp_path, HEADER + "\n")


def test_a_cut_file_is_partial(tmp_path: Path) -> None:
    trace = read(tmp_path, f'{HEADER}\n"f",3,60,20,75.0\n"half of a na')
    assert not trace.complete
    assert [row[0] for row in rows(trace)] == ["f"]


def test_the_caveat_says_what_cannot_be_told() -> None:
    path = run.SAMPLES / "kernel_stats_csv" / "hipprof.hipkernel.csv"
    caveat = READER.read(path, ReadOptions()).caveats[0]
    for word in ("steps", "layers", "overlap", "warm-up"):
        assert word in caveat.text
    assert not READER.timeline


@needs_shared
def test_a_real_table_of_copies_without_rows_is_refused() -> None:
    with pytest.raises(InputError, match="no kernel sums"):
        READER.read(SHARED / "rocprof_v1" / "results.copy_stats.csv", ReadOptions())
