"""schema: what the tables hold."""

from __future__ import annotations

from trace_budget.cli._output import Output, emit


def schema(output: Output) -> None:
    """What the tables hold: every column, type and unit."""
    from trace_budget import api

    emit(api.schema_report(), output)
