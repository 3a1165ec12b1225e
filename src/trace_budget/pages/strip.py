"""One step as bars in time, as measured and as projected, on one axis."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from trace_budget.analysis.floor import dispatch_floor
from trace_budget.pages.pictures import Marked
from trace_budget.projection.claimed_saving import FloatArray
from trace_budget.projection.replay.moved_step import MovedStep, moved_step
from trace_budget.projection.replay.schedule import Claim
from trace_budget.projection.replay.stretch import stretch
from trace_budget.schema.findings import Findings, Int64Array
from trace_budget.schema.page import Strip, View
from trace_budget.units import NS_PER_US, us_from_ns

MOST_BARS = 3_000  # per state of the step: more could not be distinguished, and make the page slow
PIECES = 1_000  # of the step, when its ops are too many to be drawn one by one
MOST_STREAMS = 6
AROUND = 2.0  # how much of its own length is shown on either side of a call


@dataclass(frozen=True, slots=True)
class _State:
    """The step in one state: when each of its ops starts and ends in ns, and which are not there any more."""

    title: str
    start_ns: FloatArray
    end_ns: FloatArray
    gone: np.ndarray | None = None


def step_strip(found: Findings, step: int, marked: Marked, claims: tuple[Claim, ...] = ()) -> Strip:
    """One step with the marked ops in colour.

    With claims (of candidates that take different calls) the step stands there twice, measured and projected, both from
    0 on. The projected one moves each op by its expected shift in this step alone, and lacks the ops that vanish.
    """
    line = stretch(found.trace, found.steps, step, step, dispatch_floor(found.trace), closing=False)
    states = [_State("measured", line.start_ns.astype(np.float64), line.end_ns.astype(np.float64))]
    if claims:
        states.append(_projected(moved_step(found, claims, step, step)))
    hit = np.isin(line.op_id, marked.op_id)
    lane, titles = _lanes(found.trace.gpu_ops["stream"].gather(line.op_id))
    kernel = found.trace.gpu_ops["name"].gather(line.op_id).cast(pl.String)
    ops = pl.DataFrame({"row": lane, "matched": hit, "kernel": kernel})
    piece_ns = 0.0 if line.size <= MOST_BARS else float(line.end_ns.max()) / PIECES
    return Strip(
        tuple(f"{state.title}, {title}" for state in states for title in titles),
        pl.concat([_bars(ops, state, place * len(titles), piece_ns) for place, state in enumerate(states)]),
        tuple(us_from_ns(float(state.end_ns.max())) for state in states for _ in titles),
        _views(found.layers.op_layer[line.op_id], hit, states),
        marked.title,
        piece_ns / NS_PER_US,
    )


def typical_step(found: Findings) -> int:
    """The counted step whose window is nearest the median; the first of equals."""
    rows = found.steps.frame.filter(pl.col("used")).with_columns(
        (pl.col("window_ns") - pl.col("window_ns").median()).abs().alias("off")
    )
    return int(rows.sort("off", "step_index")["step_index"][0])


def _projected(moved: MovedStep) -> _State:
    return _State("projected", moved.new_start_ns.astype(np.float64), moved.new_end_ns.astype(np.float64), moved.gone)


def _lanes(stream: pl.Series) -> tuple[Int64Array, tuple[str, ...]]:
    """A lane for each op by its stream, the busiest first; rare streams share the last lane."""
    values, place, counts = np.unique(stream.fill_null(-1).to_numpy(), return_inverse=True, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    rank = np.empty(values.size, dtype=np.int64)
    rank[order] = np.arange(values.size)
    titles = ["stream unknown" if values[i] == -1 else f"stream {values[i]}" for i in order]
    if values.size > MOST_STREAMS:
        titles = [*titles[: MOST_STREAMS - 1], f"{values.size - MOST_STREAMS + 1} other streams"]
    lane: Int64Array = np.minimum(rank, MOST_STREAMS - 1)[place]
    return lane, tuple(titles)


def _bars(ops: pl.DataFrame, state: _State, first_row: int, piece_ns: float) -> pl.DataFrame:
    """One bar per op, or per run of like ops in each piece of the step."""
    timed = ops.with_columns(
        (pl.col("row") + first_row).alias("row"),
        pl.Series("start_us", state.start_ns / NS_PER_US),
        pl.Series("end_us", state.end_ns / NS_PER_US),
        pl.lit(1, dtype=pl.Int64).alias("ops"),
    )
    timed = timed if state.gone is None else timed.filter(~pl.Series(state.gone))
    if piece_ns:
        keys = ["row", "matched", (pl.col("start_us") * 1000 // piece_ns).alias("piece")]
        timed = timed.group_by(keys, maintain_order=True).agg(
            pl.col("start_us").min(),
            pl.col("end_us").max(),
            pl.col("kernel").first(),
            pl.len().cast(pl.Int64).alias("ops"),
        )
    width = (pl.col("end_us") - pl.col("start_us")).alias("width_us")
    return timed.select("row", "start_us", width, "matched", "kernel", "ops")


def _views(op_layer: np.ndarray, hit: np.ndarray, states: list[_State]) -> tuple[View, ...]:
    """The whole step, one layer and one call; wide enough to show where the projection moves them."""
    whole = View("whole step", 0.0, us_from_ns(float(states[0].end_ns.max())))
    if not hit.any():
        return (whole,)
    call = int(np.flatnonzero(hit)[int(hit.sum()) // 2])
    one = np.arange(hit.size) == call
    layer = (op_layer == op_layer[call]) if op_layer[call] >= 0 else one
    views = [("one layer", layer, 0.02)] if layer.sum() > 1 else []
    return (whole, *(_view(title, rows, room, states) for title, rows, room in [*views, ("one call", one, AROUND)]))


def _view(title: str, rows: np.ndarray, room: float, states: list[_State]) -> View:
    begin = us_from_ns(min(float(state.start_ns[rows].min()) for state in states))
    end = us_from_ns(max(float(state.end_ns[rows].max()) for state in states))
    length = us_from_ns(float(states[0].end_ns[rows].max() - states[0].start_ns[rows].min()))
    return View(title, max(begin - room * length, 0.0), end + room * length)
