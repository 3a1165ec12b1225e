"""Real Kineto traces against recorded facts, and against a second parse of every column."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from typing import Any

import numpy as np
import polars as pl
import pytest

from kineto_by_json import loaded, rows_of
from shared_traces import SHARED, needs_shared
from trace_budget import intervals
from trace_budget.contracts import ReadOptions
from trace_budget.inputs.detect import detect
from trace_budget.schema.trace import Trace

FACTS: dict[str, Any] = json.loads((SHARED / "kineto/facts.json").read_text()) if SHARED.is_dir() else {}
pytestmark = needs_shared
FILES = sorted(FACTS)


def trace_of(name: str) -> Trace:
    """The trace, by the reader its content selects."""
    reader = detect(SHARED / name)
    assert reader.name == "kineto"
    return reader.read(SHARED / name, ReadOptions())


def sums(ops: pl.DataFrame) -> dict[str, int]:
    """Kernels, sum, union and span of their times."""
    start, end = ops["start_ns"].to_numpy(), ops["end_ns"].to_numpy()
    union = intervals.union_length(start, end)
    return {
        "kernels": ops.height,
        "sum_ns": int((end - start).sum()),
        "union_ns": union,
        "span_ns": int(end.max() - start.min()),
    }


@pytest.mark.parametrize("name", FILES)
def test_recorded_facts(name: str) -> None:
    facts, trace = FACTS[name], trace_of(name)
    kernels = trace.gpu_ops.filter(pl.col("kind") == "kernel")
    assert trace.complete
    assert trace.events == facts["events"]
    assert trace.gpu_ops.height == facts["gpu_ops"]
    assert kernels.height == facts["kernels"]
    if not facts["kernels"]:
        assert [caveat.code for caveat in trace.caveats if caveat.severity == "error"] == ["no_gpu_ops"]
        return
    found = sums(kernels)
    assert [found[key] for key in ("sum_ns", "union_ns", "span_ns")] == [
        facts[f"kernel_{key}"] for key in ("sum_ns", "union_ns", "span_ns")
    ]
    assert kernels["name"].n_unique() == facts["kernel_names"]
    streams = Counter(kernels["stream"].to_list())
    assert {str(stream): count for stream, count in streams.items()} == facts["streams"]
    by_call = kernels.join(trace.calls.rename({"kind": "call"}), on="launch_id", suffix="_call")
    replays = by_call.filter(pl.col("call") == "graph_launch").partition_by("launch_id", maintain_order=True)
    assert [sums(replay) for replay in replays] == facts.get("replays", [])
    assert trace.calls.filter(pl.col("kind") == "graph_launch").height == facts["graph_launches"]
    assert kernels["launch_id"].null_count() == facts["kernels_without_launch"]
    assert same_stream_overlaps(kernels) == facts["same_stream_overlaps"]
    for row in facts["top_kernels"]:
        rows = kernels.filter(pl.col("name").cast(pl.String) == row["name"])
        assert (rows.height, sums(rows)["sum_ns"]) == (row["calls"], row["sum_ns"])


def same_stream_overlaps(kernels: pl.DataFrame) -> int:
    """Kernels that start before the previous one on their stream ended."""
    last: dict[tuple[int, int], int] = defaultdict(lambda: -(2**63))
    count = 0
    for device, stream, start, end in zip(
        *(kernels[key].to_list() for key in ("device", "stream", "start_ns", "end_ns")), strict=True
    ):
        count += start < last[device, stream]
        last[device, stream] = max(end, last[device, stream])
    return count


@pytest.mark.parametrize("name", FILES)
def test_every_column_against_a_second_parse(name: str) -> None:
    trace, expected = trace_of(name), rows_of(loaded(SHARED / name))
    for table, rows in expected.items():
        frame: pl.DataFrame = getattr(trace, table)
        assert frame.height == len(rows), table
        for column in rows[0] if rows else ():
            assert frame[column].to_list() == [row[column] for row in rows], (table, column)


@pytest.mark.parametrize("name", FILES)
def test_every_step_annotation_owns_the_recorded_operations(name: str) -> None:
    trace = trace_of(name)
    host = trace.markers.filter(pl.col("kind") == "annotation")
    launched = trace.gpu_ops.join(trace.calls, on="launch_id", suffix="_call")
    found = []
    for pid, tid, start, end in zip(
        *(host[key].to_list() for key in ("pid", "tid", "start_ns", "end_ns")), strict=True
    ):
        inside = (pl.col("pid_call") == pid) & (pl.col("tid") == tid)
        ops = launched.filter(inside & (pl.col("start_ns_call") >= start) & (pl.col("start_ns_call") < end))
        found.append({"cpu_ns": end - start, "gpu_ops": ops.height})
    recorded = [{"cpu_ns": row["cpu_ns"], "gpu_ops": row["gpu_ops"]} for row in FACTS[name].get("annotations", [])]
    assert not [row for row in recorded if row not in found]


@pytest.mark.parametrize("segment_bytes", [20_000, 333_333])
@pytest.mark.parametrize("name", [name for name in FILES if FACTS[name]["json_bytes"] < 5_000_000])
def test_the_segment_size_changes_nothing(name: str, segment_bytes: int) -> None:
    from trace_budget.readers.kineto.kineto import read

    whole, pieces = trace_of(name), read(SHARED / name, ReadOptions(), segment_bytes)
    for table in ("gpu_ops", "calls", "markers", "syncs"):
        assert getattr(whole, table).equals(getattr(pieces, table))
    assert (whole.events, whole.caveats, whole.device_name) == (pieces.events, pieces.caveats, pieces.device_name)


def test_device_and_job_are_told() -> None:
    facts = {
        "kineto/b200_moe_eager_pdl.json.gz": ("NVIDIA B200", "nvidia", 0, 8, False, 1),
        "kineto/sglang_decode_full_graph.json.gz": ("AMD Instinct MI300X", "amd", 0, 1, True, 1),
        "kineto/vllm_decode_full_graph.json.gz": (None, "amd", 0, 1, True, 1),
        "kineto/mi250_train_stream0.json.gz": ("AMD Radeon Graphics", "amd", None, None, True, 1),
        "kineto/two_ranks/rank-1.json.gz": (None, "nvidia", 1, 128, False, 1_000),
        "kineto/alexnet_integer_us.json.gz": ("NVIDIA A100-PG509-200", "nvidia", 0, None, False, 1_000),
    }
    for name, expected in facts.items():
        trace = trace_of(name)
        job = (trace.device_name, trace.vendor, trace.rank, trace.world_size)
        assert (*job, trace.dispatch_gap_in_duration, trace.resolution_ns) == expected


def test_a_capture_sidecar_is_no_workload() -> None:
    codes = {caveat.code for caveat in trace_of("kineto/vllm_graph_capture_sidecar.json.gz").caveats}
    assert "capture_sidecar" in codes
    assert np.int64(7) == FACTS["kineto/vllm_graph_capture_sidecar.json.gz"]["kernels"]
