"""overlap: what is exposed and what is hidden."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trace_budget.asking import EVERYTHING, Traced, opened
from trace_budget.schema.options import Scope

if TYPE_CHECKING:
    from trace_budget.schema.report import Report

EXAMPLES = (
    "trace-budget overlap decode.json.gz",
    "trace-budget overlap decode.json.gz --steps 2:5",
)


def overlap(trace: Traced, scope: Scope = EVERYTHING) -> Report:
    """How much of each kernel is exposed, how much hidden."""
    from trace_budget.api import analyse
    from trace_budget.reports import structure

    return structure.overlap_report(analyse(opened(trace), scope))
