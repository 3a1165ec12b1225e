"""layers: who runs in which layer."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from trace_budget.cli._groups import option
from trace_budget.cli._options import Filter, Reading, Scoping, TracePath
from trace_budget.cli._output import Output, emit


def layers(
    trace: TracePath,
    scoping: Scoping,
    reading: Reading,
    output: Output,
    kernel: Filter = None,
    capture: Annotated[
        Path | None,
        option(
            "Input", "--capture", metavar="FILE", text="Names of replayed kernels from a trace of the graph capture."
        ),
    ] = None,
) -> None:
    """The layer x kernel map: which kernel hits which layer."""
    from trace_budget import api

    emit(api.layers_report(reading.open(trace, output), scoping.scope(), kernel, capture), output)
