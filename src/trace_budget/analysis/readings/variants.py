"""Variants of one reading: the pace of the steps, and one phase or the mix of all."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl

from trace_budget.schema.findings import Steps

SIGMA_PER_MAD = 1.4826
LONGER = 1.1  # an interval this many times the window holds a wait
REGULAR = 0.15  # a loop's intervals vary by at most this share of their median (its host work varies)
MOST_TIMES = 3.1  # beyond about three windows even a regular interval is that of arriving work, not of the loop
FEWEST = 3  # intervals that show whether they are regular
MIXED_SHARE = 0.05  # share of the device time from which other phases are part of what a token takes
TOKEN_PHASES = ("decode", "mixed", "prefill")
MOST = 4


def with_variants(readings: list[Steps], narrowed: bool) -> list[Steps]:
    """All readings of a trace, the likeliest first, at most four; `narrowed`: the user picked steps or a phase."""
    out: list[Steps] = []
    rest: list[Steps] = []
    for reading in readings:
        phases = [reading] if narrowed else _mixed(reading)
        for place, one in enumerate(phases):
            first, *more = _paced(one)
            (out if place == 0 else rest).append(first)
            rest += more
    return [*out[:1], *rest[: MOST - 1], *out[1:]][:MOST]


def _paced(steps: Steps) -> list[Steps]:
    """The steps at the pace of the device and as served, where the trace does not say which one a token has.

    A regular loop sets its own pace. What waits irregularly, or for long, waits for work to arrive.
    """
    served, device = replace(steps, pace="served"), replace(steps, pace="device")
    if (
        served.measure != "interval"
        or device.step_ns <= 0
        or not served.step_ns > LONGER * max(device.step_ns, _busy(steps))
    ):
        return [served]
    if served.step_ns <= MOST_TIMES * device.step_ns and _regular(steps):
        return [served]
    ratio = f"{served.step_ns / device.step_ns:.1f}"
    return [
        replace(
            device, says=(*steps.says, f"steps wait for work: their distance is {ratio} times their window"),
            settle="--pace device",
        ),
        replace(served, denies=(*steps.denies, "the device idles most of it"), settle="--pace served"),
    ]  # fmt: skip


def _busy(steps: Steps) -> float:
    """How long the device usually works, for whomever, between the starts of two steps."""
    rows = steps.frame.filter(pl.col("used")).drop_nulls("interval_ns")
    return float(np.median(rows["device_busy_ns"].cast(pl.Float64).to_numpy()))


def _regular(steps: Steps) -> bool:
    """Whether the intervals of each class of steps vary little."""
    rows = steps.frame.filter(pl.col("used")).drop_nulls("interval_ns")
    if rows.height < FEWEST:
        return rows["interval_ns"].n_unique() <= 1 or _spread(rows["interval_ns"]) <= REGULAR
    return all(_spread(part["interval_ns"]) <= REGULAR for part in rows.partition_by("phase", "class_index"))


def _spread(values: pl.Series) -> float:
    numbers = values.cast(pl.Float64).to_numpy()
    median = float(np.median(numbers))
    return SIGMA_PER_MAD * float(np.median(np.abs(numbers - median))) / max(median, 1.0)


def _mixed(steps: Steps) -> list[Steps]:
    """The decode steps, and the mean step of all phases where the others take a share worth reporting.

    Sequences get tokens in mixed steps, too: with these the mean step comes first.
    """
    rows = steps.frame.filter(pl.col("complete") & pl.col("phase").is_in(TOKEN_PHASES))
    others = rows.filter(pl.col("phase") != "decode")
    busy = [float(part["busy_ns"].cast(pl.Float64).sum()) for part in (others, rows)]
    share = busy[0] / max(busy[1], 1.0)
    if steps.phase != "decode" or others.is_empty() or share <= MIXED_SHARE:
        return [steps]
    joins = pl.col("complete") & pl.col("phase").is_in(TOKEN_PHASES) & (pl.col("why_out") == "other phase")
    frame = steps.frame.with_columns(
        pl.when(joins).then(pl.lit("")).otherwise("why_out").alias("why_out"), (pl.col("used") | joins).alias("used")
    )
    names = " and ".join(sorted(set(frame.filter("used")["phase"].to_list())))
    detail = f"{100 * share:.0f} % of the device time is in other phases"
    mix = replace(
        steps, frame=frame, method=f"{steps.method}, mean over {names} steps",
        says=(*steps.says, detail), settle="--weights PHASE=SHARE,…",
    )  # fmt: skip
    alone = replace(steps, denies=(*steps.denies, detail), settle="--phase decode")
    has_mixed = (others["phase"] == "mixed").any()
    return [mix, alone] if has_mixed else [alone, mix]
