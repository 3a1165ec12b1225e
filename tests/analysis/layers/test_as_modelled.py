"""Layers held against the configuration of the model: confirmed, named, found with its help, or contradicted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import trace_budget as tb
from analysis.layers.programs import random_program
from builders import decode_steps
from trace_budget import api
from trace_budget.errors import NotInTraceError
from trace_budget.questions import project as project_question
from trace_budget.schema.findings import Layers
from trace_budget.schema.options import Change, Scope, Selection
from trace_budget.schema.trace import Trace

LINEAR = "norm in_proj gdn_conv gdn_fused o_gemm norm gate_up silu down "
FULL = "norm qkv rope attn o_gemm norm gate_up silu down "
HYBRID = "embed " + (LINEAR * 3 + FULL) * 12 + "norm lm_head argmax"


def scope(folder: Path, layers: int | None = None, **values: Any) -> Scope:
    (folder / "config.json").write_text(json.dumps({"model_type": "qwen3_next", **values}))
    return Scope(model=folder, layers=layers)


def found(trace: Trace, asked: Scope) -> Layers:
    return api.analyse(trace, asked).layers


@pytest.fixture(scope="module")
def hybrid() -> Trace:
    return decode_steps(3, HYBRID).trace()


def test_a_model_confirms_and_names_the_layers(hybrid: Trace, tmp_path: Path) -> None:
    layers = found(hybrid, scope(tmp_path, num_hidden_layers=48, full_attention_interval=4))
    assert (layers.layers, layers.confidence, layers.method) == (48, "high", "period, config.json")
    assert layers.types == (("linear_attention",) * 3 + ("full_attention",)) * 12
    assert layers.caveats == ()


def test_the_answers_name_the_types(hybrid: Trace, tmp_path: Path) -> None:
    asked = scope(tmp_path, num_hidden_layers=48, full_attention_interval=4)
    rows = {row["kernel"]: row["layer_types"] for row in tb.kernels(hybrid, asked).document["rows"]}
    assert rows["gdn_fused"] == "36 of 36 linear_attention"
    assert rows["attn"] == "12 of 12 full_attention"
    assert rows["down"] == "36 of 36 linear_attention, 12 of 12 full_attention"
    assert rows["lm_head"] is None
    assert len(tb.layers(hybrid, asked).document["layer_types"]) == 48
    answer = project_question.projection(hybrid, Selection("gdn_fused"), Change(saving_us=1.0), asked)
    assert answer.match.layer_types == "36 of 36 linear_attention"
    assert answer.evidence["Q3"].grade == "A"
    assert "36 of 48 layers: linear_attention" in answer.evidence["Q3"].text


def test_without_a_model_nothing_is_named(hybrid: Trace) -> None:
    assert found(hybrid, Scope()).types == ()
    assert "layer_types" not in tb.kernels(hybrid).document["rows"][0]


def test_another_number_of_layers_is_an_error_with_both(hybrid: Trace, tmp_path: Path) -> None:
    with pytest.raises(NotInTraceError, match=r"expected 40 .*found 48") as error:
        found(hybrid, scope(tmp_path, num_hidden_layers=40))
    assert error.value.exit_code == 4


def test_the_layers_of_a_stage_may_be_stated(hybrid: Trace, tmp_path: Path) -> None:
    layers = found(hybrid, scope(tmp_path, 48, num_hidden_layers=96))
    assert (layers.layers, layers.types) == (48, ())
    assert [caveat.code for caveat in layers.caveats] == ["model_contradicted"]


def test_types_that_the_kernels_contradict_are_not_named(hybrid: Trace, tmp_path: Path) -> None:
    types = ["full_attention", "linear_attention", "linear_attention", "linear_attention"] * 12
    layers = found(hybrid, scope(tmp_path, num_hidden_layers=48, layer_types=types))
    assert (layers.layers, layers.types) == (48, ())
    assert [caveat.code for caveat in layers.caveats] == ["model_types_differ"]


def test_a_multiple_of_the_model_is_so_many_passes(tmp_path: Path) -> None:
    trace = decode_steps(3, "copy " + FULL * 24 + "add").trace()
    layers = found(trace, scope(tmp_path, model_type="llama", num_hidden_layers=12))
    assert (layers.layers, int(layers.op_layer.max())) == (12, 11)
    assert [(caveat.code, caveat.count) for caveat in layers.caveats] == [("several_passes", 2)]


def test_token_prediction_beside_the_layers(tmp_path: Path) -> None:
    trace = decode_steps(3, "copy " + FULL * 13 + "add").trace()
    layers = found(trace, scope(tmp_path, model_type="deepseek_v3", num_hidden_layers=12, num_nextn_predict_layers=1))
    assert layers.types == ("full_attention",) * 12 + ("token_prediction",)


def test_a_model_tells_the_layers_that_no_trace_can(tmp_path: Path) -> None:
    program = random_program("a shared block", 2)
    trace = decode_steps(3, " ".join(program.kernels)).trace()
    assert found(trace, Scope()).layers == 0
    mamba = program.kernels.count("selective_scan")
    layers = found(trace, scope(tmp_path, model_type="zamba2", num_hidden_layers=mamba))
    assert layers.layers == mamba
    table = {row["kernel"]: row for row in tb.kernels(trace, Scope(model=tmp_path)).document["rows"]}
    assert table["selective_scan"]["layers_hit"] == mamba
    assert table["concat"]["layers_hit"] == program.kernels.count("concat")


def test_a_model_whose_layers_are_not_seen_leaves_them_unknown(tmp_path: Path) -> None:
    program = random_program("blocks that are layers", 1)
    trace = decode_steps(3, " ".join(program.kernels)).trace()
    layers = found(trace, scope(tmp_path, model_type="nemotron_h", num_hidden_layers=97))
    assert layers.layers == 0
    assert "model_layers_unplaced" in {caveat.code for caveat in layers.caveats}
