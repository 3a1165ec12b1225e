"""rocpd databases: schema versions, merged processes, killed writers, and a real run against its own JSON."""

from __future__ import annotations

import gzip
import json
import shutil
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from sample_traces.make import rocpd_database

import same_run as run
from shared_traces import SHARED, needs_shared
from trace_budget.contracts import ReadOptions
from trace_budget.errors import InputError
from trace_budget.inputs.detect import detect
from trace_budget.readers.rocprof.rocpd import READER
from trace_budget.schema.trace import Trace

ROCPD = run.SAMPLES / "rocpd"
SUFFIX = rocpd_database.GUID.replace("-", "_")


def read(path: Path) -> Trace:
    assert detect(path).name == "rocpd"
    return READER.read(path, ReadOptions())


@contextmanager
def changed(tmp_path: Path, sample: str = "no_views.db") -> Iterator[tuple[Path, sqlite3.Connection]]:
    path = tmp_path / "changed.db"
    shutil.copyfile(ROCPD / sample, path)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        yield path, connection


@pytest.mark.parametrize("sample", ["same_run.db", "no_views.db", "schema_4.db"])
def test_everything_the_run_holds(sample: str) -> None:
    trace = read(ROCPD / sample)
    assert run.kernel_rows(trace) == run.expected_kernels()
    assert run.call_rows(trace) == run.expected_calls()
    assert run.marker_rows(trace) == run.expected_markers()
    assert run.launched_kernels(trace) == [21, 21, 21]
    assert run.launch_starts_of_copies(trace) == [c.start_ns for c in run.RUN.calls if c.kind == "memcpy"]
    assert (trace.device_name, trace.vendor) == ("AMD Instinct MI300X", "AMD")
    assert trace.dispatch_gap_in_duration
    assert trace.caveats == ()


@pytest.mark.parametrize("sample", ["same_run.db", "schema_4.db"])
def test_places_sizes_and_bytes(sample: str) -> None:
    ops = read(ROCPD / sample).gpu_ops
    attention = ops.filter(pl.col("name") == "paged_attention_kernel").row(0, named=True)
    assert [attention[f"grid_{axis}"] for axis in "xyz"] == [32 * 256, 8, 1]
    assert [attention[f"block_{axis}"] for axis in "xyz"] == [256, 1, 1]
    assert (attention["device"], attention["stream"], attention["queue"], attention["pid"]) == (4, 7, 2, 4242)
    copy = ops.filter(pl.col("kind") == "memcpy").row(0, named=True)
    assert (copy["name"], copy["bytes"], copy["device"]) == ("MEMORY_COPY_HOST_TO_DEVICE", 8_192, 4)
    assert attention["correlation"] == 12


def test_two_processes_never_share_launches() -> None:
    trace = read(ROCPD / "two_processes.db")
    assert [(c.code, c.count) for c in trace.caveats] == [("several_processes", 2)]
    owners = trace.gpu_ops.join(trace.calls, on="launch_id", how="left", suffix="_of_call")
    assert (owners["pid"] == owners["pid_of_call"]).all()
    assert Counter(trace.gpu_ops.select("pid", "device").rows()) == {(4242, 4): 66, (4343, 5): 66}
    assert run.launched_kernels(trace) == [21] * 6
    second = trace.gpu_ops.filter((pl.col("pid") == 4343) & (pl.col("kind") == "kernel"))
    assert second.select("name", "start_ns", "end_ns").rows() == run.expected_kernels(777)


def test_tables_without_a_guid_suffix_are_told_apart_by_their_column(tmp_path: Path) -> None:
    with changed(tmp_path, "two_processes.db") as (path, connection):
        names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'view'")]
        for name in names:
            connection.execute(f"DROP VIEW `{name}`")
        for base in (name for name in names if name.startswith("rocpd_")):
            tables = [f"{base}_{guid.replace('-', '_')}" for guid in (rocpd_database.GUID, rocpd_database.OTHER_GUID)]
            both = " UNION ALL ".join(f"SELECT * FROM `{table}`" for table in tables)  # noqa: S608
            connection.execute(f"CREATE TABLE `{base}` AS {both}")
            for table in tables:
                connection.execute(f"DROP TABLE `{table}`")
    trace = read(path)
    assert run.launched_kernels(trace) == [21] * 6
    assert Counter(trace.gpu_ops.select("pid", "device").rows()) == {(4242, 4): 66, (4343, 5): 66}
    assert run.marker_rows(trace)[::2] == run.expected_markers()


def test_a_writer_without_internal_ids_is_linked_by_its_external_ones(tmp_path: Path) -> None:
    with changed(tmp_path) as (path, connection):
        connection.execute(f"UPDATE rocpd_event_{SUFFIX} SET correlation_id = stack_id, stack_id = 0")  # noqa: S608
    assert run.launched_kernels(read(path)) == [21, 21, 21]


def test_names_fall_back_from_display_to_kernel_name_to_number(tmp_path: Path) -> None:
    with changed(tmp_path) as (path, connection):
        symbols = f"rocpd_info_kernel_symbol_{SUFFIX}"
        connection.execute(f"UPDATE {symbols} SET display_name = '' WHERE id = 8")  # noqa: S608
        connection.execute(f"DELETE FROM {symbols} WHERE id = 9")  # noqa: S608
    names = set(read(path).gpu_ops["name"].cast(pl.String))
    assert {"rms_norm_kernel.kd", "kernel symbol 9"} <= names
    assert "rms_norm_kernel" not in names


