"""rocprofv3 CSV against the csv module on real files, and on files with known damage."""

from __future__ import annotations

import csv
import gzip
import shutil
from collections import Counter
from pathlib import Path

import polars as pl
import pytest
from sample_traces.make import rocprofv3_text
from sample_traces.make.csv_formats import QUOTED_KERNEL, QUOTED_NAME

import same_run as run
from shared_traces import SHARED, needs_shared
from trace_budget.contracts import ReadOptions
from trace_budget.errors import InputError
from trace_budget.inputs.detect import detect
from trace_budget.readers.rocprof.rocprofv3_csv import READER
from trace_budget.schema.trace import Trace

SAMPLES = run.SAMPLES / "rocprofv3_csv"
BROKEN = run.SAMPLES / "broken"
REAL = SHARED / "rocprofv3_csv"
HEADER = rocprofv3_text.KERNEL_HEADER


def read(path: Path) -> Trace:
    assert detect(path).name == "rocprofv3_csv"
    return READER.read(path, ReadOptions())


def codes(trace: Trace) -> dict[str, int]:
    return {caveat.code: caveat.count for caveat in trace.caveats}


def written(tmp_path: Path, *rows: str, name: str = "x_kernel_trace.csv") -> Path:
    path = tmp_path / name
    path.write_text(rocprofv3_text.table(HEADER, []) + "".join(row + "\n" for row in rows))
    return path


def row(name: str = "f(int)", start: str = "1000", end: str = "1500", agent: str = '"Agent 4"', corr: str = "7") -> str:
    return f'"KERNEL_DISPATCH",{agent},1,3,99,1,10,"{name}",{corr},{start},{end},0,0,8,0,16,64,2,1,1024,4,1'


def test_every_column_of_one_row(tmp_path: Path) -> None:
    trace = read(written(tmp_path, row()))
    assert trace.gpu_ops.to_dicts() == [
        {
            **{"op_id": 0, "kind": "kernel", "name": "f(int)", "device": 4, "stream": 3, "queue": 1, "pid": None},
            **{"start_ns": 1_000, "end_ns": 1_500, "launch_id": None, "correlation": 7, "graph_node_id": None},
            **{"grid_x": 1_024, "grid_y": 4, "grid_z": 1, "block_x": 64, "block_y": 2, "block_z": 1, "bytes": None},
            **{"group": None, "group_size": None},
        }
    ]
    assert (trace.vendor, trace.dispatch_gap_in_duration, trace.resolution_ns) == ("AMD", True, 1)


@pytest.mark.parametrize(("agent", "device"), [('"Agent 12"', 12), ('"GPU 0"', 0), ("5", 5), ('"unknown"', None)])
def test_agents_are_numbers_in_every_spelling(tmp_path: Path, agent: str, device: int | None) -> None:
    assert read(written(tmp_path, row(agent=agent))).gpu_ops["device"].to_list() == [device]


def test_times_that_cannot_be_are_unknown_and_counted(tmp_path: Path) -> None:
    times = [("100", "90"), ("100", "0"), ("100", ""), ("100", "100"), ("0", "0"), ("", "50"), ("100", "160")]
    trace = read(written(tmp_path, *(row(start=start, end=end) for start, end in times)))
    known = [(100, None), (100, None), (100, None), (100, 100), (100, 160), (None, None), (None, None)]
    assert trace.gpu_ops.select("start_ns", "end_ns").rows() == known
    assert (codes(trace)["bad_duration"], codes(trace)["zero_duration"], codes(trace)["bad_start"]) == (3, 1, 2)


def test_siblings_of_the_same_run_are_read_and_named_after_the_device() -> None:
    trace = read(SAMPLES / "same_run_kernel_trace.csv")
    assert trace.device_name == "AMD Instinct MI300X"
    assert set(trace.markers["tid"]) == {4243}
    assert set(trace.calls["pid"]) == {4242}
    assert run.launch_starts_of_copies(trace) == [c.start_ns for c in run.RUN.calls if c.kind == "memcpy"]
    assert "no_calls" not in codes(trace)


