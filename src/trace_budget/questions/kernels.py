"""kernels: the table to start with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trace_budget.asking import EVERYTHING, Filter, Traced, opened
from trace_budget.schema.options import Scope

if TYPE_CHECKING:
    from trace_budget.schema.report import Report

EXAMPLES = (
    "trace-budget kernels decode.json.gz",
    "trace-budget kernels decode.json.gz -k gdn --phase decode --format csv",
)


def kernels(trace: Traced, scope: Scope = EVERYTHING, kernel: Filter = None) -> Report:
    """Which kernels: calls, layers, us, how exposed."""
    from trace_budget.api import analyse
    from trace_budget.reports import structure

    read = opened(trace)
    if read.aggregates is not None:
        return structure.aggregates_report(read, kernel)
    return structure.kernels_report(analyse(read, scope), kernel)
