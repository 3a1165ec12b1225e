"""rocprof v1 CSV and JSON: both dialects, exact ns, one row per execution; agreement of CSV, JSON and database."""

from __future__ import annotations

import csv
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from sample_traces.make import rocprof_text

import same_run as run
from shared_traces import SHARED, needs_shared
from trace_budget.contracts import ReadOptions
from trace_budget.errors import InputError
from trace_budget.inputs.detect import detect
from trace_budget.schema.trace import Trace

REAL = SHARED / "rocprof_v1"
PLACE = ("name", "start_ns", "end_ns", "device", "queue", "pid", "grid_x", "block_x")


def read(path: Path) -> Trace:
    return detect(path).read(path, ReadOptions())


def codes(trace: Trace) -> dict[str, int]:
    return {caveat.code: caveat.count for caveat in trace.caveats}


def written(tmp_path: Path, text: str, name: str = "results.csv") -> Path:
    path = tmp_path / name
    path.write_text(text)
    return path


@pytest.mark.parametrize("name", ["same_run.csv", "timestamp_only.csv", "old_registers.csv"])
def test_dialects_hold_the_same(name: str) -> None:
    trace = read(run.SAMPLES / "rocprof_v1_csv" / name)
    attention = trace.gpu_ops.filter(pl.col("name").cast(pl.String).str.starts_with("paged"))
    assert set(attention.select("device", "queue", "pid", "grid_x", "grid_y", "block_x").rows()) == {
        (0, 2, 4242, 32 * 8 * 256, None, 256)
    }
    assert (trace.format, trace.vendor, trace.dispatch_gap_in_duration) == ("rocprof_v1_csv", "AMD", True)


def test_a_run_without_timestamps_is_refused(tmp_path: Path) -> None:
    lines = rocprof_text.timestamp_only_csv(run.RUN).splitlines()
    text = "\n".join(line.rsplit(",", 4)[0] for line in lines) + "\n"
    with pytest.raises(InputError, match=r"without timestamps.*--timestamp on"):
        read(written(tmp_path, text))


def test_counter_runs_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"SQ_WAVES, TCC_HIT\[0\].*hipprof"):
        read(run.SAMPLES / "broken" / "hipprof_pmc.csv")
    text = rocprof_text.timestamp_only_csv(run.RUN).splitlines()
    with_counter = "\n".join(f"{line},{value}" for line, value in zip(text, ["GRBM_COUNT", *"1" * 63], strict=True))
    with pytest.raises(InputError, match=r"GRBM_COUNT.*rocprof"):
        read(written(tmp_path, with_counter))


def test_hipprof_counter_runs_are_told_by_their_zeros(tmp_path: Path) -> None:
    header = "Index,KernelName,gpu-id,queue-id,pid,tid,DispatchNs,BeginNs,EndNs,CompleteNs\n"
    with pytest.raises(InputError, match="all 0, as hipprof --pmc"):
        read(written(tmp_path, header + "0,f.kd,8,0,1,1,0,1000,2000,0\n"))
    one_dispatched = read(written(tmp_path, header + "0,f.kd,8,0,1,1,0,1000,2000,0\n1,f.kd,8,0,1,1,900,3000,4000,0\n"))
    assert one_dispatched.gpu_ops.height == 2


def test_unescaped_quotes_and_the_text_none(tmp_path: Path) -> None:
    header = "Index,KernelName,gpu-id,queue-id,pid,tid,sig,obj,DispatchNs,BeginNs,EndNs,CompleteNs\n"
    rows = '0,"f<"a,b">(int)",0,0,7,7,0x0,0x1,9,1000,2000,9\n1,"g",0,0,8,8,0x0,0x1,9,3000,None,9\n'
    trace = read(written(tmp_path, header + rows))
    assert trace.gpu_ops.select("name", "start_ns", "end_ns", "pid").rows() == [
        ('f<"a,b">(int)', 1_000, 2_000, 7),
        ("g", 3_000, None, 8),
    ]
    expected = {"damaged_lines_repaired": 1, "bad_duration": 1, "no_calls": 1, "several_processes": 2}
    assert codes(trace) == expected


def test_header_only_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a header without rows"):
        read(written(tmp_path, rocprof_text.timestamp_only_csv(run.RUN).split("\n", 1)[0] + "\n"))


def test_json_keeps_one_row_per_execution_with_the_facts_of_both() -> None:
    trace = read(run.SAMPLES / "rocprof_v1_json" / "same_run.json")
    kernels = trace.gpu_ops.filter(pl.col("kind") == "kernel")
    assert kernels.height == 63
    # sizes come from the dispatch, the stream from the activity
    assert kernels.null_count().select("grid_x", "block_x", "stream").row(0) == (0, 0, 0)
    assert codes(trace) == {"duplicate_rows_dropped": 63, "launches_unknown": 66}
    assert trace.resolution_ns == 1


def test_json_of_a_killed_run_is_partial() -> None:
    trace = read(run.SAMPLES / "broken" / "rocprof_v1_killed.json")
    assert not trace.complete
    assert run.kernel_rows(trace) == run.expected_kernels()
    assert codes(trace)["partial_file"] == 1


