"""steps: the iterations every per-step figure rests on."""

from __future__ import annotations

from trace_budget.cli._options import Reading, Scoping, TracePath
from trace_budget.cli._output import Output, emit


def steps(trace: TracePath, scoping: Scoping, reading: Reading, output: Output) -> None:
    """The steps: phase, window, busy and host time."""
    from trace_budget import api

    emit(api.steps_report(reading.open(trace, output), scoping.scope()), output)