def test_graph_nodes_are_kept_where_the_schema_has_them(tmp_path: Path) -> None:
    with changed(tmp_path) as (path, connection):
        dispatches = f"rocpd_kernel_dispatch_{SUFFIX}"
        connection.execute(f"ALTER TABLE {dispatches} ADD COLUMN graph_node_id INTEGER DEFAULT 0")
        connection.execute(f"UPDATE {dispatches} SET graph_node_id = 5 WHERE id = 3")  # noqa: S608
    ops = read(path).gpu_ops
    assert ops["graph_node_id"].drop_nulls().to_list() == [5]


def test_times_that_cannot_be_are_told(tmp_path: Path) -> None:
    with changed(tmp_path) as (path, connection):
        dispatches = f"rocpd_kernel_dispatch_{SUFFIX}"
        connection.execute(f"UPDATE {dispatches} SET end = start - 1 WHERE id = 3")  # noqa: S608
        connection.execute(f"UPDATE {dispatches} SET start = 0, end = 0 WHERE id = 4")  # noqa: S608
    trace = read(path)
    assert {(c.code, c.count) for c in trace.caveats} == {("bad_duration", 1), ("bad_start", 1)}
    assert trace.gpu_ops.height == 66


def test_a_file_left_by_a_killed_writer(tmp_path: Path) -> None:
    at = tmp_path / "at"
    at.mkdir()
    shutil.copyfile(ROCPD / "no_views.db", at / "a_results.db")
    with closing(sqlite3.connect(at / "a_results.db", isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute(f"DELETE FROM rocpd_memory_copy_{SUFFIX}")  # noqa: S608
        shutil.copytree(at, tmp_path / "left", ignore=shutil.ignore_patterns("*-shm"))
    trace = read(tmp_path / "left" / "a_results.db")
    assert trace.gpu_ops.height == 63
    assert not trace.complete
    assert "partial_file" in {c.code for c in trace.caveats}


@pytest.mark.parametrize(
    ("sample", "told"),
    [
        ("rocpd_truncated.db", "cut short"),
        ("rocpd_no_dispatches.db", "rocpd_kernel_dispatch: holds no kernel dispatches .*rocprofv3 --kernel-trace"),
    ],
)
def test_what_cannot_be_read_is_refused_in_one_line(sample: str, told: str) -> None:
    with pytest.raises(InputError, match=told) as caught:
        read(run.SAMPLES / "broken" / sample)
    assert "\n" not in caught.value.line()


def test_counters_on_dispatches_are_refused(tmp_path: Path) -> None:
    with changed(tmp_path) as (path, connection):
        event = f"(SELECT event_id FROM rocpd_kernel_dispatch_{SUFFIX} LIMIT 1)"  # noqa: S608
        connection.execute(f"INSERT INTO rocpd_pmc_event_{SUFFIX} VALUES (1, '', {event}, 1, 2.0, '{{}}')")  # noqa: S608
    with pytest.raises(InputError, match="hardware counters"):
        read(path)


def mi350_json() -> tuple[dict[int, str], dict[int, dict[str, Any]]]:
    document = json.loads(gzip.decompress((SHARED / "rocprofv3_json/mi350_train_results.json.gz").read_bytes()))
    tool = document["rocprofiler-sdk-tool"][0]
    names = {s["kernel_id"]: s["formatted_kernel_name"] for s in tool["kernel_symbols"]}
    dispatches = tool["buffer_records"]["kernel_dispatch"]
    return names, {row["dispatch_info"]["dispatch_id"]: row for row in dispatches}


@needs_shared
def test_a_real_run_agrees_with_its_json_op_by_op() -> None:
    path = SHARED / "rocpd/mi350_subset.db"
    names, dispatches = mi350_json()
    with closing(sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)) as connection:
        ids = [row[0] for row in connection.execute("SELECT dispatch_id FROM rocpd_kernel_dispatch ORDER BY start, id")]
    ops = read(path).gpu_ops
    assert ops.height == len(ids) == 2_000
    expected = []
    for row in (dispatches[number] for number in ids):
        info = row["dispatch_info"]
        sizes = [info[size][axis] for size in ("grid_size", "workgroup_size") for axis in "xyz"]
        place = (info["queue_id"]["handle"], row["stream_id"]["handle"])
        expected.append((names[info["kernel_id"]], row["start_timestamp"], row["end_timestamp"], *place, *sizes))
    columns = ["name", "start_ns", "end_ns", "queue", "stream", *(f"{s}_{a}" for s in ("grid", "block") for a in "xyz")]
    found = ops.select(pl.col("name").cast(pl.String), *columns[1:]).rows()
    assert Counter(found) == Counter(expected)
    assert [row[1] for row in found] == [row[1] for row in expected]


@needs_shared
def test_a_real_run_has_the_sums_that_sql_says() -> None:
    path = SHARED / "rocpd/mi350_subset.db"
    query = "SELECT queue_id, COUNT(*), SUM(end - start) FROM rocpd_kernel_dispatch GROUP BY queue_id"
    with closing(sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)) as connection:
        expected = {queue: (count, total) for queue, count, total in connection.execute(query)}
    ops = read(path).gpu_ops
    sums = ops.group_by("queue").agg(pl.len(), (pl.col("end_ns") - pl.col("start_ns")).sum().alias("total"))
    assert {queue: (count, total) for queue, count, total in sums.rows()} == expected
