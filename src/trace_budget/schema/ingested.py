"""A Trace as a folder of Parquet files, and back without loss: what `ingest` writes and every command reads again."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any

import polars as pl

from trace_budget._version import VERSION
from trace_budget.schema.dataset import CAVEAT
from trace_budget.schema.tables import TABLES, Column, TableSpec
from trace_budget.schema.trace import Caveat, Trace
from trace_budget.text import as_text

INGESTED_VERSION = 1
FACTS = TableSpec(
    "trace",
    "One row: what is known of the trace beside its tables.",
    (
        Column("source", pl.String(), "the file it was read from"),
        Column("format", pl.String(), "format of that file"),
        Column("device_name", pl.String(), "device", nullable=True),
        Column("vendor", pl.String(), "vendor of the device", nullable=True),
        Column("rank", pl.Int64(), "rank in the job", nullable=True),
        Column("world_size", pl.Int64(), "ranks of the job", nullable=True),
        Column("complete", pl.Boolean(), "false when the file was cut or damaged"),
        Column("resolution_ns", pl.Int64(), "grid of the recorded times"),
        Column("dispatch_gap_in_duration", pl.Boolean(), "gaps between kernels are booked into the kernels"),
        Column("events", pl.Int64(), "events in the file", nullable=True),
        Column("source_bytes", pl.Int64(), "size of the file", nullable=True),
        Column("caveats", pl.List(pl.Struct({**dict(CAVEAT), "example": pl.String()})), "what the reader found"),
    ),
)
SUMS = "aggregates"
_PLAIN = tuple(column.name for column in FACTS.columns if column.name not in ("source", "caveats"))
NEEDED = frozenset((FACTS.name, *(spec.name for spec in TABLES)))


def to_files(trace: Trace) -> dict[str, bytes]:
    """File name and content for each table; Parquet with zstd, the schema version in the metadata."""
    frames = {FACTS.name: _facts(trace)} | {spec.name: getattr(trace, spec.name) for spec in TABLES}
    if trace.aggregates is not None:
        frames[SUMS] = trace.aggregates
    return {f"{name}.parquet": _encoded(name, frame) for name, frame in frames.items()}


def _facts(trace: Trace) -> pl.DataFrame:
    caveats = [{name: getattr(caveat, name) for name in Caveat.__dataclass_fields__} for caveat in trace.caveats]
    row = {"source": as_text(trace.path), **{name: getattr(trace, name) for name in _PLAIN}, "caveats": caveats}
    return pl.DataFrame([row], schema=FACTS.empty().schema)


def _encoded(name: str, frame: pl.DataFrame) -> bytes:
    facts = {
        "trace_budget.table": name,
        "trace_budget.ingested": str(INGESTED_VERSION),
        "trace_budget.version": VERSION,
    }
    buffer = io.BytesIO()
    frame.write_parquet(buffer, compression="zstd", metadata=facts)
    return buffer.getvalue()


def from_frames(path: str, frames: Mapping[str, pl.DataFrame]) -> Trace:
    """The Trace of a folder's tables, under the path of the folder. TypeError when a fact is of another type."""
    stored = frames[FACTS.name].schema
    for column in FACTS.columns:
        if stored[column.name] != column.dtype:
            raise TypeError(f"{FACTS.name}.{column.name} is {stored[column.name]}, not {column.dtype}")
    facts: dict[str, Any] = frames[FACTS.name].row(0, named=True)
    tables = {spec.name: frames[spec.name] for spec in TABLES}
    caveats = tuple(Caveat(**caveat) for caveat in facts["caveats"])
    known: dict[str, Any] = {name: facts[name] for name in _PLAIN} | tables
    return Trace(path, **known, engine="parquet", caveats=caveats, aggregates=frames.get(SUMS))
