"""kernels: the table to start with."""

from __future__ import annotations

from trace_budget.cli._options import Reading, Scoping, TracePath
from trace_budget.cli._output import Output, emit


def kernels(trace: TracePath, scoping: Scoping, reading: Reading, output: Output) -> None:
    """Which kernels: calls, layers, us, how exposed."""
    from trace_budget import api

    emit(api.kernels_report(reading.open(trace, output), scoping.scope()), output)
