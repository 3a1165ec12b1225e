"""A step beside its projection as a Drawing: streams, waits, the critical path, and what is saved so far."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import polars as pl

from trace_budget.pages.strip import typical_step
from trace_budget.projection.candidates import Candidate, CandidateSet
from trace_budget.projection.chosen_claims import chosen_claims
from trace_budget.projection.replay.moved_step import LAUNCH, MovedStep, moved_step
from trace_budget.projection.replay.stretch import OP_BUDGET
from trace_budget.schema.findings import Findings, Int64Array
from trace_budget.schema.timeline import NOTES, Drawing
from trace_budget.text import cut_middle
from trace_budget.units import NS_PER_US

MEASURED, PROJECTED = 0, 1
MOST_TITLE = 80
LEAST_WAIT_NS = 100  # AMD leaves 1 ns between kernels that follow each other: no wait anybody wants to see
BOUNDS = ("saved so far, low", "saved so far, expected", "saved so far, high")


@dataclass(frozen=True, slots=True)
class _State:
    """The stretch in one state: rows that are there, and when they start and end (ns from the begin)."""

    process: int
    rows: Int64Array
    start_ns: Int64Array
    end_ns: Int64Array
    held_by: Int64Array


def drawing(found: Findings, moved: MovedStep, titles: tuple[str, str]) -> Drawing:
    """The Drawing of a stretch: process 0 as measured, process 1 as projected, both from 0 on.

    Each stream is a track; ops that overlap on one stream get further ones. Waits are the times in which the device
    runs nothing for LEAST_WAIT_NS or longer. Categories: kernel, memcpy or memset, with `affected` (the candidate takes
    the call) and `critical`; wait, with `moved` when its length changed.
    """
    whole = np.arange(moved.line.size)
    stay = whole[~moved.gone]
    states = (
        _State(MEASURED, whole, moved.start_ns, moved.end_ns, moved.held_by),
        _State(PROJECTED, stay, moved.new_start_ns[stay], moved.new_end_ns[stay], moved.new_held_by[stay]),
    )
    ops = _ops(found, moved)
    idle = [_idle(state) for state in states]
    slices, tracks, flows = [], [], []
    for state, own, other in zip(states, idle, idle[::-1], strict=True):
        path = moved.path(projected=state.process == PROJECTED)
        drawn, lanes = _drawn(ops, state, moved, path)
        slices += [drawn, _waits(ops, state, own, other)]
        tracks += [*lanes, (state.process, "waits", "waits")]
        flows += [(state.process, before, after) for before, after in pairwise(path)]
    return _assembled(titles, slices, tracks, flows, _counters(moved))


def _ops(found: Findings, moved: MovedStep) -> pl.DataFrame:
    """What is known of each row besides its times."""
    ids = moved.line.op_id
    chosen: pl.DataFrame = found.trace.gpu_ops.select(pl.col("kind", "name", "stream").gather(ids))
    return chosen.with_columns(
        pl.col("kind").cast(pl.String),
        pl.col("name").cast(pl.String),
        pl.Series("op_id", ids),
        pl.Series("layer", found.layers.op_layer[ids].astype(np.int64)).replace(-1, None),
        pl.Series("position", found.layers.op_position[ids].astype(np.int64)).replace(-1, None),
        pl.Series("step", found.steps.op_step[ids].astype(np.int64)),
        pl.Series("affected", moved.hit),
        pl.int_range(pl.len()).alias("row"),
    )


def _drawn(
    ops: pl.DataFrame, state: _State, moved: MovedStep, path: list[int]
) -> tuple[pl.DataFrame, list[tuple[int, str, str]]]:
    """The slices of a state's ops and the tracks they lie on."""
    mine: pl.DataFrame = ops.select(pl.all().gather(state.rows))
    lane = _lanes(mine["stream"].fill_null(-1).to_numpy(), state.start_ns, state.end_ns)
    stream = mine["stream"].cast(pl.String).fill_null("unknown")
    key = ("stream " + stream + pl.Series([f" ({n + 1})" if n else "" for n in lane.tolist()])).alias("key")
    categories = pl.concat_str(
        "kind",
        pl.when("affected").then(pl.lit("affected")),
        pl.when("critical").then(pl.lit("critical")),
        separator=",",
        ignore_nulls=True,
    )
    earlier, shorter = (
        moved.start_ns - moved.new_start_ns,
        moved.end_ns - moved.start_ns - moved.new_end_ns + moved.new_start_ns,
    )
    holder = [_holder(ops, row) for row in state.held_by.tolist()]
    slices = mine.with_columns(
        key,
        pl.Series("critical", np.isin(state.rows, path)),
        pl.Series("start_ns", state.start_ns),
        pl.Series("duration_ns", state.end_ns - state.start_ns),
        pl.Series("earlier_ns", earlier[state.rows]),
        pl.Series("shorter_ns", shorter[state.rows]),
        pl.Series("held_by", holder, dtype=pl.String),
        pl.lit(state.process).alias("process"),
    ).with_columns(categories.alias("categories"))
    names = slices["key"].unique(maintain_order=True).sort().to_list()
    return slices.drop("kind", "stream", "affected", "critical"), [(state.process, name, name) for name in names]


