"""schema: what the tables hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trace_budget.schema.report import Report

EXAMPLES = (
    "trace-budget schema",
    "trace-budget schema --format markdown -o schema.md",
)


def schema() -> Report:
    """What the tables hold: every column, type and unit."""
    from trace_budget.reports import listings

    return listings.schema_report()
