"""Layers held against the configuration of the model: confirmed and named, or contradicted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import polars as pl

from trace_budget.analysis.model_config import Model, Stack
from trace_budget.errors import ModelContradictedError
from trace_budget.schema.findings import Layers
from trace_budget.schema.trace import Caveat, Trace

BY = "config.json"


def with_model(trace: Trace, model: Model, find: Callable[[int | None], Layers], wanted: int | None) -> Layers:
    """The layers that `find` sees, confirmed and named by the model; a number the user gave goes before both.

    Raises ModelContradictedError where the trace shows layers that this model does not have.
    """
    found = find(wanted)
    if wanted is None and not found.layers:
        found = _placed(model, found, find(model.main.layers))
    found = replace(found, caveats=(*found.caveats, *model.caveats))
    if not found.layers:
        return found
    stacks = model.runs(found.layers)
    if not stacks and found.layers % model.main.layers == 0 and wanted is None:
        found, stacks = _as_passes(found, model.main), (model.main,)
    if not stacks:
        return _contradicted(trace, model, found, wanted)
    confidence = "medium" if found.confidence == "low" else "high"
    sure = replace(found, method=f"{found.method}, {BY}", confidence=confidence)
    return _named(trace, sure, tuple(kind for stack in stacks for kind in stack.types))


def _placed(model: Model, unknown: Layers, stated: Layers) -> Layers:
    """The layers that the model has, where the trace shows that many; else none, and why."""
    count = model.main.layers
    inside = np.unique(stated.op_layer[stated.op_layer >= 0])
    if inside.size == count and all(caveat.code != "layers_overridden" for caveat in stated.caveats):
        known = tuple(c for c in stated.caveats if c.code not in ("layers_ambiguous", "no_layers"))
        return replace(stated, method="counts", caveats=known)
    text = f"the model has {count} layers, but the trace does not show which kernels are in which"
    return replace(unknown, caveats=(*unknown.caveats, Caveat("model_layers_unplaced", text, 1, "warning")))


def _as_passes(found: Layers, main: Stack) -> Layers:
    """A multiple of the model's layers is so many passes of it."""
    passes = found.layers // main.layers
    text = (
        f"every counted step runs the {main.layers} layers of the model {passes} times: calls per step are those of all"
        " passes together"
    )
    layer = np.where(found.op_layer >= 0, found.op_layer % main.layers, -1).astype(np.int32)
    caveats = (*found.caveats, Caveat("several_passes", text, passes, "warning"))
    return replace(found, op_layer=layer, layers=main.layers, caveats=caveats)


def _contradicted(trace: Trace, model: Model, found: Layers, wanted: int | None) -> Layers:
    has = " + ".join(f"{stack.layers} ({stack.name})" for stack in model.stacks)
    if wanted is None:
        raise ModelContradictedError(
            "the trace and the model's configuration disagree on the layers", where=trace.path,
            expected=f"{has} layers of {model.family}", found=f"{found.layers} by {found.method}",
            advice="Is this the model that ran? For a stage of a pipeline, state its layers with --layers.",
        )  # fmt: skip
    text = f"the model has {has} layers, {wanted} were asked for; types of layers are unknown"
    return replace(found, caveats=(*found.caveats, Caveat("model_contradicted", text, 1, "warning")))


def _named(trace: Trace, found: Layers, types: tuple[str, ...]) -> Layers:
    """The layers with their types, unless kernels that run in as many layers as a type has run in others."""
    kinds, totals = np.unique(types, return_counts=True)
    hits = pl.DataFrame({"name": trace.gpu_ops["name"].to_physical(), "layer": found.op_layer}).filter(
        pl.col("layer") >= 0
    )
    hits = hits.unique().join(
        pl.DataFrame({"layer": np.arange(len(types), dtype=np.int32), "type": types}), on="layer", how="left"
    )
    spread = (
        hits.group_by("name")
        .agg(pl.len().cast(pl.Int64).alias("layers"), pl.col("type").n_unique().alias("types"), pl.col("type").first())
        .join(pl.DataFrame({"type": kinds, "total": totals.astype(np.int64)}), on="type", how="left")
    )
    telling = spread.filter(pl.col("layers").is_in(totals.tolist()) & (pl.col("layers") < len(types)))
    pure = telling.filter((pl.col("types") == 1) & (pl.col("layers") == pl.col("total")))
    odd = telling.height - pure.height
    if odd <= pure.height:
        return replace(found, types=types)
    text = "the kernels of the trace run in other layers than the configuration says: types of layers are unknown"
    return replace(found, caveats=(*found.caveats, Caveat("model_types_differ", text, odd, "warning")))
