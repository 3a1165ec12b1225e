"""hipprof databases: many rows of one _Index, names by id, values as text, several workers."""

from __future__ import annotations

import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path

import polars as pl
import pytest
from sample_traces.make.hipprof_database import TWO_WORKERS_TRUTH as TWO

import same_run as run
from trace_budget.contracts import ReadOptions
from trace_budget.errors import InputError
from trace_budget.inputs.detect import detect
from trace_budget.readers.hipprof.hipprof_db import READER
from trace_budget.schema.trace import Trace

SAMPLES = run.SAMPLES / "hipprof_db"
KEY = "4242_1712195495"


def read(path: Path) -> Trace:
    assert detect(path).name == "hipprof_db"
    return READER.read(path, ReadOptions())


def changed(tmp_path: Path, *statements: str) -> Path:
    path = tmp_path / "changed.db"
    path.write_bytes((SAMPLES / "same_run.db").read_bytes())
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement.replace("<key>", KEY))
    return path


def test_everything_the_run_holds() -> None:
    trace = read(SAMPLES / "same_run.db")
    assert run.kernel_rows(trace) == run.expected_kernels()
    assert run.call_rows(trace) == run.expected_calls()
    assert run.marker_rows(trace) == run.expected_markers()
    assert run.launched_kernels(trace) == [21, 21, 21]
    assert run.launch_starts_of_copies(trace) == [c.start_ns for c in run.RUN.calls if c.kind == "memcpy"]
    assert (trace.vendor, trace.dispatch_gap_in_duration) == ("Hygon", True)
    assert trace.caveats == ()


def test_copies_keep_their_times_though_stored_as_text() -> None:
    with closing(sqlite3.connect(SAMPLES / "same_run.db")) as connection:
        types = connection.execute(f"SELECT DISTINCT typeof(BeginNs) FROM HIPCOPY_{KEY}").fetchall()  # noqa: S608
    assert types == [("text",)]
    copies = read(SAMPLES / "same_run.db").gpu_ops.filter(pl.col("kind") == "memcpy")
    assert copies.select("start_ns", "end_ns").rows() == run.expected_copies()
    assert set(copies.select("name", "bytes", "queue", "stream", "device").rows()) == {
        ("CopyHostToDevice", 8_192, 2, 2, 0)
    }


def test_two_workers_keep_their_names_and_launches_apart() -> None:
    trace = read(SAMPLES / "two_workers.db")
    kernels = trace.gpu_ops.filter(pl.col("kind") == "kernel")
    for pid, device in TWO["processes"].items():
        mine = kernels.filter(pl.col("pid") == int(pid))
        assert set(mine["device"]) == {device}
        shift = TWO["shift_ns"] if device else 0
        assert mine.select("name", "start_ns", "end_ns").rows() == run.expected_kernels(shift)
    owned = trace.gpu_ops.join(trace.calls, on="launch_id", how="inner", suffix="_of_call")
    assert (owned["pid"] == owned["pid_of_call"]).all()
    assert run.launched_kernels(trace) == [21] * 6
    assert [(c.code, c.count) for c in trace.caveats] == [("several_processes", 2)]


def test_a_call_without_a_name_is_what_its_work_says(tmp_path: Path) -> None:
    trace = read(changed(tmp_path, "UPDATE HIP_<key> SET args = '(stream=0x7)'"))
    kinds = [kind if kind != "sync" else "other" for kind, _, _ in run.expected_calls()]
    assert [kind for kind, _, _ in run.call_rows(trace)] == kinds
    assert set(trace.calls["name"].cast(pl.String)) == {"HIP call 13", "HIP call 249", "HIP call 204"}


@pytest.mark.parametrize("args", ['{"Name": "hipGraphLaunch", "stream": 7}', "hipGraphLaunch ( stream=0x7 )"])
def test_api_names_in_other_spellings_of_args(tmp_path: Path, args: str) -> None:
    trace = read(changed(tmp_path, f"UPDATE HIP_<key> SET args = '{args}' WHERE Name = 249"))  # noqa: S608
    assert Counter(trace.calls["name"].cast(pl.String))["hipGraphLaunch"] == 3
    assert run.launched_kernels(trace) == [21, 21, 21]


@pytest.mark.parametrize(
    ("kind", "api", "found"),
    [
        ("'SET'", "hipMemcpyAsync", ("memset", "Memset")),
        ("'D2D'", "hipMemcpyAsync", ("memcpy", "CopyDeviceToDevice")),
        ("3", "hipMemcpyAsync", ("memcpy", "CopyDeviceToDevice")),
        ("9", "hipMemsetAsync", ("memset", "Memset")),
        ("9", "hipMemcpyAsync", ("memcpy", "Copy kind 9")),
    ],
)
def test_kinds_of_copies(tmp_path: Path, kind: str, api: str, found: tuple[str, str]) -> None:
    kinds = f"UPDATE HIPCOPY_<key> SET Kind = {kind}"  # noqa: S608
    names = f"UPDATE HIP_<key> SET args = '{api}(' WHERE Name = 13"  # noqa: S608
    path = changed(tmp_path, kinds, names)
    ops = read(path).gpu_ops.filter(pl.col("kind") != "kernel").select(pl.col("kind", "name").cast(pl.String))
    assert set(ops.rows()) == {found}


def test_names_stored_as_text_and_ids_without_a_name(tmp_path: Path) -> None:
    texts = "UPDATE HIPOPS_<key> SET Name = 'plain_name' WHERE Name = '1'"
    trace = read(changed(tmp_path, texts, "DELETE FROM STR_TABLE WHERE STR_ID = 2 AND TYPE = 6"))
    names = set(trace.gpu_ops["name"].cast(pl.String))
    assert {"plain_name", "kernel 2"} <= names
    assert not {"rms_norm_kernel", "gemm_bf16_MT64x32x64", "not a kernel"} & names


def test_a_string_table_without_keys(tmp_path: Path) -> None:
    trace = read(changed(tmp_path, "ALTER TABLE STR_TABLE DROP COLUMN CONFIG_KEY"))
    assert run.kernel_rows(trace) == run.expected_kernels()


def test_without_derived_tables_or_kernels(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"tables HIPOPS_…: holds no kernels.*hipprof --hip-trace"):
        read(changed(tmp_path, "DELETE FROM HIPOPS_<key>"))
