"""formats: what can be read."""

from __future__ import annotations

from trace_budget.cli._output import Output, emit


def formats(output: Output) -> None:
    """What can be read, and what each format cannot tell."""
    from trace_budget import api

    emit(api.formats_report(), output)
