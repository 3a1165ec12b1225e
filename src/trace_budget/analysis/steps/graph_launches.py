"""Steps from graph launches: one a step for a whole model, a repeated pattern of them for a model in pieces."""

from __future__ import annotations

import numpy as np
import polars as pl

from trace_budget.analysis.layers.tandem import best_run
from trace_budget.analysis.steps.annotated import FoundSteps
from trace_budget.analysis.steps.unnamed import unnamed_steps
from trace_budget.intervals import covered_length, gaps
from trace_budget.schema.findings import Int64Array
from trace_budget.schema.trace import Trace

MIN_STEPS = 2
REPEATS = 0.9  # share of the launches whose size must come again one pattern later
TELLING = 0.6  # the same among the launches that are not of the commonest size
STRAY = 0.1  # sizes of a smaller share of the launches come from kernels lost in recording
WHOLE_MODEL = 0.5  # a graph that repeats layers over this share of its kernels is a whole model, not a piece
CANDIDATES = 64  # patterns tried


def by_graph_launches(trace: Trace, in_scope: np.ndarray) -> FoundSteps | None:
    """One step per period of the graph-launch sequence; the host time of its first launch is the boundary.

    A launch whose kernels repeat layers is a whole model: a step of its own, whatever the others replay. Pieces of a
    model make a step together: the shortest pattern of replayed kernel counts that repeats, cut where the device idles.
    """
    launch = trace.gpu_ops["launch_id"].fill_null(-1).to_numpy()
    owned = in_scope & (launch >= 0)
    replayed = np.bincount(launch[owned], minlength=trace.calls.height)
    graphs = np.flatnonzero((trace.calls["kind"] == "graph_launch").to_numpy() & (replayed > 0))
    if graphs.size == 0:
        return None
    whole = _whole_models(trace, launch, graphs, replayed)
    period = 1 if whole else _period_of(replayed[graphs])
    if period is None or not (whole or graphs.size >= MIN_STEPS * period):
        return None
    heads = graphs[_rotation(trace, owned, graphs, period) :: period]
    starts = trace.calls["start_ns"].to_numpy()
    step_of_call = np.searchsorted(starts[heads], starts, side="right") - 1
    op_step = np.full(launch.size, -1, dtype=np.int32)
    op_step[owned] = step_of_call[launch[owned]]
    threads = trace.calls["tid"].fill_null(-1).to_numpy()[graphs]
    sure = np.unique(threads).size == 1 and (whole or period > 1)
    method = f"graph launches ({period} a step)" if period > 1 else "graph launches"
    return unnamed_steps(heads.size, op_step, method, "high" if sure else "medium")


def _whole_models(trace: Trace, launch: Int64Array, graphs: Int64Array, replayed: Int64Array) -> bool:
    """Whether graphs of every size replayed hold most of a model: their kernels repeat layers."""
    _, example, votes = np.unique(replayed[graphs], return_index=True, return_counts=True)
    codes = trace.gpu_ops["name"].to_physical().to_numpy()
    for index in example[votes >= min(STRAY * graphs.size, votes.max())]:
        replay = codes[launch == graphs[index]].astype(np.int64)
        run = best_run(replay)
        if run is None or run.stop - run.first < WHOLE_MODEL * replay.size:
            return False
    return True


def _period_of(values: Int64Array) -> int | None:
    """The smallest shift at which the values repeat: 1 when all are equal; None without a repetition.

    Among many equal pieces only the others say where a step begins, so these must repeat for themselves, too.
    """
    distinct, code, votes = np.unique(values, return_inverse=True, return_counts=True)
    if distinct.size == 1:
        return 1
    shifts = [shift for shift in _shifts(code) if _repeats(code, shift, int(np.argmax(votes)))]
    misses = [int(np.count_nonzero(code[:-shift] != code[shift:])) for shift in shifts]
    good = (shift for shift, missed in zip(shifts, misses, strict=True) if missed <= 1.25 * min(misses) + 2)
    return next(good, None)


def _repeats(code: Int64Array, shift: int, usual: int) -> bool:
    again = code[:-shift] == code[shift:]
    telling = again[code[:-shift] != usual]
    return bool(again.mean() >= REPEATS and telling.size and telling.mean() >= TELLING)


def _shifts(code: Int64Array) -> list[int]:
    """Candidate patterns: usual distances from a value to its next, second or third next occurrence."""
    order = np.argsort(code, kind="stable")
    found: list[Int64Array] = []
    for ahead in range(1, 4):
        same = code[order][ahead:] == code[order][:-ahead]
        found.append((order[ahead:] - order[:-ahead])[same])
    distances, votes = np.unique(np.concatenate(found), return_counts=True)
    usual = distances[np.argsort(-(votes * distances), kind="stable")][:CANDIDATES]
    return sorted(int(d) for d in usual if 2 <= d <= code.size // MIN_STEPS)


def _rotation(trace: Trace, owned: np.ndarray, graphs: Int64Array, period: int) -> int:
    """Which launch of the pattern opens a step: the one before which the device usually idles longest."""
    if period == 1:
        return 0
    ops = trace.gpu_ops.filter(pl.Series(owned)).drop_nulls(["start_ns", "end_ns"])
    spans = pl.DataFrame({"launch_id": graphs}).join(
        ops.group_by("launch_id").agg(pl.col("start_ns").min(), pl.col("end_ns").max()), on="launch_id", how="left"
    )
    until = spans["start_ns"].shift(-1).fill_null(0).to_numpy()
    since = spans["end_ns"].fill_null(np.iinfo(np.int64).max).to_numpy()
    idle = covered_length(np.minimum(since, until), until, *gaps(ops["start_ns"].to_numpy(), ops["end_ns"].to_numpy()))
    before = [float(np.median(idle[:-1][(offset - 1) % period :: period])) for offset in range(period)]
    return int(np.argmax(before))
