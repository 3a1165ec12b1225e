"""What a graph-capture trace tells: launches between begin and end of capture, and the ranges around them."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from captures import KERNELS, capture_file
from shared_traces import SHARED, needs_shared
from trace_budget.errors import InputError
from trace_budget.readers.kineto.graph_capture import read_capture


def test_launches_come_in_the_order_of_capture_with_their_kernels(tmp_path: Path) -> None:
    found = read_capture(capture_file(tmp_path / "a.json", 3))
    assert found.launches["kernel"].to_list() == ["embedding_kernel", *KERNELS * 3]
    assert found.launches["label"].unique().to_list() == ["capture_32_FULL"]
    assert found.launches["start_ns"].is_sorted()


def test_modules_and_operators_with_shapes(tmp_path: Path) -> None:
    ranges = read_capture(capture_file(tmp_path / "a.json", 2)).ranges
    modules = ranges.filter(pl.col("kind") == "module")["name"].to_list()
    assert sorted(modules) == ["DecoderLayer_0", "DecoderLayer_1", "Model_0"]
    operators = ranges.filter((pl.col("kind") == "operator") & (pl.col("name") == "aten::linear"))
    assert operators["shapes"].to_list() == ["[[32, 65]]"] * 2
    assert ranges.filter(pl.col("name") == "aten::empty")["shapes"].to_list() == [None] * 7


def test_launches_before_the_capture_are_left_out(tmp_path: Path) -> None:
    path = capture_file(tmp_path / "a.json", 2)
    document = json.loads(path.read_text())
    early = {"ph": "X", "cat": "cuda_runtime", "name": "hipLaunchKernel", "ts": 1, "dur": 1, "pid": 1, "tid": 7}
    other = {**early, "ts": document["traceEvents"][3]["ts"], "tid": 8}
    document["traceEvents"] += [early, other]
    path.write_text(json.dumps(document))
    assert read_capture(path).launches.height == 7


def test_several_captures_are_kept_apart(tmp_path: Path) -> None:
    launches = read_capture(capture_file(tmp_path / "a.json", 2, extra_size=5)).launches
    sizes = launches.group_by("capture", "label", maintain_order=True).len().rows()
    assert sizes == [(0, "capture_32_FULL", 7), (1, "capture_other_5", 16)]


def test_without_capture_calls_the_annotations_bound_the_capture(tmp_path: Path) -> None:
    launches = read_capture(capture_file(tmp_path / "a.json", 4, capture_calls=False)).launches
    assert launches.height == 13


def test_a_file_without_a_capture_is_refused_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(
        '{"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "a", "ts": 1, "dur": 1, "pid": 1, "tid": 1}]}'
    )
    with pytest.raises(InputError, match="no graph capture in this file") as caught:
        read_capture(path)
    assert "\n" not in caught.value.line()


@needs_shared
def test_the_real_capture_holds_as_many_launches_as_the_replay_kernels() -> None:
    found = read_capture(SHARED / "kineto" / "vllm_graph_capture_sidecar.json.gz")
    assert found.launches.height == 421
    assert found.launches["kernel"].null_count() == 0
    assert found.launches["label"].unique().to_list() == ["capture_32_FULL"]
    operators = found.ranges.filter(pl.col("kind") == "operator")
    assert operators.height == 3_819
    assert operators.filter(pl.col("name") == "vllm::unified_attention_with_output").height == 24
