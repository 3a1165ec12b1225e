"""Layers: which repeated model block each kernel of a step belongs to, and its position in it."""

from __future__ import annotations

import numpy as np
import polars as pl

from trace_budget.analysis.layers.as_modelled import with_model
from trace_budget.analysis.layers.lanes import Lane, kernels_of, lanes_of
from trace_budget.analysis.layers.modules import ModuleLayers, by_modules
from trace_budget.analysis.layers.names import Names, names_of
from trace_budget.analysis.layers.sequence import Layering, cut_sequence
from trace_budget.analysis.layers.side_streams import side_layers, side_positions
from trace_budget.analysis.layers.sites import lane_positions
from trace_budget.analysis.model_config import read_model
from trace_budget.schema.findings import Int32Array, Layers, Segment, Steps
from trace_budget.schema.options import Scope
from trace_budget.schema.trace import Caveat, Trace

AGREE = 0.9  # share of steps that must show one layer count; below it the count is unsure


def find_layers(trace: Trace, steps: Steps, scope: Scope | None = None) -> Layers:
    """Layers of the used steps: by module names where present, else by tandem repeats of the kernel sequence.

    `scope.layers` overrides the count. Steps that do not count keep -1. Steps with one sequence share one search. With
    `scope.model` the configuration of the model confirms the count and names the layers.

    Raises ModelContradictedError where the trace shows layers that this model does not have.
    """
    wanted = scope.layers if scope else None
    if scope is None or scope.model is None:
        return _found(trace, steps, wanted)
    return with_model(trace, read_model(scope.model), lambda count: _found(trace, steps, count), wanted)


def _found(trace: Trace, steps: Steps, wanted: int | None) -> Layers:
    """Layers as the trace shows them, or as many as wanted."""
    kernels = kernels_of(trace, steps)
    lanes, names = lanes_of(kernels), names_of(trace.gpu_ops["name"])
    modules = by_modules(trace, steps) if wanted is None else None
    cuts = [_named(lane, modules) for lane in lanes] if modules else _repeated(lanes, wanted, names)
    op_layer = np.full(trace.gpu_ops.height, -1, dtype=np.int32)
    op_position = np.full(trace.gpu_ops.height, -1, dtype=np.int32)
    placed = lane_positions(lanes, cuts, names)
    for lane, cut, positions in zip(lanes, cuts, placed.positions, strict=True):
        op_layer[lane.ops] = cut.layer
        op_position[lane.ops] = positions
    _place_side(kernels, lanes, cuts, modules, op_layer, op_position, placed.length)
    return _result(op_layer, op_position, lanes, cuts, wanted, placed.unplaced)


def _named(lane: Lane, modules: ModuleLayers) -> Layering:
    """The layers of a lane as the modules say."""
    layer = modules.op_layer[lane.ops]
    count = int(np.unique(layer[layer >= 0]).size)
    return Layering(layer, count, (), f"modules ({modules.module})", modules.confidence)


def _repeated(lanes: list[Lane], wanted: int | None, names: Names) -> list[Layering]:
    """The layers of each lane by repetition; lanes with one sequence share one search."""
    known: dict[bytes, Layering] = {}
    cuts: list[Layering] = []
    for lane in lanes:
        key = lane.codes.tobytes()
        if key not in known:
            known[key] = cut_sequence(lane.codes, wanted, names)
        cuts.append(known[key])
    return cuts


def _place_side(
    kernels: pl.DataFrame,
    lanes: list[Lane],
    cuts: list[Layering],
    modules: ModuleLayers | None,
    op_layer: Int32Array,
    op_position: Int32Array,
    first: int,
) -> None:
    """Write layer and position of the kernels beside the lanes into the per-op arrays (the caller's own)."""
    side = kernels.filter(~pl.col("lane"))
    if side.is_empty() or not any(cut.layers for cut in cuts):
        return
    found = pl.concat([_running(lane, cut, side) for lane, cut in _with_side(lanes, cuts, side)])
    found = side_layers(found)
    if modules is not None:
        found = found.with_columns(pl.Series("layer", modules.op_layer[found["op_id"].to_numpy()]))
    rows = found["op_id"].to_numpy()
    op_layer[rows] = found["layer"].to_numpy()
    op_position[rows] = side_positions(found, first).to_numpy()


