"""The dispatch floor of a trace: how short a recorded kernel can be, and how far apart back-to-back kernels lie."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from trace_budget.schema.trace import Trace

FLOOR_QUANTILE = 0.01
ENOUGH = 20
NEAR_ZERO_NS = 50_000  # gaps beyond this are idle time, not dispatch


@dataclass(frozen=True, slots=True)
class Floor:
    """How short kernels get and how close together they run, in ns.

    `floor_ns`: 1st percentile of kernel durations (None with too few kernels); `gap_ns`: usual gap between neighbours
    on one stream; `gap_max_ns`: the largest gap that still means "back to back" (g_max of the bounds);
    `abutting_share`: share of neighbours that touch exactly, the sign that the gap is booked into the duration.
    """

    floor_ns: int | None
    gap_ns: int
    gap_max_ns: int
    abutting_share: float


def dispatch_floor(trace: Trace) -> Floor:
    """Measure the floor on all kernels with usable times; gaps per (device, stream) in time order."""
    ops = trace.gpu_ops.filter(pl.col("kind") == "kernel").drop_nulls(["start_ns", "end_ns"])
    if ops.height < 2:
        return Floor(None, 0, 2_000, 0.0)
    durations = (ops["end_ns"] - ops["start_ns"]).to_numpy()
    ordered = ops.sort("device", "stream", "op_id")
    # Where branches share one recorded stream, an op follows the one that ended last, not the one before it.
    reach = ordered.select(pl.col("end_ns").cum_max().shift().over("device", "stream"))["end_ns"]
    gap = (ordered["start_ns"] - reach).to_numpy()
    same = (
        ordered["device"].eq_missing(ordered["device"].shift())
        & ordered["stream"].eq_missing(ordered["stream"].shift())
    ).to_numpy()
    gaps = np.asarray(gap[same & (np.arange(gap.size) > 0)], dtype=np.float64)
    near = gaps[(gaps >= 0) & (gaps < NEAR_ZERO_NS)]
    longest = _gap_max(near)
    return Floor(
        int(np.quantile(durations, FLOOR_QUANTILE)) if durations.size >= ENOUGH else None,
        # Where the host sets the pace the usual gap is idle time; dispatch is never longer than the longest of it.
        min(int(np.median(near)), longest) if near.size else 0,
        longest,
        float(np.mean(np.abs(gaps) <= 2)) if gaps.size else 0.0,
    )


def _gap_max(near: np.ndarray) -> int:
    """The end of the near-zero mode of the gaps: three times the usual gap, kept between 2 and 5 us.

    1.5-3 us on NVIDIA and 0-2 us on ROCm were measured; a larger value widens the bounds, a smaller one breaks them.
    """
    usual = float(np.median(near)) if near.size else 0.0
    return int(min(max(3.0 * usual, 2_000.0), 5_000.0))
