"""The first table of a report as CSV: every row, every column, units in the column names."""

from __future__ import annotations

import polars as pl

from trace_budget.contracts import Renderer
from trace_budget.schema.cells import plain_frame
from trace_budget.schema.report import Report

DECIMALS = 6
# what spreadsheets take for a formula, however it is quoted
_FORMULA = "^([=+@-])"


def render(report: Report) -> bytes:
    """RFC 4180 text in UTF-8 with a header line; unknown values are empty, lists are joined by spaces.

    A text that a spreadsheet would run (it begins with `=`, `+`, `-` or `@`) gets an apostrophe before it.
    """
    frame = plain_frame(report.tables[0].frame)
    lists = pl.col([name for name, dtype in frame.schema.items() if isinstance(dtype, pl.List)])
    flat = frame.with_columns(
        pl.col(pl.String).str.replace(_FORMULA, "'${1}"),
        pl.col(pl.Float32, pl.Float64).round(DECIMALS).fill_nan(None),
        lists.cast(pl.List(pl.String)).list.join(" "),
    )
    return flat.write_csv().encode()


RENDERER = Renderer("csv", (".csv",), render)
