"""What is written of a run can be read back to the same times, and shows no more than its flavour does."""

from __future__ import annotations

import csv
import gzip
import json
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from gpu_simulator import KINDS, Shown, random_program, simulate, to_kineto, to_rocprofv3_csv, to_trace
from gpu_simulator.as_files import BASE_NS


def events_of(path: Path) -> list[dict[str, Any]]:
    data = path.read_bytes()
    document = json.loads(gzip.decompress(data) if path.suffix == ".gz" else data, parse_float=Decimal)
    events: list[dict[str, Any]] = document["traceEvents"]
    return events


def ns(us: Decimal) -> int:
    return int(us * 1000)


@pytest.mark.parametrize("kind", KINDS)
def test_the_trace_holds_the_ops_of_the_run(kind: str) -> None:
    run = simulate(random_program(kind, 7))
    trace = to_trace(run)
    mine = [i for i, _ in run.ops()]
    assert trace.gpu_ops.height == len(mine)
    assert sorted(trace.gpu_ops["end_ns"]) == sorted(run.node_end_ns[mine].tolist())
    assert trace.gpu_ops["launch_id"].null_count() == 0
    launched = trace.gpu_ops.join(trace.calls, on="launch_id", suffix="_call")
    assert (launched["start_ns"] >= launched["start_ns_call"]).all()
    assert launched["kind_call"].cast(pl.String).is_in(["launch", "graph_launch", "memcpy"]).all()
    assert trace.markers.height == len(run.program.ranks[0])


def test_a_rocm_trace_books_gaps_into_kernels_and_tells_no_nodes() -> None:
    run = simulate(random_program("rocm_streamed_graph", 4))
    trace = to_trace(run)
    assert trace.dispatch_gap_in_duration
    assert trace.gpu_ops["stream"].n_unique() == 1
    assert trace.gpu_ops["graph_node_id"].null_count() == trace.gpu_ops.height
    assert trace.syncs.height == 0
    assert trace.calls["name"].cast(pl.String).str.starts_with("hip").all()
    times = trace.gpu_ops.select("start_ns", "end_ns").sort("start_ns")
    gaps = times["start_ns"] - times["end_ns"].shift(1)
    assert not gaps.is_between(1, 2_000).any()


def test_hidden_things_are_not_in_the_trace() -> None:
    run = simulate(random_program("eager_2streams", 5))
    full, bare = to_trace(run), to_trace(run, shown=Shown(hide_streams=True, hide_sync=True, hide_host=True))
    assert full.gpu_ops["stream"].n_unique() == 2
    waits = full.syncs.filter(pl.col("kind") == "stream_wait")
    records = full.calls.filter(pl.col("kind") == "event_record")
    assert waits.height > 0
    assert set(waits["wait_correlation"]) == set(records["correlation"])
    assert set(waits["wait_stream"]) == {7, 8}
    assert bare.gpu_ops["stream"].n_unique() == 1
    assert (bare.calls.height, bare.markers.height, bare.syncs.height) == (0, 0, 0)
    assert bare.gpu_ops["start_ns"].equals(full.gpu_ops["start_ns"])


@pytest.mark.parametrize("kind", ["eager_2streams", "forkjoin_graph", "pdl", "tp2", "async_loop"])
def test_kineto_files_hold_the_same_rows_as_the_trace(kind: str, tmp_path: Path) -> None:
    run = simulate(random_program(kind, 2))
    to_kineto(run, tmp_path / "a.json.gz")
    events, trace = events_of(tmp_path / "a.json.gz"), to_trace(run)
    ops = [e for e in events if e["cat"] in ("kernel", "gpu_memcpy")]
    rows = sorted((ns(e["ts"]) - BASE_NS, ns(e["dur"]), e["tid"], e["name"]) for e in ops)
    frame = trace.gpu_ops.with_columns(
        (pl.col("end_ns") - pl.col("start_ns")).alias("dur"), pl.col("name").cast(pl.String)
    )
    assert rows == sorted(frame.select("start_ns", "dur", "stream", "name").rows())
    assert Counter(e["cat"] for e in events) == {
        **Counter(e["cat"] for e in ops),
        "cuda_runtime": trace.calls.height,
        "user_annotation": trace.markers.height,
        "cuda_sync": trace.syncs.height,
    }


def test_a_rocm_kineto_file_shares_one_correlation_a_replay(tmp_path: Path) -> None:
    run = simulate(random_program("rocm_streamed_graph", 2))
    to_kineto(run, tmp_path / "a.json", flavour="rocm", hide_streams=True)
    events = events_of(tmp_path / "a.json")
    tasks = [e for e in events if e["args"].get("kind") == "Dispatch Task"]
    launches = [e["args"]["correlation"] for e in events if e["name"] == "hipGraphLaunch"]
    per_replay = Counter(e["args"]["correlation"] for e in tasks)
    assert sorted(per_replay) == sorted(launches)
    assert len(set(per_replay.values())) == 1
    assert all(set(e["args"]) == {"device", "stream", "correlation", "kind"} for e in tasks)


def test_a_kernel_trace_has_every_kernel_once_and_is_not_sorted(tmp_path: Path) -> None:
    run = simulate(random_program("eager_1stream", 3))
    to_rocprofv3_csv(run, tmp_path / "kernel_trace.csv")
    with (tmp_path / "kernel_trace.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    kernels = [(i, node) for i, node in run.ops() if node.kernel and node.kernel.kind == "kernel"]
    assert len(rows[0]) == 22
    assert Counter(row["Kernel_Name"] for row in rows) == Counter(
        node.kernel.name for _, node in kernels if node.kernel
    )
    ends = sorted(int(row["End_Timestamp"]) - BASE_NS for row in rows)
    assert ends == sorted(run.node_end_ns[[i for i, _ in kernels]].tolist())
    starts = [int(row["Start_Timestamp"]) for row in rows]
    assert starts != sorted(starts)


def test_each_rank_has_its_own_trace() -> None:
    run = simulate(random_program("tp2", 1))
    first, second = to_trace(run, rank=0), to_trace(run, rank=1)
    assert (first.rank, second.rank, first.world_size) == (0, 1, 2)
    reduces = [
        trace.gpu_ops.filter(pl.col("name").cast(pl.String) == "cross_device_reduce_1stage")["end_ns"].to_list()
        for trace in (first, second)
    ]
    assert reduces[0] == reduces[1]
