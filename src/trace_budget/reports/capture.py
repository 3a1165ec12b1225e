"""Names from a graph capture beside the rows of `layers`: module, operator and shapes of each call site."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
from msgspec.structs import replace as replace_fields

from trace_budget.analysis.capture import TEXTS, capture_caveats
from trace_budget.analysis.kernels import op_table
from trace_budget.schema.capture import CapturedNames
from trace_budget.schema.documents.structure import Capture, Layers, LayersBy
from trace_budget.schema.findings import Findings
from trace_budget.schema.report import Report, Table, TableColumn

_SHOWN = (TableColumn("operator", "operator"), TableColumn("shapes", "shapes"))
_SITE = ["position", "kernel"]


def with_names(report: Report, found: Findings, names: CapturedNames) -> Report:
    """The report of `layers` with module, operator and shapes in its rows (null: not named) and how well they fit."""
    calls = _calls(found, names)
    per_layer = calls.group_by("layer_index", *_SITE, maintain_order=True).agg(pl.col(c).first() for c in TEXTS)
    per_site = calls.group_by(_SITE, maintain_order=True).agg(
        *(pl.col(c).drop_nulls().unique(maintain_order=True).str.join(" | ").replace("", None) for c in TEXTS[1:])
    )
    tables = tuple(_named(table, per_layer, per_site) for table in report.tables)
    rows = {table.name: table.frame.to_dicts() for table in tables}
    answer = replace_fields(
        report.answered(Layers),
        rows=rows["layers"],
        sites=rows["sites"],
        capture=Capture(
            label=names.label or None,
            named=names.named,
            replayed=names.replayed,
            method=names.method,
            layers_by=[LayersBy(*mark) for mark in names.layers_by],
            modules_tell_layers=names.modules_tell,
            why_not=names.why_not or None,
        ),
    )
    return replace(report, answer=answer, tables=tables, caveats=(*capture_caveats(names), *report.caveats))


def _calls(found: Findings, names: CapturedNames) -> pl.DataFrame:
    """layer_index, position, kernel and names of the ops inside layers."""
    ops = op_table(found.trace, found.steps, found.layers, found.overlap)
    inside = ops.filter(pl.col("layer_index") >= 0).select(
        "op_id", "layer_index", "position", pl.col("name").cast(pl.String).alias("kernel")
    )
    return inside.join(names.names, on="op_id", how="left", maintain_order="left")


def _named(table: Table, per_layer: pl.DataFrame, per_site: pl.DataFrame) -> Table:
    """The table with the names of its rows."""
    keyed = "layer_index" in table.frame.columns
    keys, texts = (["layer_index", *_SITE], per_layer) if keyed else (_SITE, per_site)
    frame = table.frame.join(texts, on=keys, how="left", maintain_order="left")
    columns = (*table.columns, *_SHOWN) if not keyed else (*table.columns, TableColumn("module", "module"), *_SHOWN)
    return replace(table, frame=frame, columns=columns)
