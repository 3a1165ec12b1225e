"""A model's config.json (Hugging Face): how many layers it has, and of which types."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

from trace_budget.analysis.model_config.blocks import feeds_of, types_of
from trace_budget.analysis.model_config.keys import (
    AUDIO_LAYERS,
    DECODER_LAYERS,
    ENCODER_LAYERS,
    FAMILIES,
    LAYERS,
    PREDICTORS,
    TEXTS,
    VISION_LAYERS,
    first_count,
)
from trace_budget.errors import InputError
from trace_budget.schema.trace import Caveat

FILE = "config.json"
LONGEST = 16 << 20  # bytes; no configuration comes near
MOST = 100_000
PREDICTS = "token_prediction"


@dataclass(frozen=True, slots=True)
class Stack:
    """Layers one after the other: `types` of what mixes tokens in each, `feeds` of what follows it (dense, moe)."""

    name: str
    types: tuple[str, ...]
    feeds: tuple[str, ...] = ()

    @property
    def layers(self) -> int:
        """How many."""
        return len(self.types)


@dataclass(frozen=True, slots=True)
class Model:
    """What a configuration says: `stacks` in the order they run (the last one is the language model's)."""

    family: str
    stacks: tuple[Stack, ...]
    predictors: int
    caveats: tuple[Caveat, ...] = ()

    @property
    def main(self) -> Stack:
        """The stack that writes the tokens."""
        return self.stacks[-1]

    def runs(self, layers: int) -> tuple[Stack, ...]:
        """The stacks that make so many layers together, token prediction among them; () where none do."""
        more = Stack(PREDICTS, (PREDICTS,) * self.predictors)
        for count in range(1, len(self.stacks) + 1):
            for chosen in combinations(self.stacks, count):
                total = sum(stack.layers for stack in chosen)
                if total == layers:
                    return chosen
                if self.predictors and chosen[-1] is self.main and total + self.predictors == layers:
                    return (*chosen, more)
        return ()


def expected_counts(model: Model) -> tuple[int, ...]:
    """The numbers of layers that one pass of the model can show, the language model's own first."""
    counts = {total for total in range(1, sum(each.layers for each in model.stacks) + model.predictors + 1)
              if model.runs(total)}  # fmt: skip
    return (model.main.layers, *sorted(counts - {model.main.layers}))


def read_model(path: Path | str) -> Model:
    """The model of a config.json, or of the folder that holds it.

    Raises InputError for what is no such file, and for one that gives no number of layers.
    """
    place = Path(path)
    place = place / FILE if place.is_dir() else place
    try:
        text = place.read_bytes()[: LONGEST + 1]
        values = json.loads(text) if len(text) <= LONGEST else None
    except (OSError, ValueError, RecursionError) as error:
        raise InputError(
            "not a model's configuration", where=str(place), expected=f"a {FILE}, or the folder that holds one",
            found=type(error).__name__,
        ) from error  # fmt: skip
    if not isinstance(values, dict):
        raise InputError("not a model's configuration", where=str(place), expected="a JSON object")
    return model_of(values, str(place))


def model_of(values: Mapping[str, Any], where: str = FILE) -> Model:
    """The model that the values of a configuration describe."""
    text = _text(values)
    family = str(text.get("model_type") or values.get("model_type") or "unknown")
    beside = [*_sides(values), *_encoder(text)]
    count = first_count(text, DECODER_LAYERS) if beside and _encoder(text) else first_count(text, LAYERS)
    types = types_of(text, family, count)
    if types is None or not 0 < len(types) <= MOST:
        raise InputError(
            "the configuration tells no number of layers", where=where, expected=" or ".join(LAYERS[:3]),
            found=f"model_type {family}", advice="State --layers N instead.",
        )  # fmt: skip
    name = "decoder" if _encoder(text) else "text"
    stacks = (*beside, Stack(name, types, feeds_of(text, len(types))))
    return Model(family, stacks, first_count(text, PREDICTORS) or 0, _caveats(values, family, count, len(types)))


def _text(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """The part that is of the language model."""
    for key in TEXTS:
        part = values.get(key)
        if isinstance(part, Mapping):
            return _text(part)
    return values


def _sides(values: Mapping[str, Any]) -> list[Stack]:
    """Towers that run before the language model: of images, of sound."""
    thinker = values.get("thinker_config")
    outer = thinker if isinstance(thinker, Mapping) else values
    found = []
    for name, keys in (("vision", VISION_LAYERS), ("audio", AUDIO_LAYERS)):
        part = outer.get(f"{name}_config")
        count = first_count(part, keys) if isinstance(part, Mapping) else None
        if count and count <= MOST:
            found.append(Stack(name, (name,) * count))
    return found


def _encoder(text: Mapping[str, Any]) -> list[Stack]:
    count = first_count(text, ENCODER_LAYERS)
    decoder = first_count(text, DECODER_LAYERS)
    if not count or count > MOST or not (decoder and text.get("is_encoder_decoder", "decoder_layers" in text)):
        return []
    return [Stack("encoder", ("encoder",) * count)]


def _caveats(values: Mapping[str, Any], family: str, count: int | None, types: int) -> tuple[Caveat, ...]:
    out = []
    if not family.startswith(FAMILIES):
        unknown = f"model_type {family} is not known"
        text = f"{unknown}: its layers are read as those of other models (num_hidden_layers, layer_types)"
        out.append(Caveat("model_family_unknown", text, 1, "note", str(values.get("model_type", ""))))
    if count and count != types:
        text = f"the configuration names {count} layers, but types of {types}: the types count"
        out.append(Caveat("model_types_differ", text, 1, "warning"))
    return tuple(out)
