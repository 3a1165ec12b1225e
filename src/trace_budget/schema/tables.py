"""The declared tables every reader fills: one list of columns, from which checks and docs/schema.md follow."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

OP_KINDS = ("kernel", "memcpy", "memset")
CALL_KINDS = ("launch", "graph_launch", "memcpy", "memset", "sync", "event_record", "stream_wait", "other")
MARKER_KINDS = ("annotation", "gpu_annotation", "module")
SYNC_KINDS = ("stream_wait", "event_record", "stream_sync", "event_sync", "context_sync", "other")


@dataclass(frozen=True, slots=True)
class NameType:
    """A dictionary-encoded text column: `pl.Enum` whose categories are the texts of this trace."""


Dtype = type[pl.DataType] | pl.DataType | NameType
NAME = NameType()


@dataclass(frozen=True, slots=True)
class Column:
    """One declared column; `nullable` means a null says "this trace cannot tell", never 0."""

    name: str
    dtype: Dtype
    meaning: str
    nullable: bool = False


@dataclass(frozen=True, slots=True)
class TableSpec:
    """One declared table."""

    name: str
    meaning: str
    columns: tuple[Column, ...]

    def column_names(self) -> tuple[str, ...]:
        """Column names in declared order."""
        return tuple(column.name for column in self.columns)

    def schema(self) -> dict[str, pl.DataType | type[pl.DataType]]:
        """The type of each column, in declared order."""
        return {column.name: _concrete(column.dtype) for column in self.columns}

    def empty(self) -> pl.DataFrame:
        """The table without rows."""
        return pl.DataFrame(schema=self.schema())


def _concrete(dtype: Dtype) -> type[pl.DataType] | pl.DataType:
    return pl.Enum([]) if isinstance(dtype, NameType) else dtype


GPU_OPS = TableSpec(
    "gpu_ops",
    "One row per execution on a device: kernels, copies and memsets, sorted by start (unknown starts last).",
    (
        Column("op_id", pl.Int64(), "row number, 0 … n-1"),
        Column("kind", pl.Enum(OP_KINDS), "kernel, memcpy or memset"),
        Column("name", NAME, "kernel name as recorded (control characters replaced)"),
        Column("device", pl.Int32(), "device number as recorded", nullable=True),
        Column("stream", pl.Int64(), "stream as recorded; inside graph replays not to be trusted", nullable=True),
        Column("queue", pl.Int64(), "hardware queue, where the format tells", nullable=True),
        Column("pid", pl.Int64(), "process that owns the device context, where the format tells", nullable=True),
        Column("start_ns", pl.Int64(), "first instant; null when the recorded time is not usable", nullable=True),
        Column(
            "end_ns", pl.Int64(), "first instant after; null when the recorded duration is not usable", nullable=True
        ),
        Column("launch_id", pl.Int64(), "row of `calls` that launched it; null for orphans", nullable=True),
        Column("correlation", pl.Int64(), "correlation id as recorded", nullable=True),
        Column("graph_node_id", pl.Int64(), "graph node, where the format tells", nullable=True),
        *(Column(f"grid_{axis}", pl.Int32(), f"grid size {axis}, as recorded", nullable=True) for axis in "xyz"),
        *(Column(f"block_{axis}", pl.Int32(), f"block (work-group) size {axis}", nullable=True) for axis in "xyz"),
        Column("bytes", pl.Int64(), "bytes moved by a copy or memset", nullable=True),
        Column("group", pl.String(), "process group of a collective: name, ranks, and from>to of two", nullable=True),
        Column("group_size", pl.Int32(), "ranks in that group", nullable=True),
    ),
)

CALLS = TableSpec(
    "calls",
    "One row per host API call that enqueues or waits for device work, sorted by start.",
    (
        Column("launch_id", pl.Int64(), "row number, 0 … n-1"),
        Column("kind", pl.Enum(CALL_KINDS), "what the call does"),
        Column("name", NAME, "API name"),
        Column("pid", pl.Int64(), "process", nullable=True),
        Column("tid", pl.Int64(), "thread", nullable=True),
        Column("start_ns", pl.Int64(), "call entered"),
        Column("end_ns", pl.Int64(), "call returned"),
        Column("correlation", pl.Int64(), "correlation id as recorded", nullable=True),
    ),
)

MARKERS = TableSpec(
    "markers",
    "Named ranges: step annotations and user ranges on host threads, their device copies, module calls.",
    (
        Column("marker_id", pl.Int64(), "row number, 0 … n-1"),
        Column(
            "kind", pl.Enum(MARKER_KINDS), "annotation (host), gpu_annotation (device clock) or module (nn.Module call)"
        ),
        Column("name", NAME, "text of the range"),
        Column("pid", pl.Int64(), "process", nullable=True),
        Column("tid", pl.Int64(), "thread; null for device ranges", nullable=True),
        Column("device", pl.Int32(), "device of a device range", nullable=True),
        Column("start_ns", pl.Int64(), "range opened"),
        Column("end_ns", pl.Int64(), "range closed"),
    ),
)

SYNCS = TableSpec(
    "syncs",
    "Synchronisation records of the device side (CUPTI): not work, but edges between streams and to the host.",
    (
        Column("kind", pl.Enum(SYNC_KINDS), "what was waited for or recorded"),
        Column("device", pl.Int32(), "device", nullable=True),
        Column("stream", pl.Int64(), "stream that waits or records", nullable=True),
        Column("start_ns", pl.Int64(), "start as recorded"),
        Column("end_ns", pl.Int64(), "end as recorded", nullable=True),
        Column("correlation", pl.Int64(), "correlation id of the host call", nullable=True),
        Column("wait_stream", pl.Int64(), "stream that is waited for", nullable=True),
        Column("wait_correlation", pl.Int64(), "correlation id of the event record that is waited for", nullable=True),
    ),
)

TABLES = (GPU_OPS, CALLS, MARKERS, SYNCS)

AGGREGATES = TableSpec(
    "aggregates",
    "Sums per kernel name, of inputs that hold no single executions (a profiler's `--stats` output); else absent.",
    (
        Column("name", NAME, "kernel name as recorded (control characters replaced)"),
        Column("calls", pl.Int64(), "executions summed"),
        Column("total_ns", pl.Int64(), "sum of their durations"),
        Column("mean_ns", pl.Float64(), "total_ns / calls", nullable=True),
        Column("min_ns", pl.Int64(), "shortest, where the format tells", nullable=True),
        Column("max_ns", pl.Int64(), "longest, where the format tells", nullable=True),
    ),
)
