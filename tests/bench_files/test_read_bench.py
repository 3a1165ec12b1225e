"""Benchmark files: every format with times known beforehand, and real files by a second parse."""

from __future__ import annotations

import csv
import json
import statistics
from pathlib import Path

import pytest

from shared_traces import SHARED, needs_shared
from trace_budget.bench_files import COLUMNS, NAMES, baseline_and_candidate, load, read_bench
from trace_budget.errors import InputError, UsageError


def run(name: str, real_time: float, unit: str, iterations: int = 100) -> dict[str, object]:
    """A repetition in google-benchmark's words."""
    kind = {"run_type": "iteration", "iterations": iterations}
    return {"name": name, "run_name": name, "real_time": real_time, "time_unit": unit, **kind}


def aggregate(name: str, figure: str, real_time: float, unit: str) -> dict[str, object]:
    kind = {"run_type": "aggregate", "aggregate_name": figure}
    return {"name": f"{name}_{figure}", "run_name": name, "real_time": real_time, "time_unit": unit, **kind}


def stats(name: str, file: str, seconds: tuple[float, ...], rounds: int, iterations: int) -> dict[str, object]:
    """A test in pytest-benchmark's words; `seconds` are mean, median, min, max."""
    times = dict(zip(("mean", "median", "min", "max"), seconds, strict=True))
    return {"name": name, "fullname": f"{file}::{name}", "stats": {**times, "rounds": rounds, "iterations": iterations}}


def metric(number: int, kernel: str, name: str, unit: str, value: str) -> str:
    """A line of ncu's long form."""
    place = ("1", "7", "(128, 1, 1)", "(48, 1, 1)", "0", "9.0", "GPU Speed Of Light Throughput")
    cells = (str(number), "77", "python", "127.0.0.1", kernel, *place, name, unit, value)
    return ",".join(f'"{cell}"' for cell in cells) + "\n"


GOOGLE = {
    "context": {"library_version": "1.9.5"},
    "benchmarks": [
        run("old/1", 0.012, "ms"),
        run("old/1", 0.016, "ms"),
        aggregate("old/1", "mean", 0.014, "ms"),
        aggregate("old/1", "median", 0.0135, "ms"),
        aggregate("old/1", "cv", 0.2, "ms"),
        run("new/1", 9827.19, "ns", 7),
        {"name": "sick", "run_name": "sick", "run_type": "iteration", "error_occurred": True},
        aggregate("fit", "median", 3, "us"),
    ],
}
PYTEST = {
    "machine_info": {"node": "host"},
    "benchmarks": [
        stats("test_k", "a.py", (2e-5, 1.5e-5, 1e-5, 4e-5), 10, 3),
        stats("test_k", "b.py", (5e-6, 5e-6, 5e-6, 5e-6), 1, 1),
    ],
}
NCU_HEADER = (
    "ID,Process ID,Process Name,Host Name,Kernel Name,Context,Stream,Block Size,Grid Size,Device,CC,Section Name,"
    "Metric Name,Metric Unit,Metric Value"
)
GDN = "gdn<float, 4>(int)"
NCU = (
    '==PROF== Connected to process 77 (/usr/bin/python)\n==PROF== Profiling "gdn" - 0: 0%....100% - 8 passes\n'
    + ",".join(f'"{cell}"' for cell in NCU_HEADER.split(","))
    + "\n"
    + metric(0, GDN, "DRAM Frequency", "hz", "2,619,000,000")
    + metric(0, GDN, "Duration", "us", "12.94")
    + metric(0, GDN, "gpu__time_duration.sum", "nsecond", "12,944")
    + metric(1, GDN, "Duration", "us", "13.06")
    + metric(2, "gemm", "Duration", "ms", "1,234.5")
)
STATS = """"Name","Calls","TotalDurationNs","AverageNs","Percentage"
"gdn_old",400,5174236,12935,56.8
"gdn_new",400,3930876,9827,43.2
"""
HYPERFINE = {
    "results": [{"command": "./bench", "mean": 0.5, "median": 0.4, "min": 0.3, "max": 0.9, "times": [0.3, 0.9]}]
}
PERF_REPORT = "N,Triton,Torch\n1024.0,0.010,0.020\n2048.0,0.015,0.045\n"


def written(folder: Path, content: object, name: str = "bench.out") -> Path:
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def rows(path: Path, unit: str | None = None) -> dict[str, tuple[float | None, ...]]:
    """(calls, mean, median, min, max) by name."""
    frame = read_bench(path, unit)
    assert dict(frame.schema) == COLUMNS
    return {row[0]: row[1:6] for row in frame.rows()}


