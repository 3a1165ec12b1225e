"""The first table of a report as Parquet: full precision, units in the column names, provenance in the metadata."""

from __future__ import annotations

import io
import json

from trace_budget._version import VERSION
from trace_budget.contracts import Renderer
from trace_budget.schema.cells import plain_frame
from trace_budget.schema.report import Report, caveat_facts


def render(report: Report) -> bytes:
    """One Parquet file; its schema metadata holds `trace_budget.schema`, `.version`, `.trace` and `.caveats`."""
    import pyarrow.parquet as pq

    table = plain_frame(report.tables[0].frame).to_arrow()
    facts = {
        "trace_budget.schema": report.schema,
        "trace_budget.version": VERSION,
        "trace_budget.trace": json.dumps(report.trace),
        "trace_budget.caveats": json.dumps(caveat_facts(report.caveats)),
    }
    buffer = io.BytesIO()
    pq.write_table(table.replace_schema_metadata(facts), buffer, compression="zstd")
    return buffer.getvalue()


RENDERER = Renderer("parquet", (".parquet", ".pq"), render, binary=True)
