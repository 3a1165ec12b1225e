"""RPD databases: graph kernels that RPD's own views leave out, schemas 2 and 3, and two real runs against plain SQL."""

from __future__ import annotations

import gzip
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path

import polars as pl
import pytest
from sample_traces.make.rpd_database import ODD_ROWS_TRUTH as ODD

import same_run as run
from shared_traces import SHARED, needs_shared
from trace_budget.contracts import ReadOptions
from trace_budget.errors import InputError
from trace_budget.inputs.detect import detect
from trace_budget.readers.rpd.rpd import READER
from trace_budget.schema.trace import Trace

RPD = run.SAMPLES / "rpd"
COPIES = ("CopyHostToDevice", "CopyDeviceToHost", "CopyDeviceToDevice")


def read(path: Path) -> Trace:
    assert detect(path).name == "rpd"
    return READER.read(path, ReadOptions())


def sql(path: Path, query: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)) as connection:
        return connection.execute(query).fetchall()


def by_kind(trace: Trace) -> dict[str, int]:
    return dict(trace.gpu_ops.group_by(pl.col("kind").cast(pl.String)).len().rows())


@pytest.mark.parametrize("sample", ["same_run.rpd", "schema_3.rpd"])
def test_everything_the_run_holds(sample: str) -> None:
    trace = read(RPD / sample)
    assert run.kernel_rows(trace) == run.expected_kernels()
    assert run.call_rows(trace) == run.expected_calls()
    assert run.marker_rows(trace) == run.expected_markers()
    assert run.launched_kernels(trace) == [21, 21, 21]
    assert run.launch_starts_of_copies(trace) == [c.start_ns for c in run.RUN.calls if c.kind == "memcpy"]
    assert trace.vendor == "AMD"
    assert trace.caveats == ()


def test_rpds_own_view_would_miss_the_graph() -> None:
    assert sql(RPD / "same_run.rpd", "SELECT COUNT(*) FROM kernel") == [(0,)]
    assert by_kind(read(RPD / "same_run.rpd")) == {"kernel": 63, "memcpy": 3}


def test_odd_rows_are_kept_left_out_and_told() -> None:
    trace = read(RPD / "odd_rows.rpd")
    assert by_kind(trace) == {"kernel": ODD["kernels"], "memcpy": ODD["memcpys"], "memset": ODD["memsets"]}
    assert {c.code: c.count for c in trace.caveats} == {
        "barriers_left_out": ODD["barriers_left_out"],
        "bad_start": ODD["without_start"],
        "bad_duration": ODD["without_end"],
        "orphan_ops": ODD["orphans"],
    }
    kernels = trace.gpu_ops.filter(pl.col("kind") == "kernel")
    assert (kernels["end_ns"] - kernels["start_ns"]).sum() == ODD["kernel_sum_ns"]
    assert [name for name, _, _ in run.marker_rows(trace)] == ["range ?[31mred"]


def test_names_and_launch_facts_of_odd_rows() -> None:
    ops = read(RPD / "odd_rows.rpd").gpu_ops.with_columns(pl.col("name").cast(pl.String))
    assert ops.filter(pl.col("kind") == "memcpy")["name"].to_list() == ["CopyDeviceToDevice"]
    assert ops.filter(pl.col("kind") == "memset")["name"].to_list() == ["FillBuffer"]
    gemms = ops.filter(pl.col("name") == "gemm_bf16_MT64x32x64")
    assert gemms.select("grid_x", "block_x", "stream").rows() == [(72 * 256, 256, 7), (None, None, None)]
    assert set(ops.select("device", "queue").rows()) == {(2, 2)}


def test_without_operations_it_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.rpd"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("CREATE TABLE rocpd_op (id, gpuId, queueId, start, end, description_id, opType_id)")
        connection.execute("CREATE TABLE rocpd_api (id, pid, tid, start, end, apiName_id, args_id)")
    with pytest.raises(InputError, match=r"table rocpd_op: holds no GPU operations"):
        read(path)


@pytest.fixture(scope="module")
def vllm(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Trace]:
    """The real run, unpacked for SQL, and what the reader makes of the packed file."""
    packed = SHARED / "rpd/vllm_fp8_graph.rpd.gz"
    path = tmp_path_factory.mktemp("rpd") / "vllm.rpd"
    path.write_bytes(gzip.decompress(packed.read_bytes()))
    return path, read(packed)


