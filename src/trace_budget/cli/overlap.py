"""overlap: what is exposed and what is hidden."""

from __future__ import annotations

from trace_budget.cli._options import Reading, Scoping, TracePath
from trace_budget.cli._output import Output, emit


def overlap(trace: TracePath, scoping: Scoping, reading: Reading, output: Output) -> None:
    """How much of each kernel is exposed, how much hidden."""
    from trace_budget import api

    emit(api.overlap_report(reading.open(trace, output), scoping.scope()), output)