def test_google_benchmark_takes_the_aggregates_it_has(tmp_path: Path) -> None:
    got = rows(written(tmp_path, GOOGLE))
    assert list(got) == ["old/1", "new/1", "fit"]
    assert got["old/1"] == pytest.approx((200, 14.0, 13.5, 12.0, 16.0))
    assert got["new/1"] == pytest.approx((7, 9.82719, 9.82719, 9.82719, 9.82719))
    assert got["fit"] == (None, None, 3.0, None, None)


def test_pytest_benchmark_is_in_seconds_and_tells_equal_names_apart(tmp_path: Path) -> None:
    got = rows(written(tmp_path, PYTEST))
    assert got["a.py::test_k"] == pytest.approx((30, 20.0, 15.0, 10.0, 40.0))
    assert got["b.py::test_k"] == pytest.approx((1, 5.0, 5.0, 5.0, 5.0))


def test_ncu_takes_one_duration_a_launch_whatever_its_unit(tmp_path: Path) -> None:
    got = rows(written(tmp_path, NCU))
    assert got[GDN] == pytest.approx((2, 13.0, 13.0, 12.94, 13.06))
    assert got["gemm"] == pytest.approx((1, *[1_234_500.0] * 4))


@pytest.mark.parametrize(
    ("header", "tail"),
    [
        ('"Name","Calls","TotalDurationNs","AverageNs","Percentage"', '"Total","800","9105112","11381","100"\n'),
        ("Name,Calls,TotalDurationNs,AverageNs,Percentage,MinNs,MaxNs,StdDev", ""),
    ],
)
def test_kernel_stats_of_hipprof_and_rocprofv3(tmp_path: Path, header: str, tail: str) -> None:
    more = ",9000,14000,1.2e+02" if "MinNs" in header else ""
    body = f'"gdn_old","400","5174236","12935","56.8"{more}\n"gdn_new","400","3930876","9827","43.2"{more}\n'
    got = rows(written(tmp_path, f"{header}\n{body}{tail}", "x.csv"))
    assert set(got) == {"gdn_old", "gdn_new"}
    assert got["gdn_old"][:2] == pytest.approx((400, 12.93559))
    assert got["gdn_new"][1] == pytest.approx(9.82719)
    assert got["gdn_new"][3:] == ((9.0, 14.0) if more else (None, None))


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("name,us\nold,12.5\nold,13.5\nnew,9\n", None),
        ("kernel,time\nold,12.5\nold,13.5\nnew,9\n", "us"),
        ("Kernel, Median (ns), mean_us\nold,12500,1\nold,13500,1\nnew,9000,1\n", None),
        ("# device gfx936\nbenchmark,duration_ms\nold,0.0125\nold,0.0135\nnew,0.009\n", None),
        ('[{"name": "old", "us": 12.5}, {"name": "old", "us": 13.5}, {"name": "new", "us": 9}]', None),
        ('[{"kernel": "old", "mean": 1, "median": 12500}, {"kernel": "old", "median": 13500}, '
         '{"kernel": "new", "median": 9000}]', "ns"),
    ],
)  # fmt: skip
def test_names_and_times_as_people_write_them(tmp_path: Path, text: str, unit: str | None) -> None:
    got = rows(written(tmp_path, text), unit)
    assert got["old"] == pytest.approx((2, 13.0, 13.0, 12.5, 13.5))
    assert got["new"] == pytest.approx((1, 9.0, 9.0, 9.0, 9.0))


def test_a_flat_object_is_names_and_times(tmp_path: Path) -> None:
    assert rows(written(tmp_path, {"old": 0.0125, "new": 0.009}), "ms")["old"][1] == pytest.approx(12.5)


def test_perf_report_is_read_once_its_unit_is_told(tmp_path: Path) -> None:
    path = written(tmp_path, PERF_REPORT, "plot.csv")
    with pytest.raises(UsageError, match="TFLOPS"):
        read_bench(path)
    got = rows(path, "ms")
    assert got["Triton[N=2048.0]"][1] == pytest.approx(15.0)
    assert got["Torch[N=1024.0]"][1] == pytest.approx(20.0)


def test_whole_processes_are_refused_unless_asked_for(tmp_path: Path) -> None:
    path = written(tmp_path, HYPERFINE)
    with pytest.raises(UsageError, match="whole processes"):
        read_bench(path)
    with pytest.raises(UsageError, match="says its unit"):
        read_bench(path, "ms")
    assert rows(path, "s")["./bench"] == pytest.approx((2, 500_000, 400_000, 300_000, 900_000))


