"""Configurations of current model families: how many layers, of which types."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from trace_budget.analysis.model_config import Model, expected_counts, model_of, read_model
from trace_budget.errors import InputError

LONG = {"vocab_size": 1000, "hidden_size": 64, "num_attention_heads": 4}


def counted(model: Model) -> dict[str, int]:
    return {kind: model.main.types.count(kind) for kind in dict.fromkeys(model.main.types)}


FAMILIES: dict[str, tuple[dict[str, Any], dict[str, int]]] = {
    "llama": ({"model_type": "llama", "num_hidden_layers": 32}, {"full_attention": 32}),
    "qwen2": ({"model_type": "qwen2", "num_hidden_layers": 28, "use_sliding_window": False}, {"full_attention": 28}),
    "qwen3_moe": (
        {"model_type": "qwen3_moe", "num_hidden_layers": 94, "num_experts": 128, "decoder_sparse_step": 1,
         "mlp_only_layers": []},
        {"full_attention": 94},
    ),
    "qwen3_next by interval": (
        {"model_type": "qwen3_next", "num_hidden_layers": 48, "full_attention_interval": 4},
        {"linear_attention": 36, "full_attention": 12},
    ),
    "qwen3_next by default": (
        {"model_type": "qwen3_next", "num_hidden_layers": 48},
        {"linear_attention": 36, "full_attention": 12},
    ),
    "qwen3_5 by list": (
        {"model_type": "qwen3_5", "text_config": {"model_type": "qwen3_5_text", "num_hidden_layers": 8,
         "layer_types": ["linear_attention", "linear_attention", "linear_attention", "full_attention"] * 2}},
        {"linear_attention": 6, "full_attention": 2},
    ),
    "gpt_oss": (
        {"model_type": "gpt_oss", "num_hidden_layers": 24, "num_local_experts": 32,
         "layer_types": ["sliding_attention", "full_attention"] * 12},
        {"sliding_attention": 12, "full_attention": 12},
    ),
    "minimax_m1": (
        {"model_type": "minimax_m1", "num_hidden_layers": 80, "attn_type_list": ([0] * 7 + [1]) * 10},
        {"linear_attention": 70, "full_attention": 10},
    ),
    "mixtral": ({"model_type": "mixtral", "num_hidden_layers": 32, "num_local_experts": 8}, {"full_attention": 32}),
    "gemma3": (
        {"model_type": "gemma3", "text_config": {"model_type": "gemma3_text", "num_hidden_layers": 26,
         "sliding_window_pattern": 6}},
        {"sliding_attention": 22, "full_attention": 4},
    ),
    "jamba": (
        {"model_type": "jamba", "num_hidden_layers": 32, "attn_layer_period": 8, "attn_layer_offset": 4,
         "expert_layer_period": 2, "expert_layer_offset": 1, "num_experts": 16},
        {"mamba": 28, "attention": 4},
    ),
    "zamba2": (
        {"model_type": "zamba2", "num_hidden_layers": 54, "hybrid_layer_ids": [6, 12, 18, 24, 30, 36, 42, 47, 51]},
        {"mamba": 45, "hybrid": 9},
    ),
    "nemotron_h": (
        {"model_type": "nemotron_h", "num_hidden_layers": 8, "hybrid_override_pattern": "M-M*-ME*"},
        {"mamba": 3, "mlp": 2, "attention": 2, "moe": 1},
    ),
    "kimi_linear": (
        {"model_type": "kimi_linear", "num_hidden_layers": 8, "first_k_dense_replace": 1, "num_experts": 256,
         "linear_attn_config": {"kda_layers": [1, 2, 3, 5, 6, 7], "full_attn_layers": [4, 8]}},
        {"linear_attention": 6, "full_attention": 2},
    ),
}  # fmt: skip


@pytest.mark.parametrize("family", FAMILIES)
def test_layers_and_types_of_a_family(family: str) -> None:
    values, types = FAMILIES[family]
    model = model_of({**LONG, **values})
    assert counted(model) == types
    assert model.main.layers == sum(types.values()) == expected_counts(model)[0]
    assert model.caveats == ()


def test_full_attention_ends_each_group_of_layers() -> None:
    model = model_of({"model_type": "qwen3_next", "num_hidden_layers": 8, "full_attention_interval": 4})
    assert [layer for layer, kind in enumerate(model.main.types) if kind == "full_attention"] == [3, 7]
    kimi = model_of({"model_type": "kimi_linear", "num_hidden_layers": 4,
                     "linear_attn_config": {"kda_layers": [1, 2, 4], "full_attn_layers": [3]}})  # fmt: skip
    assert kimi.main.types == ("linear_attention", "linear_attention", "full_attention", "linear_attention")


def test_dense_layers_first_and_token_prediction() -> None:
    model = model_of({"model_type": "deepseek_v3", "num_hidden_layers": 61, "first_k_dense_replace": 3,
                      "n_routed_experts": 256, "moe_layer_freq": 1, "num_nextn_predict_layers": 1})  # fmt: skip
    assert model.main.feeds == ("dense",) * 3 + ("moe",) * 58
    assert (model.predictors, expected_counts(model)) == (1, (61, 62))
    assert [stack.layers for stack in model.runs(62)] == [61, 1]
    assert model.runs(60) == ()


def test_experts_in_every_second_layer() -> None:
    jamba = model_of(FAMILIES["jamba"][0])
    assert jamba.main.feeds == ("dense", "moe") * 16
    sparse = model_of({"model_type": "qwen2_moe", "num_hidden_layers": 6, "num_experts": 8, "decoder_sparse_step": 3})
    assert sparse.main.feeds == ("dense", "dense", "moe") * 2


def test_an_encoder_and_a_decoder() -> None:
    whisper = model_of({"model_type": "whisper", "is_encoder_decoder": True, "encoder_layers": 32, "decoder_layers": 4,
                        "num_hidden_layers": 32})  # fmt: skip
    assert [(stack.name, stack.layers) for stack in whisper.stacks] == [("encoder", 32), ("decoder", 4)]
    assert expected_counts(whisper) == (4, 32, 36)


def test_a_vision_tower() -> None:
    model = model_of({"model_type": "qwen2_5_vl", "num_hidden_layers": 28, "vision_config": {"depth": 32}})
    assert [(stack.name, stack.layers) for stack in model.stacks] == [("vision", 32), ("text", 28)]
    assert expected_counts(model) == (28, 32, 60)
    omni = model_of({"model_type": "qwen3_omni_moe", "thinker_config": {
        "text_config": {"model_type": "qwen3_omni_moe_text", "num_hidden_layers": 48},
        "vision_config": {"depth": 27}, "audio_config": {"encoder_layers": 32}}})  # fmt: skip
    assert [stack.layers for stack in omni.stacks] == [27, 32, 48]


def test_an_unknown_family_is_told() -> None:
    model = model_of({"model_type": "neverseen", "num_hidden_layers": 12})
    assert (model.main.layers, [caveat.code for caveat in model.caveats]) == (12, ["model_family_unknown"])


def test_a_list_of_another_length_than_the_number_is_told() -> None:
    model = model_of({"model_type": "llama", "num_hidden_layers": 4, "layer_types": ["full_attention"] * 6})
    assert (model.main.layers, [caveat.code for caveat in model.caveats]) == (6, ["model_types_differ"])


def test_a_file_or_its_folder(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps(FAMILIES["llama"][0]))
    assert read_model(tmp_path) == read_model(tmp_path / "config.json")


@pytest.mark.parametrize("text", ["", "[]", "{", "\\xff", "[" * 100_000, '{"model_type": "llama"}',
                                  '{"num_hidden_layers": "many"}', '{"num_hidden_layers": 0}',
                                  '{"num_hidden_layers": 1e9}', '{"num_hidden_layers": 100000000}'])  # fmt: skip
def test_what_is_no_configuration_is_refused_in_one_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "config.json").write_text(text)
    with pytest.raises(InputError) as error:
        read_model(tmp_path)
    assert "\n" not in str(error.value)


def test_a_folder_without_one_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"config\.json"):
        read_model(tmp_path)