def _with_side(lanes: list[Lane], cuts: list[Layering], side: pl.DataFrame) -> list[tuple[Lane, Layering]]:
    steps = set(side["step_index"].unique().to_list())
    return [(lane, cut) for lane, cut in zip(lanes, cuts, strict=True) if lane.step in steps]


def _running(lane: Lane, cut: Layering, side: pl.DataFrame) -> pl.DataFrame:
    """The kernels beside one lane with the layer that runs there at their start."""
    index = side["step_index"]
    low, high = (int(index.search_sorted(lane.step, edge)) for edge in ("left", "right"))
    rows = side.slice(low, high - low)
    place = np.searchsorted(lane.start_ns, rows["start_ns"].to_numpy(), side="right") - 1
    running = np.where(place >= 0, cut.layer[np.maximum(place, 0)], -1)
    return rows.select("step_index", "op_id", "code").with_columns(
        pl.Series("running", running, dtype=pl.Int32), pl.lit(max(cut.layers, 1), dtype=pl.Int64).alias("layers")
    )


def _result(
    op_layer: Int32Array,
    op_position: Int32Array,
    lanes: list[Lane],
    cuts: list[Layering],
    wanted: int | None,
    unplaced: int,
) -> Layers:
    counts = np.array([cut.layers for cut in cuts], dtype=np.int64)
    if not counts.any():
        return Layers(
            op_layer, op_position, wanted or 0, (), "user" if wanted else "none", "low", (_unknown(cuts, wanted),)
        )
    values, votes = np.unique(counts[counts > 0], return_counts=True)
    layers = int(values[np.argmax(votes)])
    lane, best = next((lane, cut) for lane, cut in zip(lanes, cuts, strict=True) if cut.layers == layers)
    other = int(np.count_nonzero(counts != layers))
    unsure = other > (1 - AGREE) * counts.size
    confidence = "low" if unsure and best.confidence == "low" else "medium" if unsure else best.confidence
    return Layers(
        op_layer,
        op_position,
        wanted or layers,
        tuple(Segment(lane.stream, int(lane.ops[s.first]), s.period, s.repeats, s.layers) for s in best.segments),
        "user" if wanted else best.method,
        confidence,
        _caveats(best, other, wanted, unplaced),
    )


def _unknown(cuts: list[Layering], wanted: int | None) -> Caveat:
    """Why there are no layers: nothing repeats, or what does may be one layer or several."""
    possible = next((cut.possible for cut in cuts if cut.possible), ())
    if not possible:
        text = "no repeated layers found: layers and positions are unknown (--layers N sets the count)"
        return Caveat("no_layers", text, 1, "warning")
    counts = f"{', '.join(map(str, possible[:-1]))} or {possible[-1]}" if len(possible) > 1 else str(possible[0])
    text = (
        f"what repeats holds several places where tokens mix: these may be {counts} layers, so layers and positions are"
        f" unknown{'' if wanted else ' (--layers N or --model tells)'}"
    )
    return Caveat("layers_ambiguous", text, len(possible), "warning")


def _caveats(best: Layering, other: int, wanted: int | None, unplaced: int) -> tuple[Caveat, ...]:
    out: list[Caveat] = []
    if other:
        text = f"{other} step(s) show another layer count than {best.layers}, or none"
        out.append(Caveat("layers_vary", text, other, "warning"))
    shown = best.shown if best.shown is not None else best.layers
    if wanted and shown and shown != wanted:
        text = f"the trace shows {shown} layers, {wanted} were asked for; hits are counted over {wanted}"
        out.append(Caveat("layers_overridden", text, 1, "warning"))
    if best.passes > 1:
        text = (
            f"every counted step runs the model {best.passes} times (of {best.layers} layers each): calls per step are"
            " those of all passes together"
        )
        out.append(Caveat("several_passes", text, best.passes, "warning"))
    if unplaced:
        text = (
            f"{unplaced} kernels stand in layers too long or of too many kinds: their position in the layer is unknown"
        )
        out.append(Caveat("positions_unknown", text, unplaced, "warning"))
    return tuple(out)
