"""What each layer of a model does: what mixes tokens in it, and whether a dense MLP or experts follow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeGuard

from trace_budget.analysis.model_config.keys import first_count

FULL, LINEAR, SLIDING = "full_attention", "linear_attention", "sliding_attention"
LISTS = ("layer_types", "layers_block_type", "block_types", "layer_block_types")
PATTERN = {"M": "mamba", "*": "attention", "-": "mlp", "E": "moe"}  # Nemotron-H
EVERY = {"qwen3_next": 4, "qwen3_5": 4}  # full attention, where the file leaves it at its default
SLIDES = {"gemma3": 6, "gemma2": 2, "gpt_oss": 2}
EXPERTS = ("n_routed_experts", "num_local_experts", "num_experts")
MOST = 100_000


def types_of(text: Mapping[str, Any], family: str, count: int | None) -> tuple[str, ...] | None:
    """What mixes tokens in each layer; None where no number of layers is stated."""
    listed = _listed(text)
    if listed is not None:
        return listed
    if count is None or count > MOST:
        return None
    layers = range(count)
    for found in (_by_ids(text), _by_periods(text, family)):
        if found is not None:
            return tuple(found(layer) for layer in layers)
    return (FULL,) * count


def _listed(text: Mapping[str, Any]) -> tuple[str, ...] | None:
    """Types that stand in the file layer by layer."""
    for key in LISTS:
        value = text.get(key)
        if isinstance(value, list) and value and all(isinstance(each, str) for each in value):
            return tuple(value)
    pattern = text.get("hybrid_override_pattern")
    if isinstance(pattern, str) and pattern and set(pattern) <= set(PATTERN):
        return tuple(PATTERN[letter] for letter in pattern)
    kinds = text.get("attn_type_list")
    if isinstance(kinds, list) and kinds:
        return tuple(FULL if kind == 1 else LINEAR for kind in kinds)
    return None


def _by_ids(text: Mapping[str, Any]) -> Any:
    """Types by the numbers of the layers that are special."""
    linear = text.get("linear_attn_config")
    if isinstance(linear, Mapping) and isinstance(linear.get("kda_layers"), list):
        # Counted from one, unless a zero says otherwise.
        full = linear.get("full_attn_layers") or []
        first = 0 if 0 in [*linear["kda_layers"], *full] else 1
        kda = {number - first for number in linear["kda_layers"] if isinstance(number, int)}
        return lambda layer: LINEAR if layer in kda else FULL
    shared = text.get("hybrid_layer_ids")
    if isinstance(shared, list):
        return lambda layer: "hybrid" if layer in shared else "mamba"
    return None


def _by_periods(text: Mapping[str, Any], family: str) -> Any:
    """Types by a period and an offset."""
    period, offset = text.get("attn_layer_period"), text.get("attn_layer_offset")
    if _positive(period) and isinstance(offset, int):
        return lambda layer: "attention" if layer % period == offset else "mamba"
    every = text.get("full_attention_interval") or _default(EVERY, family)
    if _positive(every):
        return lambda layer: FULL if (layer + 1) % every == 0 else LINEAR
    slides = text.get("sliding_window_pattern") or text.get("_sliding_window_pattern") or _default(SLIDES, family)
    if _positive(slides):
        return lambda layer: FULL if (layer + 1) % slides == 0 else SLIDING
    return None


def feeds_of(text: Mapping[str, Any], count: int) -> tuple[str, ...]:
    """Dense MLP or experts of each layer; () for a model without experts, or whose layers are either alone."""
    listed = text.get("mlp_layer_types")
    if isinstance(listed, list) and len(listed) == count and all(isinstance(each, str) for each in listed):
        return tuple("moe" if each in ("moe", "sparse") else "dense" for each in listed)
    if not first_count(text, EXPERTS) or isinstance(text.get("hybrid_override_pattern"), str):
        return ()
    dense = set(text.get("mlp_only_layers") or range(first_count(text, ("first_k_dense_replace",)) or 0))
    period, offset = _experts_every(text)
    frequency = text.get("moe_layer_freq")
    if isinstance(frequency, list) and len(frequency) == count:
        return tuple("moe" if each else "dense" for each in frequency)
    return tuple("moe" if layer % period == offset and layer not in dense else "dense" for layer in range(count))


def _experts_every(text: Mapping[str, Any]) -> tuple[int, int]:
    """(period, offset) of the layers with experts."""
    period, offset = text.get("expert_layer_period"), text.get("expert_layer_offset")
    if _positive(period) and isinstance(offset, int):
        return int(period), offset
    for key in ("decoder_sparse_step", "interleave_moe_layer_step"):
        step = text.get(key)
        if _positive(step):
            return int(step), int(step) - 1
    step = text.get("moe_layer_freq")
    return (int(step), 0) if _positive(step) else (1, 0)


def _positive(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _default(table: Mapping[str, int], family: str) -> int | None:
    return next((value for name, value in table.items() if family.startswith(name)), None)