def _holder(ops: pl.DataFrame, row: int) -> str | None:
    """What let an op start, in words."""
    if row == LAUNCH:
        return "its launch"
    return f"op {ops['op_id'][row]}" if row >= 0 else None


def _lanes(stream: Int64Array, start_ns: Int64Array, end_ns: Int64Array) -> Int64Array:
    """For each op the first lane of its stream that is free when it starts."""
    out = np.zeros(stream.size, dtype=np.int64)
    free: dict[int, list[int]] = {}
    for row in np.lexsort((end_ns, start_ns)).tolist():
        ends, begin = free.setdefault(int(stream[row]), []), int(start_ns[row])
        lane = next((n for n, end in enumerate(ends) if end <= begin), len(ends))
        if lane == len(ends):
            ends.append(0)
        ends[lane] = int(end_ns[row])
        out[row] = lane
    return out


def _idle(state: _State) -> pl.DataFrame:
    """The waits of a state: row (of the op that ends it), start_ns, duration_ns."""
    order = np.lexsort((state.end_ns, state.start_ns))
    reach = np.maximum.accumulate(state.end_ns[order])
    wait = state.start_ns[order][1:] - reach[:-1]
    inside = np.flatnonzero(wait >= LEAST_WAIT_NS)
    return pl.DataFrame(
        {"row": state.rows[order][1:][inside], "start_ns": reach[:-1][inside], "duration_ns": wait[inside]}
    )


def _waits(ops: pl.DataFrame, state: _State, own: pl.DataFrame, other: pl.DataFrame) -> pl.DataFrame:
    """The waits as slices, named after the op that ends them; `was_ns` is their length in the other state."""
    lengths = other.select("row", pl.col("duration_ns").alias("was_ns"))
    named = own.join(lengths, on="row", how="left").join(
        ops.select("row", "name", "op_id", "layer", "step"), on="row", how="left"
    )
    moved = pl.when(pl.col("was_ns").fill_null(0) != pl.col("duration_ns")).then(pl.lit("wait,moved"))
    return named.with_columns(
        moved.otherwise(pl.lit("wait")).alias("categories"),
        (pl.lit("wait for ") + pl.col("name")).alias("name"),
        pl.col("was_ns").fill_null(0),
        pl.lit("waits").alias("key"),
        pl.lit(state.process).alias("process"),
    )


