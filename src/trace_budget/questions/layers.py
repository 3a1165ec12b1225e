"""layers: who runs in which layer."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from trace_budget.asking import EVERYTHING, Filter, Traced, opened
from trace_budget.schema.option import option
from trace_budget.schema.options import Scope

if TYPE_CHECKING:
    from trace_budget.schema.report import Report

EXAMPLES = (
    "trace-budget layers decode.json.gz -k gdn_fused",
    "trace-budget layers decode.json.gz --layers 48 -o layers.parquet",
)

Capture = Annotated[
    Path | None,
    option("Input", "--capture", metavar="FILE", text="Names of replayed kernels from a trace of the graph capture."),
]


def layers(trace: Traced, scope: Scope = EVERYTHING, kernel: Filter = None, capture: Capture = None) -> Report:
    """The layer x kernel map: which kernel hits which layer."""
    from trace_budget.analysis.capture import captured_names
    from trace_budget.api import analyse
    from trace_budget.readers.kineto.graph_capture import read_capture
    from trace_budget.reports import capture as capture_room
    from trace_budget.reports import structure

    read = opened(trace)
    found = analyse(read, scope)
    report = structure.layers_report(found, kernel)
    if capture is None:
        return report
    names = captured_names(read, found.steps, found.layers, read_capture(Path(capture)))
    return capture_room.with_names(report, found, names)