@pytest.mark.parametrize(
    ("content", "unit", "error", "says"),
    [
        ("", None, InputError, "no benchmark output"),
        ("hello\nworld\n", None, InputError, "no benchmark output"),
        ("{", None, InputError, "JSON that cannot be read"),
        ({"benchmarks": []}, None, InputError, "no benchmark output"),
        ({"machine_info": {}, "benchmarks": [{"name": "a", "stats": {}}]}, None, InputError, "no times"),
        ("name,us\n", None, InputError, "no benchmark output"),
        ("name,us\nold,fast\n", None, InputError, "not a time"),
        ("name,time\nold,3\n", None, UsageError, "--unit ns|us|ms|s"),
        ("name,us\nold,3\n", "ms", UsageError, "says its unit"),
        (STATS, "us", UsageError, "says its unit"),
        ("name,us\nold,3\n", "parsec", UsageError, "no such unit"),
        (NCU.replace("12.94", "n/a"), None, InputError, "not a duration"),
    ],
)
def test_what_cannot_be_read_is_told_in_one_line(
    tmp_path: Path, content: object, unit: str | None, error: type[Exception], says: str
) -> None:
    with pytest.raises(error) as told:
        read_bench(written(tmp_path, content, "x.csv"), unit)
    assert says in str(told.value)
    assert "\n" not in str(told.value)


@pytest.mark.parametrize("content", [GOOGLE, PYTEST, NCU, STATS, HYPERFINE, PERF_REPORT, "name,us\nold,3\n"])
def test_one_particular_format_recognises_a_file(tmp_path: Path, content: object) -> None:
    from trace_budget.bench_files.contract import bench_file

    file = bench_file(written(tmp_path, content))
    assert sum(load(name).recognises(file) for name in NAMES) == 1


def test_old_and_new_are_picked_by_name_and_only_by_one(tmp_path: Path) -> None:
    frame = read_bench(written(tmp_path, STATS, "s.csv"))
    pair = baseline_and_candidate(frame, "gdn_old", "re:new$")
    assert (pair.baseline_us, pair.candidate_us) == pytest.approx((12.93559, 9.82719))
    assert (pair.source, pair.figure) == ("rocprof kernel stats", "mean")
    alone = baseline_and_candidate(frame, None, "gdn_new")
    assert alone.baseline_us is None
    with pytest.raises(UsageError, match="several benchmarks"):
        baseline_and_candidate(frame, "gdn", "gdn_new")
    with pytest.raises(UsageError, match="no benchmark of this name"):
        baseline_and_candidate(frame, "gdn_old", "attention")


def test_medians_are_taken_where_both_have_one(tmp_path: Path) -> None:
    frame = read_bench(written(tmp_path, "name,us\nold,10\nold,11\nold,60\nnew,7\nnew,8\nnew,40\n"))
    pair = baseline_and_candidate(frame, "old", "new")
    assert (pair.baseline_us, pair.candidate_us, pair.figure) == (11, 8, "median")


@needs_shared
def test_real_google_and_pytest_benchmarks() -> None:
    document = json.loads((SHARED / "bench" / "google_benchmark.json").read_text())
    single = [row["real_time"] / 1e3 for row in document["benchmarks"] if row["run_type"] == "iteration"]
    got = rows(SHARED / "bench" / "google_benchmark.json")
    assert got["k"][2:] == pytest.approx((statistics.median(single), min(single), max(single)))
    document = json.loads((SHARED / "bench" / "pytest_benchmark.json").read_text())
    got = rows(SHARED / "bench" / "pytest_benchmark.json")
    for row in document["benchmarks"]:
        wanted = [1e6 * row["stats"][key] for key in ("mean", "median", "min", "max")]
        assert got[row["name"]][1:] == pytest.approx(wanted)


@needs_shared
def test_real_kernel_stats() -> None:
    path = SHARED / "rocprof_v1" / "results.stats.csv"
    with path.open(newline="") as lines:
        wanted = {row["Name"]: (int(row["Calls"]), int(row["TotalDurationNs"])) for row in csv.DictReader(lines)}
    got = rows(path)
    assert {name: (row[0], round(row[1] * row[0] * 1e3)) for name, row in got.items()} == wanted  # type: ignore[operator]


@needs_shared
def test_real_hyperfine_is_refused() -> None:
    with pytest.raises(UsageError, match="whole processes"):
        read_bench(SHARED / "bench" / "hyperfine.json")
