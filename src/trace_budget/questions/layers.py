"""layers: who runs in which layer."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from trace_budget.asking import EVERYTHING, Filter, Force, Inputs, Traced, TracePath, opened
from trace_budget.plotting import plot_option, plotted, refuse_plot
from trace_budget.schema.answer import Answer
from trace_budget.schema.option import option
from trace_budget.schema.options import Scope

if TYPE_CHECKING:
    from trace_budget.schema.pictures import OneLayer
    from trace_budget.schema.report import Report
    from trace_budget.schema.trace import Trace

EXAMPLES = (
    "trace-budget layers decode.json.gz -k gdn_fused",
    "trace-budget layers decode.json.gz --layers 48 -o layers.parquet",
)

Capture = Annotated[
    Path | None,
    option("Input", "--capture", metavar="FILE", text="Names of replayed kernels from a trace of the graph capture."),
]

Plot = Annotated[Path | None, plot_option("Also draw one layer in time (-: here).")]


def layers(trace: Traced, scope: Scope = EVERYTHING, kernel: Filter = None, capture: Capture = None) -> Report:
    """The layer x kernel map: which kernel hits which layer.

    `.table` has a row for each kernel, layer (from 0) and position in it: calls, mean_us of a call.
    """
    from trace_budget.analysis.capture import captured_names
    from trace_budget.api import analyse
    from trace_budget.readers.kineto.graph_capture import read_capture
    from trace_budget.reports import capture as capture_room
    from trace_budget.reports import structure

    read = opened(trace)
    found = analyse(read, scope)
    report = structure.layers_report(found, kernel)
    report = replace(report, pictures={"layer": partial(picture_of, read, scope, kernel)})
    if capture is None:
        return report
    names = captured_names(read, found.steps, found.layers, read_capture(Path(capture)))
    return capture_room.with_names(report, found, names)


def picture_of(trace: Trace, scope: Scope = EVERYTHING, kernel: str | None = None) -> OneLayer:
    """One layer in time: the middle one that runs what `kernel` means."""
    from trace_budget.api import analyse
    from trace_budget.pages.one_layer import one_layer
    from trace_budget.projection.names import matching
    from trace_budget.reports.structure import kernels_of

    found = analyse(trace, scope)
    every = kernels_of(found)
    return one_layer(found, matching(kernel, list(every)) if kernel else (), every)


def command(
    trace: TracePath,
    scope: Scope,
    inputs: Inputs,
    kernel: Filter = None,
    capture: Capture = None,
    plot: Plot = None,
    force: Force = False,
) -> Answer:
    """The layer x kernel map: which kernel hits which layer."""
    refuse_plot(plot, force=force)
    read = inputs.open(trace)
    return Answer(layers(read, scope, kernel, capture), plotted(plot, lambda: picture_of(read, scope, kernel)))
