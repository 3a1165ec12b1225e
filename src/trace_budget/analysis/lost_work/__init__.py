"""Lost work: launches of the counted steps whose kernels the recording lacks, and replays that are not whole."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from trace_budget.analysis.lost_work.launches import unrecorded_launches
from trace_budget.analysis.lost_work.replays import short_replays
from trace_budget.schema.findings import Steps
from trace_budget.schema.trace import Caveat, Trace

MOST = 0.01  # share of the kernels that may be missing before the counts of the rest are unknown


@dataclass(frozen=True, slots=True)
class LostWork:
    """What the counted steps lack, over all of them.

    `nameless`: launches without a kernel, each of which may have run any. `empty`: graph launches without kernels.
    `by_name`: kernels that replays lack, by code of the name. `share`: all of them, of the kernels there should be.
    """

    nameless: int = 0
    empty: int = 0
    by_name: tuple[tuple[int, int], ...] = ()
    share: float = 0.0
    caveats: tuple[Caveat, ...] = ()

    @property
    def severe(self) -> bool:
        """Whether no count of the steps can be relied on: a whole replay is missing, or more than a little."""
        return self.empty > 0 or self.share > MOST

    def calls_lost(self, codes: set[int]) -> int:
        """How many calls of kernels with these codes may be missing at most, whole replays aside."""
        return self.nameless + sum(count for code, count in self.by_name if code in codes)


def lost_work(trace: Trace, steps: Steps) -> LostWork:
    """What the recording lacks of what the host launched, in the counted steps and beside them."""
    ops = trace.gpu_ops.select("op_id", "kind", "launch_id", pl.col("name").to_physical().cast(pl.Int64).alias("code"))
    ops = ops.with_columns(pl.Series("step_index", steps.op_step))
    launches = unrecorded_launches(trace, steps, ops)
    counted = launches["step_index"].is_in(steps.used.tolist())
    graph = launches["kind"] == "graph_launch"
    nameless, empty = int((counted & ~graph).sum()), int((counted & graph).sum())
    short = short_replays(trace, steps, ops)
    used = short.filter(pl.col("step_index").is_in(steps.used.tolist()))
    by_name = tuple(used.group_by("code").agg(pl.col("missing").sum()).sort("code").rows())
    missing = nameless + sum(count for _, count in by_name)
    recorded = ops.filter((pl.col("kind") == "kernel") & pl.col("step_index").is_in(steps.used.tolist())).height
    share = missing / max(recorded + missing, 1)
    severity = "error" if share > MOST else "warning"
    caveats = (
        *_empty(trace, int(graph.sum()), empty),
        *_nameless(int((~graph).sum()), nameless, severity),
        *_short(short, severity if by_name else "warning"),
    )
    return LostWork(nameless, empty, by_name, share, caveats)


def _empty(trace: Trace, total: int, counted: int) -> tuple[Caveat, ...]:
    if not total:
        return ()
    replays = trace.calls.filter(pl.col("kind") == "graph_launch").height
    where = f", {counted} of them in counted steps: what runs there, and how often, is unknown" if counted else ""
    text = f"{total} of {replays} graph launches have no kernel in the trace{where}"
    return (Caveat("replays_without_kernels", text, total, "error" if counted else "warning"),)


def _nameless(total: int, counted: int, severity: str) -> tuple[Caveat, ...]:
    if counted:
        text = f"{counted} launches in counted steps have no kernel in the trace: calls and sums may be too low"
        return (Caveat("launches_without_kernels", text, counted, severity),)
    text = f"{total} launches beside the counted steps have no kernel in the trace"
    return (Caveat("launches_without_kernels", text, total),) if total else ()


def _short(short: pl.DataFrame, severity: str) -> tuple[Caveat, ...]:
    if short.is_empty():
        return ()
    first = short.filter(pl.col("launch_id") == pl.col("launch_id").first())
    count, whole = short["launch_id"].n_unique(), int(first["whole"][0])
    text = (
        f"{count} graph replays run fewer kernels than their like (for example {whole - int(first['missing'].sum())}"
        f" instead of {whole}): kernels were lost in recording"
    )
    return (Caveat("lost_kernels", text, count, severity),)
