"""Nsight Systems exports: SQLite and Parquet, several processes, graphs recorded whole; real exports against SQL."""

from __future__ import annotations

import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from sample_traces.make.nsys_database import TWO_PROCESSES_TRUTH as TWO

import same_run as run
from shared_traces import SHARED, needs_shared
from trace_budget.contracts import ReadOptions
from trace_budget.errors import InputError
from trace_budget.inputs.detect import detect
from trace_budget.schema.trace import Trace

NSYS = run.SAMPLES / "nsys_sqlite"
REAL = SHARED / "nsys_sqlite"
RERECORD = "--cuda-graph-trace=node"


def read(path: Path) -> Trace:
    reader = detect(path)
    assert reader.name == ("nsys_parquetdir" if path.is_dir() else "nsys_sqlite")
    return reader.read(path, ReadOptions())


def sql(path: Path, query: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)) as connection:
        return connection.execute(query).fetchall()


def as_parquet(path: Path, folder: Path) -> Path:
    """The same tables as `nsys export --type parquetdir` lays them out."""
    folder.mkdir()
    with closing(sqlite3.connect(path)) as connection:
        for (table,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
            cursor = connection.execute(f"SELECT * FROM `{table}`")  # noqa: S608
            names = [column[0] for column in cursor.description]
            rows = cursor.fetchall()
            pl.DataFrame(rows, schema=names, orient="row", infer_schema_length=None).write_parquet(
                folder / f"{table}.parquet"
            )
    return folder


@pytest.fixture(scope="module", params=["sqlite", "parquet"])
def same(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Trace:
    path = NSYS / "same_run.sqlite"
    return read(path if request.param == "sqlite" else as_parquet(path, tmp_path_factory.mktemp("nsys") / "export"))


def test_everything_the_run_holds(same: Trace) -> None:
    assert run.kernel_rows(same) == run.expected_kernels()
    assert run.call_rows(same) == run.expected_calls()
    assert run.marker_rows(same) == run.expected_markers()
    assert run.launched_kernels(same) == [21, 21, 21]
    assert run.launch_starts_of_copies(same) == [c.start_ns for c in run.RUN.calls if c.kind == "memcpy"]
    assert (same.device_name, same.vendor, same.dispatch_gap_in_duration) == ("NVIDIA H100 80GB HBM3", "NVIDIA", False)
    assert same.caveats == ()


def test_places_sizes_and_graph_nodes(same: Trace) -> None:
    kernels = same.gpu_ops.filter(pl.col("kind") == "kernel")
    assert kernels["graph_node_id"].to_list() == [*range(1, 22)] * 3
    attention = kernels.filter(pl.col("name") == "paged_attention_kernel").row(0, named=True)
    assert [attention[f"grid_{axis}"] for axis in "xyz"] == [32, 8, 1]
    assert [attention[f"block_{axis}"] for axis in "xyz"] == [256, 1, 1]
    assert (attention["device"], attention["stream"], attention["pid"], attention["correlation"]) == (0, 7, 4242, 12)
    copy = same.gpu_ops.filter(pl.col("kind") == "memcpy").row(0, named=True)
    assert (copy["name"], copy["bytes"]) == ("[CUDA memcpy Host-to-Device]", 8_192)
    assert same.calls.select("pid", "tid").unique().rows() == [(4242, 4243)]


def test_equal_correlation_ids_of_two_processes_are_not_mixed() -> None:
    trace = read(NSYS / "two_processes.sqlite")
    owned = trace.gpu_ops.join(trace.calls, on="launch_id", how="inner", suffix="_of_call")
    assert (owned["pid"] == owned["pid_of_call"]).all()
    assert run.launched_kernels(trace) == [21] * 6
    kernels = trace.gpu_ops.filter(pl.col("kind") == "kernel")
    places = Counter(kernels.select(pl.col("pid").cast(pl.String), "device").rows())
    assert places == dict.fromkeys(TWO["processes"].items(), TWO["kernels_per_device"])
    shifted = kernels.filter(pl.col("device") == 1).select("name", "start_ns", "end_ns").rows()
    assert shifted == run.expected_kernels(TWO["shift_ns"])


def test_syncs_ranges_and_what_is_told_of_two_processes() -> None:
    trace = read(NSYS / "two_processes.sqlite")
    assert dict(trace.syncs.group_by(pl.col("kind").cast(pl.String)).len().rows()) == TWO["syncs"]
    wait = trace.syncs.filter(pl.col("kind") == "stream_wait").row(0, named=True)
    assert (wait["stream"], wait["wait_stream"], wait["wait_correlation"]) == (7, 9, 301)
    assert trace.syncs.filter(pl.col("kind") == "event_sync")["stream"].to_list() == [None]
    assert {c.code: c.count for c in trace.caveats} == {"open_ranges": 1, "orphan_ops": 1, "several_processes": 2}
    assert trace.markers.height == 6


@pytest.mark.parametrize(
    ("sample", "told"),
    [("nsys_graph_level_only.sqlite", "3 graph launches of 1002603 ns"), ("nsys_no_kernels.sqlite", "no GPU kernels")],
)
def test_what_cannot_be_read_is_refused_with_the_command(sample: str, told: str) -> None:
    with pytest.raises(InputError, match=told) as caught:
        read(run.SAMPLES / "broken" / sample)
    assert RERECORD in caught.value.line()
    assert "\n" not in caught.value.line()


def copied(sample: str, to: Path, *statements: str) -> Path:
    to.write_bytes((NSYS / sample).read_bytes())
    with closing(sqlite3.connect(to, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)
    return to


def test_a_graph_of_less_than_a_hundredth_is_a_caveat(tmp_path: Path) -> None:
    table = "CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start, end, deviceId, streamId, correlationId, globalPid)"
    graph = "INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (10, 9010, 0, 7, 999, 1)"
    trace = read(copied("same_run.sqlite", tmp_path / "a.sqlite", table, graph))
    assert [(c.code, c.count) for c in trace.caveats] == [("graph_kernels_missing", 1)]
    longer = "UPDATE CUPTI_ACTIVITY_KIND_GRAPH_TRACE SET end = 20010"
    with pytest.raises(InputError, match="whole CUDA graphs"):
        read(copied("same_run.sqlite", tmp_path / "b.sqlite", table, graph, longer))


def test_an_empty_table_of_kernels_is_refused(tmp_path: Path) -> None:
    path = copied("same_run.sqlite", tmp_path / "a.sqlite", "DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL")
    with pytest.raises(InputError, match="an empty table of kernels"):
        read(path)


def test_tables_that_were_never_made_are_no_error(tmp_path: Path) -> None:
    kept = "('StringIds', 'META_DATA_EXPORT', 'CUPTI_ACTIVITY_KIND_KERNEL')"
    with closing(sqlite3.connect(NSYS / "same_run.sqlite")) as connection:
        query = f"SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT IN {kept}"  # noqa: S608
        drops = [f"DROP TABLE `{name}`" for (name,) in connection.execute(query)]
    trace = read(copied("same_run.sqlite", tmp_path / "a.sqlite", *drops))
    assert run.kernel_rows(trace) == run.expected_kernels()
    assert [c.code for c in trace.caveats] == ["no_calls"]
    assert trace.device_name is None


def test_a_damaged_parquet_table_is_named(tmp_path: Path) -> None:
    folder = as_parquet(NSYS / "same_run.sqlite", tmp_path / "export")
    table = folder / "CUPTI_ACTIVITY_KIND_KERNEL.parquet"
    table.write_bytes(table.read_bytes()[:-40])
    with pytest.raises(InputError, match=r"CUPTI_ACTIVITY_KIND_KERNEL\.parquet: cannot be read"):
        read(folder)


def test_a_folder_without_nsys_tables_is_no_format(tmp_path: Path) -> None:
    pl.DataFrame({"a": [1]}).write_parquet(tmp_path / "other.parquet")
    with pytest.raises(InputError, match=r"folder of Parquet files with tables other"):
        detect(tmp_path)


@needs_shared
@pytest.mark.parametrize(
    ("name", "kernels", "total_ns"), [("before", 4_010, 535_200_650), ("after", 3_587, 488_835_406)]
)
def test_real_exports_of_two_gpus(name: str, kernels: int, total_ns: int) -> None:
    path = REAL / f"mfu_2gpu_{name}.sqlite"
    rows = read(path).gpu_ops.filter(pl.col("kind") == "kernel")
    assert (rows.height, (rows["end_ns"] - rows["start_ns"]).sum(), rows["device"].n_unique()) == (kernels, total_ns, 2)
    expected = sql(
        path,
        "SELECT k.deviceId, k.streamId, s.value, k.start, k.end, k.gridX, k.blockX FROM CUPTI_ACTIVITY_KIND_KERNEL k"
        " JOIN StringIds s ON s.id = k.demangledName",
    )
    columns = ("device", "stream", pl.col("name").cast(pl.String), "start_ns", "end_ns", "grid_x", "block_x")
    assert Counter(rows.select(*columns).rows()) == Counter(expected)


@needs_shared
def test_real_export_links_calls_of_the_right_process() -> None:
    path = REAL / "mfu_2gpu_before.sqlite"
    trace = read(path)
    expected = sql(
        path,
        "SELECT k.start, r.start FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN CUPTI_ACTIVITY_KIND_RUNTIME r"
        " ON r.correlationId = k.correlationId AND (r.globalTid >> 24) = (k.globalPid >> 24)",
    )
    kernels = trace.gpu_ops.filter(pl.col("kind") == "kernel")
    linked = kernels.join(trace.calls.select("launch_id", called_ns="start_ns"), on="launch_id", how="inner")
    assert Counter(linked.select("start_ns", "called_ns").rows()) == Counter(expected)
    assert kernels["launch_id"].null_count() == 4_010 - len(expected)


@needs_shared
def test_real_export_ranges_by_text_and_by_id() -> None:
    path = REAL / "mfu_2gpu_before.sqlite"
    expected = sql(
        path,
        "SELECT COALESCE(e.text, s.value), e.start, e.end FROM NVTX_EVENTS e LEFT JOIN StringIds s ON s.id = e.textId"
        " WHERE e.eventType IN (59, 60) AND e.end IS NOT NULL",
    )
    assert Counter(run.marker_rows(read(path))) == Counter(expected)


@needs_shared
def test_real_minimal_schema_and_graph_level_export() -> None:
    healthy = read(REAL / "healthy_1pct.sqlite")
    assert sql(REAL / "healthy_1pct.sqlite", "SELECT COUNT(*), SUM(end - start) FROM CUPTI_ACTIVITY_KIND_KERNEL") == [
        (healthy.gpu_ops.height, (healthy.gpu_ops["end_ns"] - healthy.gpu_ops["start_ns"]).sum())
    ]
    assert healthy.gpu_ops["launch_id"].null_count() == 0
    with pytest.raises(InputError, match=f"2 graph launches of 3104 ns .*{RERECORD}"):
        read(REAL / "graph_level_only.sqlite")
