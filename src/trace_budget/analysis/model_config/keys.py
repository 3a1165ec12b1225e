"""The keys under which configurations of current model families give their layers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

TEXTS = ("text_config", "llm_config", "language_config", "thinker_config")
LAYERS = ("num_hidden_layers", "n_layer", "num_layers", "n_layers", "decoder_layers")
ENCODER_LAYERS = ("encoder_layers", "num_encoder_layers", "num_layers")
DECODER_LAYERS = ("decoder_layers", "num_decoder_layers")
VISION_LAYERS = ("depth", "num_hidden_layers", "n_layers", "num_layers", "layers")
AUDIO_LAYERS = ("encoder_layers", "num_hidden_layers", "n_layers", "num_layers")
PREDICTORS = ("num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_modules")
FAMILIES = (
    "llama", "mistral", "ministral", "mixtral", "qwen2", "qwen3", "deepseek", "gpt_oss", "minimax", "gemma", "jamba",
    "zamba", "nemotron", "kimi", "whisper", "glm", "phi", "granite", "gpt2", "gpt_neox", "gptj", "opt", "bloom",
    "falcon", "t5", "bart", "mamba", "olmo", "smollm", "starcoder2", "exaone", "ernie", "hunyuan", "lfm2", "cohere",
    "internlm", "dbrx", "seed_oss", "bamba", "internvl", "mt5", "stablelm", "arcee", "apertus", "hymba", "longcat",
)  # fmt: skip


def first_count(values: Mapping[str, Any], keys: tuple[str, ...]) -> int | None:
    """The number under the first of the keys that has a whole one, not negative."""
    for key in keys:
        value = values.get(key)
        if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
            return value
    return None
