"""Projections on real traces, against figures counted by other means; every real trace replays itself exactly."""

from __future__ import annotations

import gzip
import json
import statistics
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import trace_budget as tb
from shared_traces import SHARED, needs_shared
from trace_budget import api
from trace_budget.errors import InputError, NotInTraceError
from trace_budget.projection.replay.propagation import propagate
from trace_budget.projection.target import common_schedule, prepared_rank
from trace_budget.questions import project as project_question
from trace_budget.schema.options import Change, Selection
from trace_budget.schema.report import Report

pytestmark = needs_shared
KINETO = SHARED / "kineto"
TRACES = sorted([*KINETO.glob("*.json.gz"), *KINETO.glob("two_ranks/*.json.gz")])
VLLM = KINETO / "vllm_decode_full_graph.json.gz"
SGLANG = KINETO / "sglang_decode_full_graph.json.gz"
SWIGLU = "_matmul_ogs_NNT_bf16xbf16xmxfp4_16x128x256x1_swiglu"
ATTENTION = "paged_attention_ll4mi_QKV_mfma16_kernel"
KEYS = {
    "token": {"step_us", "steps", "busy_us", "tokens_per_step", "token_us", "source"},
    "matched": {
        "kernel", "calls_per_step", "layers", "layers_hit", "calls_per_layer", "steps_hit", "dur_us",
        "exposed_us_per_step",
    },
    "saving_us_per_call": {"low", "expected", "high", "source"},
    "saving_us_per_step": {"naive", "exposed", "low", "expected", "high"},
    "saving_us_per_token": {"low", "expected", "high"},
    "pct": {"naive", "low", "expected", "high", "ceiling"},
    "required": {"target_pct", "us_per_call"},
    "evidence": {"Q1", "Q2", "Q3", "Q4", "Q5", "Q6"},
}  # fmt: skip


def answer(path: Path, kernel: str, **change: Any) -> Report:
    return tb.project(api.open_trace(path), Selection(kernel), Change(**change))


def events(path: Path, kernel: str) -> list[dict[str, Any]]:
    """The kernel's events, by the json module."""
    with gzip.open(path, "rt", encoding="utf-8") as text:
        rows = json.load(text)["traceEvents"]
    return [row for row in rows if row.get("cat") == "kernel" and kernel in row["name"]]


@pytest.mark.parametrize("path", TRACES, ids=lambda path: path.name)
def test_every_real_trace_replays_itself(path: Path) -> None:
    try:
        found = api.analyse(api.open_trace(path))
    except (InputError, NotInTraceError):
        assert path.name == "no_gpu.json.gz"
        return
    for line, edges in common_schedule([prepared_rank(found)], "auto").lines:
        nothing = np.zeros((line.size, 1))
        shifts = propagate(line, edges, nothing, nothing, nothing)
        assert not any(values.any() for values in (*shifts.start, *shifts.end))


def test_one_decode_step_of_vllm() -> None:
    told = answer(VLLM, SWIGLU, saving_us=3.228)
    d: dict[str, Any] = dict(told.document)
    assert d["token"]["step_us"] == pytest.approx(10_743.181, abs=5e-4)
    assert d["token"]["busy_us"] == pytest.approx(10_717.708, abs=5e-4)
    assert d["matched"]["kernel"] == SWIGLU
    figures = ("calls_per_step", "layers", "layers_hit", "calls_per_layer", "steps_hit")
    assert [d["matched"][key] for key in figures] == [24, 24, 24, 1, 1]
    assert d["saving_us_per_step"]["naive"] == pytest.approx(77.472)
    assert d["saving_us_per_step"]["exposed"] == pytest.approx(77.472)
    assert d["pct"]["naive"] == pytest.approx(0.721, abs=5e-4)
    assert d["pct"]["ceiling"] == pytest.approx(30.46, abs=5e-3)
    assert d["required"]["us_per_call"] == pytest.approx(4.476, abs=5e-4)
    assert 0 <= d["pct"]["low"] <= d["pct"]["expected"] <= d["pct"]["high"] <= d["pct"]["naive"] + 1e-9
    assert (d["verdict"], d["reason"]) == ("NO-GO", "high_bound")


def test_durations_of_vllm_are_those_of_the_file() -> None:
    durations = [row["dur"] for row in events(VLLM, SWIGLU)]
    matched: dict[str, Any] = dict(answer(VLLM, SWIGLU, saving_us=3.228).document)["matched"]
    wanted = {
        "mean": statistics.fmean(durations),
        "median": statistics.median(durations),
        "min": min(durations),
        "max": max(durations),
    }
    assert len(durations) == 24
    assert matched["dur_us"] == pytest.approx(wanted, abs=5e-4)


def test_one_decode_step_of_sglang() -> None:
    d: dict[str, Any] = dict(answer(SGLANG, ATTENTION, saving_us=5.0).document)
    assert (d["matched"]["calls_per_step"], d["matched"]["layers"], d["matched"]["layers_hit"]) == (36, 36, 36)
    assert d["token"]["token_us"] == pytest.approx(10_366.9, abs=0.05)
    assert d["saving_us_per_step"]["naive"] == pytest.approx(180)
    assert len(events(SGLANG, ATTENTION)) == 36


def test_the_keys_of_the_document_are_fixed() -> None:
    told = answer(VLLM, SWIGLU, saving_us=3.228)
    assert told.schema == "trace-budget/verdict/1"
    assert told.trace is not None
    assert {"path", "format", "device", "rank", "complete"} <= set(told.trace)
    document: dict[str, Any] = dict(told.document)
    assert {*KEYS, "verdict", "why"} <= set(document)
    for key, inner in KEYS.items():
        assert inner <= set(document[key]), key
    assert {"mean", "median", "min", "max"} == set(document["matched"]["dur_us"])
    assert all({"grade", "source", "text"} == set(answer) for answer in document["evidence"].values())


def test_a_pattern_of_several_kernels_lists_them() -> None:
    with pytest.raises(NotInTraceError, match="one pattern matches several kernels") as refused:
        answer(VLLM, "_matmul_ogs_NNT_bf16xbf16xmxfp4", saving_us=3.228)
    assert any("swiglu" in choice for choice in refused.value.choices)


def test_a_capture_sidecar_is_refused() -> None:
    trace = api.open_trace(KINETO / "vllm_graph_capture_sidecar.json.gz")
    name = str(trace.gpu_ops["name"].to_list()[0])
    with pytest.raises(NotInTraceError, match="not a workload"):
        project_question.projection(trace, Selection(name), Change(saving_us=1.0))


def test_early_starts_of_a_dependent_launch_are_not_counted_twice() -> None:
    trace = api.open_trace(KINETO / "b200_moe_eager_pdl.json.gz")
    site = prepared_rank(api.analyse(trace))
    overlapped = (site.effective > 0) & (
        site.effective < (trace.gpu_ops["end_ns"] - trace.gpu_ops["start_ns"]).to_numpy()
    )
    assert int(overlapped.sum()) == 74
