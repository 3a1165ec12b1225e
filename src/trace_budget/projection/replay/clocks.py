"""How far the clocks of host and device lie apart, as causality shows: no op before its launch, no wait too early.

A launch begins before its op, and a wait ends after what it waited for. Each bounds what has to be added to the times
of the device. Where nothing needs to be added nothing is; else the least that leaves fewest records out of order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from trace_budget.projection.replay.host import TO_HOST
from trace_budget.schema.findings import Int64Array
from trace_budget.schema.trace import Caveat, Trace
from trace_budget.units import us_from_ns

UNBOUNDED_NS = 2**60
WHOLE_DEVICE = r"(?i)(Device|Ctx|Context)Synchronize"
ONE_STREAM = r"(?i)StreamSynchronize"
ODD_SHARE = 0.01  # fewer launches than this behind their ops are slips of single records
AGREEING_SHARE = 0.5  # waits that must say so before the device counts as late: one may be for other work


@dataclass(frozen=True, slots=True)
class Clock:
    """What was added to device times to fit the host's, and what might have been: all of least … most fit.

    `early`: ops that begin before their own launch even so.
    """

    added_ns: int = 0
    least_ns: int = -UNBOUNDED_NS
    most_ns: int = UNBOUNDED_NS
    early: int = 0

    @property
    def unsure_ns(self) -> int:
        """How much further the device may lie behind its launches than it seems; 0 while the clocks are left alone."""
        return max(self.most_ns - self.added_ns, 0) if self.added_ns else 0


def clock_caveats(clocks: Sequence[Clock]) -> tuple[Caveat, ...]:
    """`clocks_apart` and `op_before_launch`, where the times of a trace cannot be true as recorded."""
    apart = [clock for clock in clocks if clock.added_ns]
    early = max((clock.early for clock in clocks), default=0)
    out = []
    if apart:
        clock = max(apart, key=lambda each: abs(each.added_ns))
        side = "behind" if clock.added_ns > 0 else "ahead of"
        most = f"{_us(clock.most_ns)}" if abs(clock.most_ns) < UNBOUNDED_NS else "any"
        least = f"{_us(clock.least_ns)}" if abs(clock.least_ns) < UNBOUNDED_NS else "any"
        text = (
            f"the device's clock is {_us(abs(clock.added_ns))} us {side} the host's, as launches and waits show "
            f"({least} to {most} us fit): times of the host were moved by that"
        )
        out.append(Caveat("clocks_apart", text, len(apart), "warning"))
    if early:
        text = (
            f"{early} launches are recorded behind the start of their op, which keeps the order of its stream instead"
        )
        out.append(Caveat("op_before_launch", text, early, "warning"))
    return tuple(out)


def _us(ns: int) -> str:
    return f"{us_from_ns(ns):g}"


def on_device_clock(trace: Trace, device: int | None) -> tuple[pl.DataFrame, Clock]:
    """The host calls with times of the device's clock, and how far the clocks are apart."""
    ops = trace.gpu_ops.filter(
        pl.col("device").eq_missing(pl.lit(device, pl.Int32)) & pl.col("launch_id").is_not_null()
    ).drop_nulls(["start_ns", "end_ns"])
    if ops.is_empty():
        return trace.calls, Clock()
    least, most = _behind_launch(trace, ops), _before_return(trace, ops)
    added = _fewest_left_out(least, most)
    early = int(np.count_nonzero(least > added))
    lowest = int(least[least <= added].max(initial=-UNBOUNDED_NS))
    clock = Clock(added, lowest, int(most[most >= added].min(initial=UNBOUNDED_NS)), early)
    if not added:
        return trace.calls, clock
    return trace.calls.with_columns(pl.col("start_ns") - added, pl.col("end_ns") - added), clock


def _behind_launch(trace: Trace, ops: pl.DataFrame) -> Int64Array:
    """Per launch the least to add so that its first op begins after it."""
    called = trace.calls["start_ns"].gather(ops["launch_id"])
    first = ops.select("launch_id", (called - ops["start_ns"]).alias("least")).group_by("launch_id").max()
    return first["least"].to_numpy()


def _before_return(trace: Trace, ops: pl.DataFrame) -> Int64Array:
    """Per wait the most to add so that all it waited for ends before it returns; only waits that surely waited."""
    name = pl.col("name").cast(pl.String)
    wanted = name.str.contains(WHOLE_DEVICE)
    if ops["stream"].n_unique() == 1:
        wanted = wanted | name.str.contains(ONE_STREAM)
    waits = trace.calls.filter((pl.col("kind") == "sync") & wanted)
    launched = ops.select("launch_id", "end_ns").sort("launch_id")
    before = np.searchsorted(launched["launch_id"].to_numpy(), waits["launch_id"].to_numpy())
    done = launched["end_ns"].cum_max().to_numpy()
    behind: Int64Array = waits["end_ns"].to_numpy()[before > 0] - done[before[before > 0] - 1]
    return np.concatenate((behind, _blocking_copies(trace, ops)))


def _blocking_copies(trace: Trace, ops: pl.DataFrame) -> Int64Array:
    """The same for copies that return when they are done."""
    copies = ops.filter((pl.col("kind") == "memcpy") & pl.col("name").cast(pl.String).str.contains(TO_HOST))
    calls = trace.calls[copies["launch_id"]]
    surely = ~calls["name"].cast(pl.String).str.contains("(?i)async") & (calls["kind"] == "memcpy")
    return (calls["end_ns"] - copies["end_ns"]).filter(surely).to_numpy()


def _fewest_left_out(least: Int64Array, most: Int64Array) -> int:
    """What to add: the nearest to nothing of all that leave fewest records out of order."""
    if not (least > 0).any() and not (most < 0).any():
        return 0
    if np.mean(most < 0) <= AGREEING_SHARE if most.size else True:
        most = most[most >= 0]
    if np.mean(least > 0) < ODD_SHARE:
        least = least[least <= 0]
    least, most = np.sort(least), np.sort(most)
    tried = np.unique(np.concatenate(([0], least, most)))
    left_out = least.size - np.searchsorted(least, tried, side="right") + np.searchsorted(most, tried, side="left")
    best = tried[left_out == left_out.min()]
    return int(best[np.argmin(np.abs(best))])
