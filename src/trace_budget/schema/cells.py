"""From the frame of a Table to what people and files read: cells as text, frames of plain columns."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import polars as pl

from trace_budget.labels import labels
from trace_budget.schema.report import Table
from trace_budget.text import CONTROL_PATTERN, cut_distinct, safe
from trace_budget.units import show_count, show_number

KERNELS = ("kernel",)  # columns that hold kernels' names


@dataclass(frozen=True, slots=True)
class ShownColumn:
    """One column as text; numbers go to the right, prose may be wrapped, other texts are names.

    `among`: the kernels from which those of the column are distinguished; None where it holds none.
    """

    title: str
    cells: list[str]
    numeric: bool
    prose: bool
    among: tuple[str, ...] | None = None
    answer: bool = False

    def short(self, width: int) -> list[str]:
        """The cells in at most `width` columns, so that different ones look different."""
        if self.among is None:
            return cut_distinct(self.cells, width)
        return labels(self.cells, width, self.among)


def show_cell(value: object, digits: int | None) -> str:
    """One value as text: numbers with `digits` decimals (None: a count), `-` for unknown, yes or no, `a, b`."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return show_count(value) if digits is None else show_number(value, digits)
    if isinstance(value, Iterable) and not isinstance(value, str):
        return ", ".join(show_cell(item, digits) for item in value)
    return safe(str(value))


def shown_columns(table: Table) -> list[ShownColumn]:
    """The columns people read, with their cells as text, cut to the table's row limit."""
    head = table.frame if table.limit is None else table.frame.head(table.limit)
    return [
        ShownColumn(
            safe(column.title),
            [show_cell(value, column.digits) for value in head[column.key]],
            head[column.key].dtype.is_numeric(),
            column.prose,
            (*(show_cell(value, None) for value in table.frame[column.key]), *table.among)
            if column.key in KERNELS
            else None,
            column.answer,
        )
        for column in table.columns
    ]


def hidden_rows(table: Table) -> int:
    """How many rows the limit leaves out."""
    return 0 if table.limit is None else max(0, table.frame.height - table.limit)


def plain_frame(frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with Enum and Categorical columns as text, and control characters in texts replaced by `?`."""
    coded = frame.with_columns(pl.col(pl.Enum, pl.Categorical).cast(pl.String))
    return coded.with_columns(pl.col(pl.String).str.replace_all(CONTROL_PATTERN, "?"))