@needs_shared
def test_real_graph_run_every_operation(vllm: tuple[Path, Trace]) -> None:
    path, trace = vllm
    expected = sql(
        path,
        "SELECT CASE d.string WHEN '' THEN t.string ELSE d.string END, o.start, o.end, o.gpuId, o.queueId"
        " FROM rocpd_op o JOIN rocpd_string d ON d.id = o.description_id JOIN rocpd_string t ON t.id = o.opType_id",
    )
    found = trace.gpu_ops.select(pl.col("name").cast(pl.String), "start_ns", "end_ns", "device", "queue").rows()
    assert len(found) == 10_124
    assert Counter(found) == Counter(expected)


@needs_shared
def test_real_graph_run_kinds(vllm: tuple[Path, Trace]) -> None:
    path, trace = vllm
    types = dict(
        sql(path, "SELECT t.string, COUNT(*) FROM rocpd_op JOIN rocpd_string t ON t.id = opType_id GROUP BY 1")
    )
    assert by_kind(trace) == {
        "kernel": types["Task"] + types["KernelExecution"],
        "memcpy": sum(types[name] for name in COPIES),
    }
    assert sql(path, "SELECT COUNT(*) FROM kernel") == [(1_228,)]


@needs_shared
def test_real_graph_run_20_launches_of_418_operations(vllm: tuple[Path, Trace]) -> None:
    _, trace = vllm
    launches = trace.calls.filter(pl.col("kind") == "graph_launch")["launch_id"]
    owned = trace.gpu_ops.group_by("launch_id").len()
    assert launches.len() == 20
    assert owned.filter(pl.col("launch_id").is_in(launches.to_list()))["len"].to_list() == [418] * 20
    assert trace.gpu_ops["launch_id"].null_count() == 0


@needs_shared
def test_real_graph_run_links_every_operation_to_the_call_sql_says(vllm: tuple[Path, Trace]) -> None:
    path, trace = vllm
    links = "rocpd_api_ops l JOIN rocpd_op o ON o.id = l.op_id JOIN rocpd_api a ON a.id = l.api_id"
    query = f"SELECT o.start, o.end, a.start FROM {links}"  # noqa: S608
    linked = trace.gpu_ops.join(trace.calls.select("launch_id", called_ns="start_ns"), on="launch_id", how="left")
    assert Counter(linked.select("start_ns", "end_ns", "called_ns").rows()) == Counter(sql(path, query))


@needs_shared
def test_real_graph_run_ranges_and_calls(vllm: tuple[Path, Trace]) -> None:
    path, trace = vllm
    ranges = sql(
        path,
        "SELECT x.string, a.start, a.end FROM rocpd_api a JOIN rocpd_string n ON n.id = a.apiName_id"
        " JOIN rocpd_string x ON x.id = a.args_id WHERE n.string = 'UserMarker' AND a.end != a.start",
    )
    assert Counter(run.marker_rows(trace)) == Counter(ranges)
    others = "SELECT COUNT(*) FROM rocpd_api JOIN rocpd_string n ON n.id = apiName_id WHERE n.string != 'UserMarker'"
    assert sql(path, others) == [(trace.calls.height,)]


@needs_shared
def test_real_eager_run_sizes_bytes_and_streams() -> None:
    path = SHARED / "rpd/matmul.rpd"
    trace = read(path)
    assert by_kind(trace) == {"kernel": 29, "memcpy": 55, "memset": 1}
    sizes = sql(
        path,
        "SELECT o.start, k.gridX, k.gridY, k.gridZ, k.workgroupX, k.workgroupY, k.workgroupZ FROM rocpd_kernelapi k"
        " JOIN rocpd_api_ops l ON l.api_id = k.api_ptr_id JOIN rocpd_op o ON o.id = l.op_id",
    )
    kernels = trace.gpu_ops.filter(pl.col("kind") == "kernel")
    columns = ["start_ns", *(f"{s}_{a}" for s in ("grid", "block") for a in "xyz")]
    assert Counter(kernels.select(columns).rows()) == Counter(sizes)
    copied = "SELECT SUM(size) FROM rocpd_copyapi c JOIN rocpd_api_ops l ON l.api_id = c.api_ptr_id"
    assert sql(path, copied) == [(trace.gpu_ops.filter(pl.col("kind") != "kernel")["bytes"].sum(),)]
    assert set(kernels["stream"]) == {0}
