"""Whose kernels a rocprofv3 CSV holds: its rows name no process, but a guid (`rocpd convert`), a thread, or nothing."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from trace_budget.readers.processes import with_processes
from trace_budget.schema.trace import Caveat

_ADVICE = "Read the database, which names the process of each kernel, or the tables of one process at a time."


def with_pids(ops: pl.DataFrame, host: Sequence[pl.DataFrame], where: str) -> tuple[pl.DataFrame, tuple[Caveat, ...]]:
    """Fill ops.pid by guid, else by thread, else by what launched the work; `host` are calls, then ranges.

    Raises InputError when several processes share a device and cannot be distinguished.
    """
    rows = pl.concat([frame.select("guid", "tid", "pid") for frame in host]).unique(maintain_order=True)
    found = _looked_up(_looked_up(ops, rows, "guid"), rows, "tid")
    numbered, caveats = _by_guid_alone(found)
    return (numbered, caveats) if caveats else with_processes(numbered, host[0], ("device",), where, _ADVICE)


def _looked_up(ops: pl.DataFrame, rows: pl.DataFrame, column: str) -> pl.DataFrame:
    """The process of a guid or thread that one process alone has."""
    if ops[column].null_count() == ops.height:
        return ops
    known = rows.drop_nulls([column, "pid"]).group_by(column).agg(pl.col("pid").unique().alias("pids"))
    owners = known.filter(pl.col("pids").list.len() == 1).select(column, pl.col("pids").list.first().alias("owner"))
    found = ops.select(column).join(owners, on=column, how="left", maintain_order="left")["owner"]
    return ops.with_columns(pl.coalesce(pl.col("pid"), found).alias("pid"))


def _by_guid_alone(ops: pl.DataFrame) -> tuple[pl.DataFrame, tuple[Caveat, ...]]:
    """Processes that only guids distinguish are numbered, so that they are not added up."""
    unnamed = ops.filter(pl.col("pid").is_null())["guid"].drop_nulls().unique(maintain_order=True)
    if not unnamed.len() or ops["guid"].n_unique() < 2:
        return ops, ()
    numbers = pl.DataFrame({"guid": unnamed, "number": range(1, unnamed.len() + 1)})
    number = ops.select("guid").join(numbers, on="guid", how="left", maintain_order="left")["number"]
    text = "processes are told apart by their guids alone, as nothing names them: they are numbered from 1"
    return ops.with_columns(pl.coalesce(pl.col("pid"), number).alias("pid")), (
        Caveat("processes_numbered", text, unnamed.len(), "note", str(unnamed[0])),
    )
