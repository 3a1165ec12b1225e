"""Steps that no annotation names: what every structural method returns."""

from __future__ import annotations

from trace_budget.analysis.steps.annotated import FoundSteps
from trace_budget.analysis.steps.grammar import WINDOW, Parsed
from trace_budget.schema.findings import Int32Array

UNKNOWN = Parsed("none", "other", None, WINDOW)


def unnamed_steps(count: int, op_step: Int32Array, method: str, confidence: str) -> FoundSteps:
    """Numbered steps of unknown phase, without host times."""
    names = tuple(f"step {index}" for index in range(count))
    return FoundSteps(names, (UNKNOWN,) * count, (None,) * count, op_step, method, confidence)
