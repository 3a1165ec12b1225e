"""Whose work device operations are, in formats that name the process of a call and not that of a kernel.

Correlation ids count within a process, so that two processes use the same ones. What distinguishes them: a launch comes
before its work, a wait launches nothing, and a lane (device and context) is one process's. What these cannot decide
stays unknown, and is refused where several processes would be added up.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from trace_budget.errors import InputError
from trace_budget.readers.records import with_call_kinds
from trace_budget.schema.trace import Caveat

_NEVER_LAUNCH = ("sync", "event_record", "stream_wait")
_WHOLE_LANE = 0.98  # of its operations: the others may have been launched before the recording
_FITS = {"kernel": ("launch", "graph_launch", "other"), "memcpy": ("memcpy", "graph_launch", "other")}
_FITS["memset"] = ("memset", "graph_launch", "other")


def with_processes(
    ops: pl.DataFrame, calls: pl.DataFrame, lane: Sequence[str], where: str, advice: str
) -> tuple[pl.DataFrame, tuple[Caveat, ...]]:
    """Fill ops.pid where it is null, from the calls of the same correlation; `lane` are columns of one process each.

    Raises InputError, with `advice`, when several processes share a lane and their work cannot be distinguished.
    """
    launching = calls.drop_nulls(["pid", "correlation"])
    pids = launching["pid"].unique().sort().to_list()
    if not pids or not ops["pid"].null_count():
        return ops, ()
    if len(pids) == 1:
        return ops.with_columns(pl.col("pid").fill_null(pids[0])), ()
    numbered = ops.with_row_index("row")
    fitting = _fitting(numbered, launching, lane)
    owners = fitting.group_by("row").agg(pl.col("pid").first(), pl.len().alias("processes"))
    doubtful = owners.filter(pl.col("processes") > 1)
    if not doubtful.height:
        return _filled(numbered, owners.select("row", "pid"), ["row"]).drop("row"), ()
    by_lane, unsure = _by_lane(fitting, lane, where, advice)
    return _filled(numbered, by_lane, list(lane)).drop("row"), _told(unsure, doubtful.height)


def _fitting(ops: pl.DataFrame, calls: pl.DataFrame, lane: Sequence[str]) -> pl.DataFrame:
    """Which processes (row, lane, pid) can have launched each operation: a fitting call of its id came before it."""
    kinds = calls if "kind" in calls.columns else with_call_kinds(calls)
    able = kinds.filter(~pl.col("kind").cast(pl.String).is_in(_NEVER_LAUNCH))
    first = able.select("correlation", "pid", called_as=pl.col("kind").cast(pl.String), called_ns="start_ns")
    wanted = ops.filter(pl.col("pid").is_null()).select(
        "row", *lane, "correlation", "start_ns", kind=pl.col("kind").cast(pl.String)
    )
    pairs = wanted.join(first, on="correlation").filter(pl.col("called_ns") <= pl.col("start_ns"))
    fits = pl.any_horizontal((pl.col("kind") == kind) & pl.col("called_as").is_in(able) for kind, able in _FITS.items())
    return pairs.filter(fits).select("row", *lane, "pid").unique(maintain_order=True)


def _by_lane(fitting: pl.DataFrame, lane: Sequence[str], where: str, advice: str) -> tuple[pl.DataFrame, list[int]]:
    """The process of each lane (lane, pid; null where several fit), and the processes that were not distinguished."""
    sizes = fitting.group_by(lane).agg(pl.col("row").n_unique().alias("rows"))
    shares = fitting.group_by(*lane, "pid").len().join(sizes, on=list(lane), nulls_equal=True)
    whole = shares.filter(pl.col("len") >= _WHOLE_LANE * pl.col("rows"))
    found = whole.group_by(lane).agg(pl.len().alias("fitting"), pl.col("pid").first())
    sure = found.filter(pl.col("fitting") == 1)
    pids = set(fitting["pid"].unique().to_list())
    unsure = sorted(pids - set(sure["pid"].to_list()))
    # as many lanes as processes are left: none shares one, though nothing shows which is whose
    if len(unsure) > sizes.height - sure.height:
        raise _shared(fitting, lane, sorted(pids), where, advice)
    return sure.select(*lane, "pid"), unsure


def _shared(fitting: pl.DataFrame, lane: Sequence[str], pids: list[int], where: str, advice: str) -> InputError:
    shown = ", ".join(map(str, pids[:4])) + (", …" if len(pids) > 4 else "")
    return InputError(
        "the kernels of several processes cannot be told apart",
        where=where,
        expected="a process for each kernel, or a device for each process",
        found=f"processes {shown} with the same correlation ids on {fitting.select(lane).n_unique()} device context(s)",
        advice=advice,
    )


def _filled(ops: pl.DataFrame, owners: pl.DataFrame, on: list[str]) -> pl.DataFrame:
    found = ops.select(on).join(owners, on=on, how="left", nulls_equal=True, maintain_order="left")
    return ops.with_columns(pl.coalesce(pl.col("pid"), found["pid"]).alias("pid"))


def _told(unsure: list[int], count: int) -> tuple[Caveat, ...]:
    text = (
        f"calls of {len(unsure)} processes fit the work of each device: which process worked on which device, and what"
        " launched that work, is unknown"
    )
    return (Caveat("processes_unknown", text, count, "warning", ", ".join(map(str, unsure))),) if unsure else ()


def keys_of(ops: pl.DataFrame, calls: pl.DataFrame) -> tuple[str, ...]:
    """What names the launching call: process and correlation where both sides know processes, else correlation."""
    known = ops["pid"].null_count() < ops.height and calls["pid"].null_count() < calls.height
    several = calls["pid"].n_unique() > 1
    return ("pid", "correlation") if known or several else ("correlation",)
