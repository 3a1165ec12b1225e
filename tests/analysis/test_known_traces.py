"""Steps, layers and calls of real traces against figures taken from the files by other means."""

import json
from typing import Any

import polars as pl
import pytest

from shared_traces import SHARED, needs_shared
from trace_budget import api
from trace_budget.analysis.layers import find_layers
from trace_budget.projection.project import project
from trace_budget.schema.options import Change, Policy, Selection, TokenInput

LAYERS = {
    "vllm_decode_full_graph": 24,
    "sglang_decode_full_graph": 36,
    "vllm_mixed_piecewise": 24,
    "b200_moe_eager_pdl": 36,
    "mi300_qwen_eager": 24,
    "sglang_extend_eager": 36,
}
PHASES = {
    "vllm_decode_full_graph": "decode",
    "sglang_decode_full_graph": "decode",
    "vllm_mixed_piecewise": "mixed",
    "b200_moe_eager_pdl": "prefill",
    "mi300_qwen_eager": "other",
    "sglang_extend_eager": "prefill",
}
STEP_OF = {
    "vllm_decode_full_graph": "execute_32_context_0",
    "sglang_decode_full_graph": "step[DECODE",
    "vllm_mixed_piecewise": "execute_8192_context_9",
    "b200_moe_eager_pdl": "execute_context_1",
    "mi300_qwen_eager": "ProfilerStep#6",
    "sglang_extend_eager": "step[EXTEND",
}


def facts(name: str) -> dict[str, Any]:
    known: dict[str, Any] = json.loads((SHARED / "kineto" / "facts.json").read_text())[f"kineto/{name}.json.gz"]
    return known


@needs_shared
@pytest.mark.parametrize("name", LAYERS)
def test_steps_layers_and_phases(name: str) -> None:
    trace = api.open_trace(SHARED / "kineto" / f"{name}.json.gz")
    found = api.analyse(trace)
    annotation = next(a for a in facts(name)["annotations"] if a["name"].startswith(STEP_OF[name]))
    step = found.steps.frame.row(0, named=True)
    assert (step["name"], step["phase"]) == (annotation["name"], PHASES[name])
    assert step["gpu_ops"] == annotation["gpu_ops"]
    assert step["window_ns"] == annotation["gpu_window_ns"]
    assert step["busy_ns"] == annotation["gpu_busy_ns"]
    assert step["cpu_ns"] == annotation["cpu_ns"]
    assert found.steps.step_ns == annotation["gpu_window_ns"]
    assert found.layers.layers == LAYERS[name]


@needs_shared
@pytest.mark.parametrize("name", LAYERS)
def test_layers_are_found_without_module_names_too(name: str) -> None:
    trace = api.open_trace(SHARED / "kineto" / f"{name}.json.gz")
    found = api.analyse(trace)
    bare = trace.markers.filter(pl.col("kind") != "module").with_columns(pl.int_range(pl.len()).alias("marker_id"))
    nameless = type(trace)(**{**{f: getattr(trace, f) for f in trace.__slots__}, "markers": bare})
    assert find_layers(nameless, found.steps).layers == LAYERS[name]


@needs_shared
def test_the_token_of_sglang_is_the_inner_step() -> None:
    found = api.analyse(api.open_trace(SHARED / "kineto" / "sglang_decode_full_graph.json.gz"))
    kernel = "paged_attention_ll4mi_QKV_mfma16_kernel"
    result = project(found, Selection(kernel), Change(saving_us=5.0), TokenInput(), Policy())
    assert result.token.token_ns == 10_366_887
    assert (result.match.calls_per_step, result.match.layers_hit, result.match.layers) == (36, 36, 36)


@needs_shared
def test_the_answer_for_vllm_decode() -> None:
    found = api.analyse(api.open_trace(SHARED / "kineto" / "vllm_decode_full_graph.json.gz"))
    kernel = "_matmul_ogs_NNT_bf16xbf16xmxfp4_16x128x256x1_swiglu"
    result = project(found, Selection(kernel), Change(saving_us=3.228), TokenInput(), Policy())
    assert (result.match.calls_per_step, result.match.layers_hit, result.match.layers) == (24, 24, 24)
    assert result.token.token_ns == 10_743_181
    assert result.limits.naive == pytest.approx(77_472)
    assert result.pct.naive == pytest.approx(0.72113, abs=1e-5)
    assert result.pct.ceiling == pytest.approx(30.463, abs=1e-3)
    assert result.required.plain_ns == pytest.approx(4_476.3, abs=0.1)
    assert result.limits.low == result.limits.expected == result.limits.high == pytest.approx(77_472)
    assert result.verdict.verdict == "NO-GO"
