"""rocprof v1 databases: dispatches listed twice, barriers, counters, and a real run against its CSV."""

from __future__ import annotations

import csv
import sqlite3
from contextlib import closing
from pathlib import Path

import polars as pl
import pytest

import same_run as run
from shared_traces import SHARED, needs_shared
from trace_budget.contracts import ReadOptions
from trace_budget.errors import InputError
from trace_budget.inputs.detect import detect
from trace_budget.readers.rocprof.rocprof_v1_db import READER
from trace_budget.schema.trace import Trace

SAMPLE = run.SAMPLES / "rocprof_v1_db" / "same_run.db"


def read(path: Path) -> Trace:
    assert detect(path).name == "rocprof_v1_db"
    return READER.read(path, ReadOptions())


def changed(tmp_path: Path, *statements: str) -> Path:
    path = tmp_path / "changed.db"
    path.write_bytes(SAMPLE.read_bytes())
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)
    return path


def test_everything_the_run_holds() -> None:
    trace = read(SAMPLE)
    assert run.kernel_rows(trace) == run.expected_kernels()
    assert run.call_rows(trace) == run.expected_calls()
    assert run.marker_rows(trace) == run.expected_markers()
    assert run.launched_kernels(trace) == [21, 21, 21]
    assert run.launch_starts_of_copies(trace) == [c.start_ns for c in run.RUN.calls if c.kind == "memcpy"]
    assert trace.caveats == ()


def test_places_and_sizes() -> None:
    attention = read(SAMPLE).gpu_ops.filter(pl.col("name") == "paged_attention_kernel.kd").row(0, named=True)
    assert (attention["grid_x"], attention["grid_y"], attention["block_x"]) == (32 * 8 * 256, None, 256)
    assert (attention["device"], attention["queue"], attention["stream"], attention["pid"]) == (0, 2, 7, 4242)


@pytest.mark.parametrize(("table", "suffix"), [("KERN", ""), ("OPS", ".kd")])
def test_either_list_of_dispatches_is_enough(tmp_path: Path, table: str, suffix: str) -> None:
    trace = read(changed(tmp_path, f"DROP TABLE {table}"))
    assert run.kernel_rows(trace) == run.expected_kernels()
    assert f"lm_head_gemm_kernel{suffix}" in set(trace.gpu_ops["name"].cast(pl.String))
    assert run.launched_kernels(trace) == ([21, 21, 21] if table == "KERN" else [0, 0, 0])


def test_a_dispatch_that_only_ops_knows_is_added(tmp_path: Path) -> None:
    trace = read(changed(tmp_path, 'DELETE FROM KERN WHERE "Index" = 5'))
    assert run.kernel_rows(trace) == run.expected_kernels()


def test_copies_numbered_by_another_series_are_not_linked(tmp_path: Path) -> None:
    trace = read(changed(tmp_path, 'UPDATE COPY SET "Index" = "Index" + 1'))
    assert run.launch_starts_of_copies(trace) == [None, None, None]
    assert [(c.code, c.count) for c in trace.caveats] == [("orphan_ops", 3)]


def test_a_counter_run_is_refused() -> None:
    with pytest.raises(InputError, match=r"table KERN: a performance-counter run.*counters SQ_WAVES"):
        read(run.SAMPLES / "broken" / "rocprof_v1_counters.db")


@pytest.mark.parametrize(
    ("statements", "told"),
    [
        (("ALTER TABLE KERN DROP COLUMN BeginNs", "DELETE FROM OPS"), "without timestamps"),
        (("DELETE FROM KERN", "DELETE FROM OPS"), "holds no kernels"),
    ],
)
def test_what_tells_nothing_is_refused(tmp_path: Path, statements: tuple[str, ...], told: str) -> None:
    with pytest.raises(InputError, match=f"{told}.*rocprof --hip-trace"):
        read(changed(tmp_path, *statements))


@pytest.mark.parametrize("rows", [True, False])
def test_kernels_of_a_hip_trace_stand_in_ops_alone(tmp_path: Path, rows: bool) -> None:
    untimed = 'CREATE TABLE K2 AS SELECT "Index", KernelName FROM KERN'
    emptied = () if rows else ("DELETE FROM K2",)
    trace = read(changed(tmp_path, untimed, *emptied, "DROP TABLE KERN", "ALTER TABLE K2 RENAME TO KERN"))
    assert run.kernel_rows(trace) == run.expected_kernels()
    assert run.launched_kernels(trace) == [21, 21, 21]


@needs_shared
def test_a_real_run_agrees_with_its_csv() -> None:
    with (SHARED / "rocprof_v1/results.csv").open(newline="") as handle:
        rows = list(csv.DictReader(handle))
    expected = [
        (r["KernelName"], int(r["BeginNs"]), int(r["EndNs"]), int(r["queue-id"]), int(r["grd"]), int(r["wgr"]))
        for r in sorted(rows, key=lambda r: int(r["BeginNs"]))
    ]
    trace = read(SHARED / "rocprof_v1/results.db")
    columns = (pl.col("name").cast(pl.String), "start_ns", "end_ns", "queue", "grid_x", "block_x")
    assert trace.gpu_ops.select(*columns).rows() == expected
    assert sum(end - start for _, start, end, *_ in expected) == 388_487
    assert trace.gpu_ops["launch_id"].to_list() == list(range(60))
