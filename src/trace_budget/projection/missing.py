"""Calls that the recording lost: how many more a step may make, and what they would save."""

from __future__ import annotations

from dataclasses import dataclass, replace

import polars as pl

from trace_budget.analysis.lost_work import LostWork
from trace_budget.projection.bounds import Bounds
from trace_budget.projection.claimed_saving import FloatArray, Saving
from trace_budget.projection.match import Match
from trace_budget.schema.findings import Findings, Steps
from trace_budget.schema.options import Change

NEARLY = 1e-9


@dataclass(frozen=True, slots=True)
class Missing:
    """Calls per step beyond the recorded ones: `known` of them certainly, `most` of them perhaps."""

    known: float = 0.0
    most: float = 0.0


def missing_calls(lost: LostWork, found: Findings, change: Change, match: Match, durations_ns: FloatArray) -> Missing:
    """How many calls per step a match lacks: as the user's number of calls says, where that can be, else at most."""
    most = lost.calls_lost(_codes(lost, found, match)) / max(match.steps, 1)
    if lost.empty:
        most += _idle_ns(found.steps) / max(float(durations_ns.mean()), 1.0)
    if change.calls is not None and not change.force:
        more = change.calls - match.calls_per_step
        return Missing(more, more) if NEARLY < more <= most + NEARLY else Missing()
    return Missing(0.0, most)


def _codes(lost: LostWork, found: Findings, match: Match) -> set[int]:
    if not lost.by_name:
        return set()
    rows = found.trace.gpu_ops["name"].gather(match.ops["op_id"].to_numpy())
    return set(rows.to_physical().cast(pl.Int64).unique().to_list())


def _idle_ns(steps: Steps) -> float:
    """Time of a step in which nothing is known to run: whole replays that were lost ran there."""
    busy = steps.frame.filter("used")["busy_ns"].median()
    return max(steps.step_ns - float(busy), 0.0) if isinstance(busy, (int, float)) else 0.0


def with_missing(limits: Bounds, missing: Missing, saving: Saving) -> Bounds:
    """The bounds lifted by what the missing calls would save, if they are like the recorded ones."""
    if missing.most <= 0:
        return limits
    sure = max(missing.known * float(saving.expected.mean()), 0.0)
    perhaps = max(missing.most * float(saving.high.mean()), sure)
    return replace(
        limits,
        naive=limits.naive + sure,
        chain=limits.chain + perhaps,
        expected=limits.expected + sure,
        high=limits.high + perhaps,
    )


def unknown_calls(lost: LostWork, change: Change) -> str:
    """Why no count can be relied on, unless the user states it; else ''."""
    if not lost.severe or change.calls is not None or change.force:
        return ""
    what = "whole replays" if lost.empty else f"{100 * lost.share:.1f} % of the kernels"
    return (
        f"{what} of the counted steps were lost in recording, so how often the kernel runs is unknown: state the calls"
        " per step (--calls), or record again"
    )
