"""Layers: which repeated model block each kernel of a step belongs to, and its position in it."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import polars as pl

from trace_budget.analysis.layers.modules import by_modules
from trace_budget.analysis.layers.sequence import Cut, cut_sequence
from trace_budget.analysis.layers.template import positions
from trace_budget.schema.findings import Int32Array, Int64Array, Layers, Segment, Steps
from trace_budget.schema.options import Scope
from trace_budget.schema.trace import Caveat, Trace


@dataclass(frozen=True, slots=True)
class _Lane:
    """The kernels of one step on its busiest stream, in time order."""

    stream: int | None
    ops: Int64Array
    codes: Int64Array


def find_layers(trace: Trace, steps: Steps, scope: Scope | None = None) -> Layers:
    """Layers of the used steps: by module names where present, else by tandem repeats of the kernel sequence.

    `scope.layers` overrides the count. Steps that do not count keep -1. Steps with one sequence share one search.
    """
    wanted = scope.layers if scope else None
    op_layer = np.full(trace.gpu_ops.height, -1, dtype=np.int32)
    op_position = np.full(trace.gpu_ops.height, -1, dtype=np.int32)
    modules = by_modules(trace, steps) if wanted is None else None
    kernels = _kernels(trace, steps)
    known: dict[bytes, Cut] = {}
    cuts: list[Cut] = []
    segments: tuple[Segment, ...] = ()
    for rows in _by_step(kernels):
        lane = _lane(rows)
        if modules is not None:
            cut = _from_modules(modules.op_layer[lane.ops])
        else:
            key = lane.codes.tobytes()
            cut = known.get(key) or known.setdefault(key, cut_sequence(lane.codes, wanted))
        cuts.append(cut)
        if cut.starts.size == 0:
            continue
        segments = segments or _segments(cut, lane)
        _fill(op_layer, op_position, rows, lane, cut)
    if modules is not None:
        op_layer = np.where(np.isin(steps.op_step, steps.used), modules.op_layer, -1).astype(np.int32)
    return _result(op_layer, op_position, cuts, segments, modules.module if modules else None, wanted)


def _kernels(trace: Trace, steps: Steps) -> pl.DataFrame:
    """Kernels of the used steps, by step, then start."""
    frame = trace.gpu_ops.select("op_id", "kind", "name", "stream", "start_ns").with_columns(
        pl.Series("step_index", steps.op_step), pl.col("name").to_physical().cast(pl.Int64).alias("code")
    )
    inside = frame.filter(
        (pl.col("kind") == "kernel")
        & pl.col("start_ns").is_not_null()
        & pl.col("step_index").is_in(steps.used.tolist())
    )
    return inside.sort("step_index", "op_id")


def _by_step(kernels: pl.DataFrame) -> list[pl.DataFrame]:
    """One slice per step, without copying."""
    index = kernels["step_index"].to_numpy()
    if index.size == 0:
        return []
    edges = np.concatenate(([0], np.flatnonzero(np.diff(index)) + 1, [index.size]))
    return [kernels.slice(int(low), int(high - low)) for low, high in pairwise(edges)]


def _lane(rows: pl.DataFrame) -> _Lane:
    """The stream with most kernels; the merged order of streams would tear the repetition apart."""
    stream = rows["stream"].fill_null(-1).to_numpy()
    values, counts = np.unique(stream, return_counts=True)
    busiest = int(values[np.argmax(counts)])
    here = stream == busiest
    return _Lane(busiest, rows["op_id"].to_numpy()[here], rows["code"].to_numpy()[here])


def _from_modules(layer: Int32Array) -> Cut:
    """The stretches of one layer in a lane whose layers are known by name."""
    edges = np.flatnonzero(np.diff(layer) != 0) + 1
    starts = np.concatenate(([0], edges)) if layer.size else np.zeros(0, np.int64)
    named = starts[layer[starts] >= 0] if starts.size else starts
    stop = int(np.flatnonzero(layer >= 0)[-1]) + 1 if named.size else 0
    return Cut(named, stop, int(np.unique(layer[layer >= 0]).size), (), "modules", "high")


def _fill(op_layer: Int32Array, op_position: Int32Array, rows: pl.DataFrame, lane: _Lane, cut: Cut) -> None:
    """Write the layers of one step into the per-op arrays (the arrays are this call's own)."""
    place = np.arange(lane.codes.size)
    layer = np.where(
        (place >= cut.starts[0]) & (place < cut.stop), np.searchsorted(cut.starts, place, side="right") - 1, -1
    )
    if cut.gaps is not None:
        layer = np.where(cut.gaps, -1, layer)
    op_layer[lane.ops] = layer
    spot = positions(lane.codes, cut.starts, cut.stop)
    op_position[lane.ops] = np.where(layer >= 0, spot, -1)
    _side_streams(op_layer, op_position, rows, lane, layer)


def _side_streams(
    op_layer: Int32Array, op_position: Int32Array, rows: pl.DataFrame, lane: _Lane, layer: Int64Array
) -> None:
    """Kernels beside the main stream: by count where they run m times a layer, else by the layer running then."""
    beside = rows.filter(pl.col("stream").fill_null(-1) != lane.stream).select("op_id", "code", "start_ns")
    if beside.is_empty():
        return
    count = int(layer.max()) + 1
    begin = rows.filter(pl.col("stream").fill_null(-1) == lane.stream)["start_ns"].to_numpy()
    heads = np.array([int(np.flatnonzero(layer == index)[0]) for index in range(count) if (layer == index).any()])
    ops, codes, start = (beside[c].to_numpy() for c in ("op_id", "code", "start_ns"))
    by_time = np.searchsorted(begin[heads], start, side="right") - 1
    template = int(op_position.max()) + 1
    for offset, code in enumerate(np.unique(codes)):
        mine = np.flatnonzero(codes == code)
        regular = mine.size % count == 0
        op_layer[ops[mine]] = np.arange(mine.size) // (mine.size // count) if regular else by_time[mine]
        op_position[ops[mine]] = np.where(op_layer[ops[mine]] >= 0, template + offset, -1)


def _segments(cut: Cut, lane: _Lane) -> tuple[Segment, ...]:
    stream = None if lane.stream == -1 else lane.stream
    return tuple(Segment(stream, int(lane.ops[s.first]), s.period, s.repeats, s.layers) for s in cut.segments)


def _result(
    op_layer: Int32Array,
    op_position: Int32Array,
    cuts: list[Cut],
    segments: tuple[Segment, ...],
    module: str | None,
    wanted: int | None,
) -> Layers:
    counts = [cut.layers for cut in cuts if cut.layers]
    if not counts:
        text = "no repeated layers found: layers and positions are unknown (--layers N sets the count)"
        return Layers(
            op_layer,
            op_position,
            wanted or 0,
            (),
            "user" if wanted else "none",
            "low",
            (Caveat("no_layers", text, 1, "warning"),),
        )
    values, votes = np.unique(counts, return_counts=True)
    layers = int(values[np.argmax(votes)])
    best = next(cut for cut in cuts if cut.layers == layers)
    caveats: list[Caveat] = []
    if values.size > 1:
        caveats.append(
            Caveat(
                "layers_vary",
                f"{int((np.array(counts) != layers).sum())} step(s) show another layer count than {layers}",
                int(values.size),
                "warning",
            )
        )
    if wanted is not None and layers != wanted:
        caveats.append(
            Caveat(
                "layers_overridden",
                f"the trace shows {layers} layers, {wanted} were asked for; hits are counted over {wanted}",
                1,
                "warning",
            )
        )
        layers = wanted
    method = f"modules ({module})" if module else "user" if wanted is not None else best.method
    return Layers(op_layer, op_position, layers, segments, method, best.confidence, tuple(caveats))
