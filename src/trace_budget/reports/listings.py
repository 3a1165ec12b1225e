"""The answers of `formats` and `schema`: what can be read, and what the tables hold."""

from __future__ import annotations

import polars as pl

from trace_budget.contracts import Reader
from trace_budget.schema.documents.others import Listing, Schema
from trace_budget.schema.report import Line, Report, Table, TableColumn
from trace_budget.schema.tables import TABLES, NameType, TableSpec


def formats_report(readers: list[Reader]) -> Report:
    """One row per format."""
    frame = pl.DataFrame(
        {
            "format": [r.name for r in readers],
            "title": [r.title for r in readers],
            "timeline": [r.timeline for r in readers],
            "recognised_by": [r.recognised_by for r in readers],
            "cannot_tell": [r.cannot_tell for r in readers],
        }
    )
    columns = (
        TableColumn("format", "format"),
        TableColumn("title", "what it is", prose=True),
        TableColumn("recognised_by", "recognised by", prose=True),
        TableColumn("cannot_tell", "cannot tell", prose=True),
    )
    lines = (Line("formats are recognised by content; --from FORMAT overrides"),)
    return Report(
        "trace-budget/formats/1", Listing(frame.to_dicts()), None, lines, (Table("formats", "", columns, frame),)
    )


def schema_report() -> Report:
    """One row per column of the declared tables."""
    rows = [
        (spec.name, column.name, type_name(spec, column.name), column.nullable, column.meaning)
        for spec in TABLES
        for column in spec.columns
    ]
    frame = pl.DataFrame(rows, schema=["table", "column", "type", "nullable", "meaning"], orient="row")
    columns = tuple(TableColumn(name, name, prose=name in ("type", "meaning")) for name in frame.columns)
    lines = tuple(Line(f"{spec.name}: {spec.meaning}") for spec in TABLES)
    return Report(
        "trace-budget/schema/1",
        Schema([s.name for s in TABLES], frame.to_dicts()),
        None,
        lines,
        (Table("schema", "", columns, frame),),
    )


def type_name(spec: TableSpec, column: str) -> str:
    """The type of a declared column as people read it."""
    dtype = next(c.dtype for c in spec.columns if c.name == column)
    if isinstance(dtype, NameType):
        return "Enum (names of the trace)"
    if isinstance(dtype, pl.Enum):
        return "Enum"
    return str(dtype)
