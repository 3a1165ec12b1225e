"""steps: the iterations every per-step figure rests on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trace_budget.asking import EVERYTHING, Traced, opened
from trace_budget.schema.options import Scope

if TYPE_CHECKING:
    from trace_budget.schema.report import Report

EXAMPLES = (
    "trace-budget steps decode.json.gz",
    "trace-budget steps decode.json.gz --phase prefill --format json",
)


def steps(trace: Traced, scope: Scope = EVERYTHING) -> Report:
    """The steps: phase, window, busy and host time."""
    from trace_budget.api import analyse
    from trace_budget.reports import structure

    return structure.steps_report(analyse(opened(trace), scope))