def _counters(moved: MovedStep) -> pl.DataFrame:
    """How much earlier all that has ended so far did so, over the projected time; one series per bound."""
    if moved.line.size == 0:
        return pl.DataFrame(schema={"process": pl.Int64, "name": pl.String, "time_ns": pl.Int64, "value": pl.Float64})
    order = np.lexsort((moved.start_ns, moved.end_ns))
    before = np.maximum.accumulate(moved.end_ns[order])
    times = np.maximum.accumulate(moved.new_end_ns[order])
    frames = []
    for name, saved in zip(BOUNDS, moved.saved_ns, strict=True):
        after = np.maximum.accumulate(moved.end_ns[order] - saved[order])
        frames.append(
            pl.DataFrame({"time_ns": times, "value": (before - after) / NS_PER_US}).with_columns(
                pl.lit(name).alias("name")
            )
        )
    changed = (pl.col("value") != pl.col("value").shift(1)).fill_null(value=True)
    series = [frame.filter(changed | (pl.int_range(pl.len()) == pl.len() - 1)) for frame in frames]
    rows = pl.concat(series).unique(["name", "time_ns"], keep="last", maintain_order=True)
    return rows.with_columns(pl.lit(PROJECTED).cast(pl.Int64).alias("process")).sort("time_ns", "name")


def _assembled(
    titles: tuple[str, str],
    slices: list[pl.DataFrame],
    tracks: list[tuple[int, str, str]],
    flows: list[tuple[int, int, int]],
    counters: pl.DataFrame,
) -> Drawing:
    """Numbers for tracks and slices, and flows between slices that last."""
    frame = pl.DataFrame(tracks, schema={"process": pl.Int32, "key": pl.String, "name": pl.String}, orient="row")
    numbered = frame.with_row_index("track").with_columns(pl.col("track").cast(pl.Int64))
    every = pl.concat(slices, how="diagonal_relaxed").join(numbered.drop("name"), on=["process", "key"])
    rows = (
        every.sort("track", "start_ns", "duration_ns")
        .with_row_index("slice")
        .with_columns(pl.col("slice").cast(pl.Int64))
    )
    at = rows.filter((pl.col("key") != "waits") & (pl.col("duration_ns") > 0)).select("process", "row", "slice")
    pairs = pl.DataFrame(flows, schema={"process": pl.Int32, "before": pl.Int64, "after": pl.Int64}, orient="row")
    linked = pairs.join(at, left_on=["process", "before"], right_on=["process", "row"]).join(
        at, left_on=["process", "after"], right_on=["process", "row"], suffix="_to"
    )
    columns = ("slice", "track", "name", "categories", "start_ns", "duration_ns", *NOTES)
    return Drawing(
        titles,
        numbered.select("track", pl.col("process").cast(pl.Int64), "name"),
        rows.select(columns),
        linked.select(pl.col("slice").alias("from_slice"), pl.col("slice_to").alias("to_slice")).sort("from_slice"),
        counters.select("process", "name", "time_ns", "value"),
    )


def timeline(found: Findings, wanted: Candidate | CandidateSet, several: bool) -> Drawing:
    """The typical step with and without the candidates; `several`: all counted steps that a stretch may hold.

    Raises NotInTraceError when a candidate matches nothing, UsageError when its saving contradicts the trace.
    """
    claims = chosen_claims(found, wanted)
    first, last = _several(found) if several else (typical_step(found),) * 2
    moved = moved_step(found, claims, first, last)
    steps = f"step {first}" if first == last else f"steps {first} to {last}"
    partial = "" if found.trace.complete else " of a PARTIAL file"
    return drawing(found, moved, (f"measured, {steps}{partial}", f"projected, {steps}{partial}: {_told(wanted)}"))


def _several(found: Findings) -> tuple[int, int]:
    """The first counted step and the last up to which the ops fit the budget."""
    used = found.steps.used.tolist()
    sizes = np.bincount(found.steps.op_step[found.steps.op_step >= 0], minlength=found.steps.frame.height)
    total = np.cumsum(sizes[used[0] : used[-1] + 1])
    within = max(int(np.searchsorted(total, OP_BUDGET, side="right")), 1)
    return used[0], min(used[0] + within - 1, used[-1])


def _told(wanted: Candidate | CandidateSet) -> str:
    """The candidates in a few words."""
    candidates = [wanted] if isinstance(wanted, Candidate) else list(wanted.candidates)
    names = [
        c.id or (c.selection.kernel if c.selection else " + ".join(c.sequence.patterns) if c.sequence else "")
        for c in candidates
    ]
    return cut_middle(", ".join(names), MOST_TITLE)
