"""From the raw records of a profiler database to a checked Trace: times, launch links and caveats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import polars as pl

from trace_budget.readers.copy_devices import with_devices_of_copies
from trace_budget.readers.work_kinds import with_kinds_by_name
from trace_budget.schema import build, caveats
from trace_budget.schema.check import checked
from trace_budget.schema.tables import CALLS, GPU_OPS, MARKERS, SYNCS
from trace_budget.schema.trace import Caveat, Trace


class Source(Protocol):
    """What was read: a file, or a folder of files."""

    @property
    def path(self) -> Path:
        """What the user named."""

    @property
    def damage(self) -> str:
        """Why it may be incomplete, else ''."""


class Tables(Source, Protocol):
    """A set of named tables: an SQLite file or a folder of Parquet files."""

    def has(self, table: str, *columns: str) -> bool:
        """Whether the table exists with all these columns."""

    def read(self, table: str, columns: Mapping[str, pl.DataType]) -> pl.DataFrame:
        """Columns of one table as Int64 or String; what it lacks is null."""


@dataclass(frozen=True, slots=True)
class Records:
    """Raw columns as a database holds them, named like the declared tables where they mean the same.

    `earliest_ns` is the first start that can be true: 0 for clocks that start with the recording.
    `keys` are the columns `ops` and `calls` share that name the launching call; they need not be declared columns.
    Unusable times are allowed. `calls` may carry `kind`, else it follows from the API name.
    `lost` counts the numbers beyond 64 bits, which are null here.
    """

    ops: pl.DataFrame
    calls: pl.DataFrame
    markers: pl.DataFrame
    keys: tuple[str, ...]
    syncs: pl.DataFrame = field(default_factory=SYNCS.empty)
    caveats: tuple[Caveat, ...] = ()
    earliest_ns: int = 1
    lost: int = 0


def trace_of(source: Source, format_name: str, records: Records, **facts: Any) -> Trace:
    """The checked Trace of these records; `facts` are further fields of Trace (device_name, vendor, …).

    `source_bytes` is the size of the file unless it is stated.
    """
    facts = {"source_bytes": source.path.stat().st_size, **facts}
    ops, time_caveats = caveats.usable_times(with_kinds_by_name(records.ops), records.earliest_ns)
    raw_calls, call_caveats = _usable_calls(records.calls)
    raw_markers, marker_caveats = _closed_ranges(records.markers)
    ops, raw_calls = with_launch_ids(ops, raw_calls, records.keys)
    ops = with_devices_of_copies(ops, raw_calls)
    calls = build.calls(_declared(raw_calls, CALLS.column_names()))
    narrow, lost = _narrow(ops)
    gpu_ops = build.gpu_ops(_declared(narrow, GPU_OPS.column_names()))
    markers = build.markers(_declared(raw_markers, MARKERS.column_names()))
    processes = gpu_ops["pid"].drop_nulls().n_unique()
    found = (
        *((caveats.partial_file(source.damage),) if source.damage else ()),
        *records.caveats,
        *caveats.numbers_out_of_range(records.lost + lost),
        *time_caveats,
        *call_caveats,
        *marker_caveats,
        *caveats.nameless(gpu_ops),
        *caveats.orphan_ops(gpu_ops, calls),
        *caveats.several_processes(processes),
    )
    return checked(
        Trace(
            path=str(source.path),
            format=format_name,
            gpu_ops=gpu_ops,
            calls=calls,
            markers=markers,
            syncs=build.syncs(records.syncs.filter(_possible(pl.col("start_ns")))),
            complete=not source.damage,
            events=gpu_ops.height + calls.height + markers.height + records.syncs.height,
            caveats=found,
            **facts,
        )
    )


def with_launch_ids(ops: pl.DataFrame, calls: pl.DataFrame, keys: Sequence[str]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Fill ops.launch_id by equal `keys`, and sort calls as their ids count; a call that enqueues wins among equals."""
    kinds = calls if "kind" in calls.columns else with_call_kinds(calls)
    ordered = kinds.sort("start_ns", maintain_order=True).with_row_index("launch_id")
    enqueues = pl.col("kind").cast(pl.String).is_in(build.ENQUEUES)
    first = (
        ordered.with_columns(enqueues.alias("enqueues"))
        .sort("enqueues", descending=True, maintain_order=True)
        .unique(keys, keep="first", maintain_order=True)
        .select(*keys, pl.col("launch_id").cast(pl.Int64))
    )
    found = ops.select(keys).join(first, on=list(keys), how="left", maintain_order="left")
    return ops.with_columns(found["launch_id"]), ordered.drop("launch_id")


def with_call_kinds(calls: pl.DataFrame) -> pl.DataFrame:
    """Add `kind` by API name, looking at each distinct name once."""
    kinds = calls.select(pl.col("name").unique()).with_columns(build.call_kind("name").alias("kind"))
    return calls.join(kinds, on="name", how="left", nulls_equal=True, maintain_order="left")


def _usable_calls(calls: pl.DataFrame) -> tuple[pl.DataFrame, tuple[Caveat, ...]]:
    """A call without a usable end stays, as an instant, so that its work is no orphan."""
    start, end = pl.col("start_ns"), pl.col("end_ns")
    known = calls.filter(_possible(start))
    good = (end >= start) & _possible(end)
    bad = calls.height - known.filter(good).height
    mended = known.with_columns(pl.when(good).then(end).otherwise(start).alias("end_ns"))
    text = "API calls without a usable start or end: taken as instants, or left out when they have no start"
    return mended, ((Caveat("bad_call_times", text, bad),) if bad else ())


def _closed_ranges(markers: pl.DataFrame) -> tuple[pl.DataFrame, tuple[Caveat, ...]]:
    start, end = pl.col("start_ns"), pl.col("end_ns")
    closed = markers.filter((end >= start) & _possible(start) & _possible(end))
    open_ranges = markers.height - closed.height
    text = "ranges that were never closed (or close before they open) are left out"
    return closed, ((Caveat("open_ranges", text, open_ranges),) if open_ranges else ())


def _possible(time: pl.Expr) -> pl.Expr:
    return time.is_between(-caveats.LATEST_NS, caveats.LATEST_NS, closed="none")


def _narrow(ops: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    """Devices and sizes as Int32, and how many of them do not fit and are unknown."""
    names = [name for name in ops.columns if name in _INT32]
    narrow = ops.with_columns(pl.col(name).cast(pl.Int32, strict=False) for name in names)
    return narrow, sum(narrow[name].null_count() - ops[name].null_count() for name in names)


def _declared(frame: pl.DataFrame, columns: Sequence[str]) -> pl.DataFrame:
    return frame.select(name for name in frame.columns if name in columns)


_INT32 = ("device", *(f"{size}_{axis}" for size in ("grid", "block") for axis in "xyz"))