def test_compressed_siblings_are_found(tmp_path: Path) -> None:
    for path in SAMPLES.glob("same_run_*.csv"):
        (tmp_path / f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
    trace = read(tmp_path / "same_run_kernel_trace.csv.gz")
    assert (trace.gpu_ops.height, trace.calls.height, trace.markers.height) == (66, 9, 3)
    assert trace.device_name == "AMD Instinct MI300X"


def test_a_sibling_of_another_run_is_left_out(tmp_path: Path) -> None:
    shutil.copy(SAMPLES / "same_run_kernel_trace.csv", tmp_path / "a_kernel_trace.csv")
    calls = (SAMPLES / "same_run_hip_api_trace.csv").read_text()
    (tmp_path / "a_hip_api_trace.csv").write_text(calls.replace(",17121954956", ",17121994956"))
    trace = read(tmp_path / "a_kernel_trace.csv")
    assert trace.calls.height == 0
    assert codes(trace)["sibling_of_other_run"] == 1


def test_a_cut_sibling_is_told(tmp_path: Path) -> None:
    for name in ("kernel_trace", "hip_api_trace"):
        text = (SAMPLES / f"same_run_{name}.csv").read_text()
        (tmp_path / f"a_{name}.csv").write_text(text[:-30] if name == "hip_api_trace" else text)
    trace = read(tmp_path / "a_kernel_trace.csv")
    assert trace.calls.height == 8
    assert codes(trace)["partial_file"] == 1


def test_kernels_named_after_ranges_are_told(tmp_path: Path) -> None:
    for name in ("kernel_trace", "marker_api_trace"):
        text = (SAMPLES / f"same_run_{name}.csv").read_text()
        marker = "execute_context_0(0)_generation_1(1)"
        (tmp_path / f"a_{name}.csv").write_text(text.replace("rms_norm_kernel", marker))
    assert codes(read(tmp_path / "a_kernel_trace.csv"))["kernels_renamed"] == 1


def test_header_only_names_the_workers_that_have_dispatches() -> None:
    with pytest.raises(InputError, match=r"no kernel dispatches.*4243_kernel_trace\.csv"):
        read(BROKEN / "rocprofv3_workers" / "4242_kernel_trace.csv")


def test_header_only_without_workers_says_how_to_record(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="rocprofv3 --kernel-trace"):
        read(written(tmp_path))


def test_counters_are_refused_with_the_number_of_dispatches() -> None:
    with pytest.raises(InputError, match=r"126 rows, one per counter, of 63 dispatches"):
        read(BROKEN / "rocprofv3_counter_collection.csv")


@pytest.mark.parametrize("name", ["hip_api_trace", "marker_api_trace", "memory_copy_trace", "agent_info"])
def test_the_other_files_of_a_run_point_to_its_kernels(name: str) -> None:
    with pytest.raises(InputError, match=r"same_run_kernel_trace\.csv"):
        read(SAMPLES / f"same_run_{name}.csv")


def test_a_file_of_another_format_is_refused_in_words(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x,y\n1,2\n")
    with pytest.raises(InputError, match="no such table"):
        READER.read(tmp_path / "a.csv", ReadOptions())


def test_unescaped_quotes_in_names_are_mended() -> None:
    trace = read(BROKEN / "rocprofv3_unescaped_quote_kernel_trace.csv")
    renamed = [(QUOTED_NAME if name == QUOTED_KERNEL else name, *times) for name, *times in run.expected_kernels()]
    assert run.kernel_rows(trace) == renamed
    assert codes(trace)["damaged_lines_repaired"] == 12


def test_bom_crlf_and_a_blank_line() -> None:
    trace = read(BROKEN / "rocprofv3_bom_crlf_kernel_trace.csv")
    assert run.kernel_rows(trace) == run.expected_kernels()
    assert not {"damaged_lines_repaired", "damaged_lines_dropped"} & set(codes(trace))


def test_a_cut_file_is_partial(tmp_path: Path) -> None:
    data = gzip.compress((SAMPLES / "same_run_kernel_trace.csv").read_bytes())
    path = tmp_path / "cut_kernel_trace.csv.gz"
    path.write_bytes(data[: len(data) * 2 // 3])
    trace = read(path)
    assert not trace.complete
    assert codes(trace)["partial_file"] == 1
    rows = run.kernel_rows(trace)
    assert 0 < len(rows) < 63
    assert set(rows) < set(run.expected_kernels())


def test_files_of_two_processes_in_one(tmp_path: Path) -> None:
    text = (SAMPLES / "same_run_kernel_trace.csv").read_text()
    (tmp_path / "both_kernel_trace.csv").write_text(text + text)
    trace = read(tmp_path / "both_kernel_trace.csv")
    assert trace.gpu_ops.height == 126
    assert codes(trace)["several_processes"] == 2


def rows_of(name: str) -> list[dict[str, str]]:
    with (REAL / name).open(newline="") as handle:
        return list(csv.DictReader(handle))


@needs_shared
@pytest.mark.parametrize(
    ("name", "count"),
    [
        ("docs_kernel_trace", 9),
        ("docs_kernel_trace_truncated", 4),
        ("docs_rocm62_kernel_trace", 7),
        ("llamacpp_decode_kernel_trace", 144),
    ],
)
def test_real_kernel_traces_row_by_row(name: str, count: int) -> None:
    trace, rows = read(REAL / f"{name}.csv"), rows_of(f"{name}.csv")
    expected = [
        (
            r["Kernel_Name"],
            *(int(r[c]) for c in ("Start_Timestamp", "End_Timestamp")),
            int(r["Agent_Id"].removeprefix("Agent ")),
            *(int(r[c]) if c in r else None for c in ("Queue_Id", "Stream_Id", "Correlation_Id")),
            *(int(r[f"{what}_Size_{axis}"]) for what in ("Grid", "Workgroup") for axis in "XYZ"),
        )
        for r in rows
    ]
    sizes = [f"{what}_{axis}" for what in ("grid", "block") for axis in "xyz"]
    columns = ["name", "start_ns", "end_ns", "device", "queue", "stream", "correlation", *sizes]
    found = trace.gpu_ops.select(columns).rows()
    assert sorted(found, key=str) == sorted(expected, key=str)
    assert [r[1] for r in found] == sorted(r[1] for r in expected)
    assert len(found) == count


@needs_shared
def test_real_decode_launches_by_correlation() -> None:
    trace = read(REAL / "llamacpp_decode_kernel_trace.csv")
    calls = {r["Correlation_Id"]: r["Function"] for r in rows_of("llamacpp_decode_hip_api_trace.csv")}
    kernels = rows_of("llamacpp_decode_kernel_trace.csv")
    expected = Counter(calls[r["Correlation_Id"]] for r in kernels if r["Correlation_Id"] in calls)
    linked = trace.gpu_ops.join(trace.calls, on="launch_id", how="inner")
    assert Counter(linked["name_right"].cast(pl.String)) == expected
    assert expected.total() == 27
    assert codes(trace)["orphan_ops"] == 144 - 27
    assert trace.calls.height == len(rows_of("llamacpp_decode_hip_api_trace.csv"))


@needs_shared
def test_real_files_of_other_runs_beside_it_are_left_out() -> None:
    trace = read(REAL / "docs_kernel_trace.csv")
    assert (trace.calls.height, trace.markers.height, codes(trace)["sibling_of_other_run"]) == (0, 0, 3)


@needs_shared
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("docs_counter_collection.csv", "4 rows, one per counter, of 4 dispatches"),
        ("llamacpp_decode_counter_collection.csv", "34 rows"),
        ("docs_hip_trace.csv", r"docs_kernel_trace\.csv"),
        ("docs_marker_api_trace.csv", r"docs_kernel_trace\.csv"),
        ("docs_memory_copy_trace.csv", "memory copies, no kernels"),
        ("docs_rocpd-to-csv.csv", "no kernels"),
        ("llamacpp_decode_hip_api_trace.csv", r"llamacpp_decode_kernel_trace\.csv"),
    ],
)
def test_real_files_without_a_timeline_are_refused(name: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        read(REAL / name)


@needs_shared
def test_real_siblings_read_as_the_csv_module_reads_them(tmp_path: Path) -> None:
    """The documentation's markers and copies beside a kernel of their own time."""
    markers, copies = rows_of("docs_marker_api_trace.csv"), rows_of("docs_memory_copy_trace.csv")
    shutil.copy(REAL / "docs_marker_api_trace.csv", tmp_path / "a_marker_api_trace.csv")
    shutil.copy(REAL / "docs_memory_copy_trace.csv", tmp_path / "b_memory_copy_trace.csv")
    first = read(
        written(
            tmp_path,
            row(start=markers[0]["Start_Timestamp"], end=markers[0]["End_Timestamp"] + "1", agent="4"),
            name="a_kernel_trace.csv",
        )
    )
    expected = sorted((int(r["Start_Timestamp"]), int(r["End_Timestamp"]), r["Function"]) for r in markers)
    assert sorted(first.markers.select("start_ns", "end_ns", "name").rows()) == expected
    second = read(
        written(
            tmp_path,
            row(start=copies[0]["Start_Timestamp"], end=copies[0]["End_Timestamp"], agent="4"),
            name="b_kernel_trace.csv",
        )
    )
    moved = second.gpu_ops.filter(pl.col("kind") == "memcpy").select("name", "device", "start_ns", "end_ns").rows()
    assert moved == [(r["Direction"], 4, int(r["Start_Timestamp"]), int(r["End_Timestamp"])) for r in copies]
