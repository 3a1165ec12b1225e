"""kernels: the table to start with."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from trace_budget.asking import EVERYTHING, Filter, Force, Inputs, Traced, TracePath, opened
from trace_budget.plotting import plot_option, plotted, refuse_plot
from trace_budget.schema.answer import Answer
from trace_budget.schema.options import Scope

if TYPE_CHECKING:
    from trace_budget.schema.page import KernelBars
    from trace_budget.schema.report import Report
    from trace_budget.schema.trace import Trace

EXAMPLES = (
    "trace-budget kernels decode.json.gz",
    "trace-budget kernels decode.json.gz -k gdn --phase decode --format csv",
)

Plot = Annotated[Path | None, plot_option("Also draw where the time of a step goes (-: here).")]


def kernels(trace: Traced, scope: Scope = EVERYTHING, kernel: Filter = None) -> Report:
    """Which kernels: calls, layers, us, how exposed.

    `.table` has a row for each kernel of the counted steps, most time first: calls_per_step, layers_hit, mean_us (of a
    call), us_per_step, pct_of_step (%), exposed_us_per_step; all times in us.
    """
    from trace_budget.api import analyse
    from trace_budget.reports import structure

    read = opened(trace)
    if read.aggregates is not None:
        return structure.aggregates_report(read, kernel)
    report = structure.kernels_report(analyse(read, scope), kernel)
    return replace(report, pictures={"kernels": partial(picture_of, read, scope, kernel)})


def picture_of(trace: Trace, scope: Scope = EVERYTHING, kernel: str | None = None) -> KernelBars:
    """Kernels by time per step; those that `kernel` means stand out."""
    from trace_budget.api import analyse
    from trace_budget.pages.pictures import kernel_bars, named

    found = analyse(trace, scope)
    return kernel_bars(found, named(found, kernel))


def command(
    trace: TracePath, scope: Scope, inputs: Inputs, kernel: Filter = None, plot: Plot = None, force: Force = False
) -> Answer:
    """Which kernels: calls, layers, us, how exposed."""
    refuse_plot(plot, force=force)
    read = inputs.open(trace)
    return Answer(kernels(read, scope, kernel), plotted(plot, lambda: picture_of(read, scope, kernel)))