def test_json_cut_inside_an_event_keeps_those_before(tmp_path: Path) -> None:
    text = (run.SAMPLES / "rocprof_v1_json" / "same_run.json").read_text()
    path = written(tmp_path, text[: text.index('"name":"dep"') // 4], "cut.json")
    trace = read(path)
    assert not trace.complete
    assert 0 < trace.gpu_ops.height < 63
    assert set(run.kernel_rows(trace)) < set(run.expected_kernels())


def test_json_names_with_quotes_that_are_not_escaped(tmp_path: Path) -> None:
    text = (run.SAMPLES / "rocprof_v1_json" / "same_run.json").read_text()
    path = written(tmp_path, text.replace("rms_norm_kernel", 'rms<"x">(int)'), "quotes.json")
    trace = read(path)
    names = Counter(name for name, _, _ in run.kernel_rows(trace))
    assert names['rms<"x">(int)'] == 12
    # 12 dispatches and 12 activities
    assert codes(trace)["damaged_lines_repaired"] == 24


def test_json_without_exact_times_falls_back_to_microseconds(tmp_path: Path) -> None:
    span = '{"ph":"X","name":"f.kd","pid":6,"tid":1,"ts":"1500","dur":"3","args":{"dev-id":"0"}}'
    path = written(
        tmp_path,
        '{ "traceEvents":[{}\n,{"args":{"name":"GPU0"},"ph":"M","pid":6,"name":"process_name","sort_index":0}\n,'
        + span
        + "]}",
        "us.json",
    )
    trace = read(path)
    assert trace.gpu_ops.select("start_ns", "end_ns").rows() == [(1_500_000, 1_503_000)]
    assert trace.resolution_ns == 1_000


def test_json_without_kernels_is_refused(tmp_path: Path) -> None:
    text = '{ "traceEvents":[{}\n,{"args":{"BeginNs":"5","EndNs":"9"},"ph":"X","pid":2,"name":"hipMalloc","ts":"0"}]}'
    with pytest.raises(InputError, match="1 spans, none of a kernel"):
        read(written(tmp_path, text, "none.json"))


@needs_shared
@pytest.mark.parametrize("name", ["results.csv", "results_timestamp_only.csv"])
def test_real_csv_row_by_row(name: str) -> None:
    with (REAL / name).open(newline="") as handle:
        rows = list(csv.DictReader(handle))
    numbers = ("BeginNs", "EndNs", "gpu-id", "queue-id", "pid", "grd", "wgr")
    expected = [(row["KernelName"], *(int(row[column]) for column in numbers)) for row in rows]
    trace = read(REAL / name)
    assert trace.gpu_ops.select(PLACE).rows() == sorted(expected, key=lambda row: row[1])
    assert trace.gpu_ops.height == 60


@needs_shared
def test_real_csv_json_and_database_agree_to_the_nanosecond() -> None:
    traces = [read(REAL / name) for name in ("results.csv", "results.json", "results.db")]
    tables = [trace.gpu_ops.with_columns(pl.col("name").cast(pl.String)).select(PLACE) for trace in traces]
    assert tables[0].equals(tables[1])
    assert tables[0].equals(tables[2])
    assert traces[1].gpu_ops["stream"].equals(traces[2].gpu_ops["stream"])
    assert run.call_rows(traces[1]) == run.call_rows(traces[2])


@needs_shared
def test_real_json_against_the_json_module() -> None:
    events = json.loads((REAL / "results.json").read_text())["traceEvents"]
    dispatches = [e for e in events if e.get("ph") == "X" and "KernelName" in e["args"]]
    expected = sorted((int(e["args"]["BeginNs"]), int(e["args"]["EndNs"]), e["name"]) for e in dispatches)
    trace = read(REAL / "results.json")
    assert trace.gpu_ops.select("start_ns", "end_ns", "name").rows() == expected
    assert codes(trace)["duplicate_rows_dropped"] == 60


@needs_shared
def test_real_sums_are_those_of_the_dispatches() -> None:
    sums = read(REAL / "results.stats.csv").aggregates
    assert sums is not None
    kernels = read(REAL / "results.csv").gpu_ops.with_columns(
        pl.col("name").cast(pl.String).str.replace(r" \[clone \.kd\]$", ""),
        length=pl.col("end_ns") - pl.col("start_ns"),
    )
    expected = {
        (name, count, total)
        for name, count, total in kernels.group_by("name").agg(pl.len(), pl.col("length").sum()).rows()
    }
    found = set(sums.select(pl.col("name").cast(pl.String), "calls", "total_ns").rows())
    # one family of names is demangled differently by the two writers
    assert {row[1:] for row in found} == {row[1:] for row in expected}
    assert len(found & expected) >= len(expected) - 2
    assert sums["total_ns"].sum() == 388_487


def test_json_keeps_two_kernels_of_equal_times(tmp_path: Path) -> None:
    twin = next(op for op in run.RUN.ops if op.kernel)
    other = replace(twin, name="another_kernel")
    doubled = replace(run.RUN, ops=(*run.RUN.ops, other))
    trace = read(written(tmp_path, rocprof_text.results_json(doubled), "results.json"))
    expected = [*run.expected_kernels(), ("another_kernel", other.start_ns, other.end_ns)]
    assert sorted(run.kernel_rows(trace)) == sorted(expected)
