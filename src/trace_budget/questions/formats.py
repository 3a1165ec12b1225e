"""formats: what can be read."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trace_budget.schema.report import Report

EXAMPLES = (
    "trace-budget formats",
    "trace-budget formats --format json",
)


def formats() -> Report:
    """What can be read, and what each format cannot tell."""
    from trace_budget import readers
    from trace_budget.reports import listings

    return listings.formats_report([readers.load(name) for name in readers.NAMES])
