"""kernels: the table to start with."""

from __future__ import annotations

from trace_budget.cli._options import Filter, Reading, Scoping, TracePath
from trace_budget.cli._output import Output, emit


def kernels(trace: TracePath, scoping: Scoping, reading: Reading, output: Output, kernel: Filter = None) -> None:
    """Which kernels: calls, layers, us, how exposed."""
    from trace_budget import api

    emit(api.kernels_report(reading.open(trace, output), scoping.scope(), kernel), output)
