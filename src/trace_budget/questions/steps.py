"""steps: the iterations every per-step figure rests on."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from trace_budget.asking import EVERYTHING, Force, Inputs, Traced, TracePath, opened
from trace_budget.plotting import plot_option, plotted, refuse_plot
from trace_budget.schema.answer import Answer
from trace_budget.schema.options import Scope

if TYPE_CHECKING:
    from trace_budget.schema.page import StepTimes
    from trace_budget.schema.report import Report
    from trace_budget.schema.trace import Trace

EXAMPLES = (
    "trace-budget steps decode.json.gz",
    "trace-budget steps decode.json.gz --phase prefill --format json",
)

Plot = Annotated[Path | None, plot_option("Also draw step after step (-: here).")]


def steps(trace: Traced, scope: Scope = EVERYTHING) -> Report:
    """The steps: phase, window, busy and host time.

    `.table` has a row for each step in order: phase, batch_size (sequences), window_us (first to last op), busy_us,
    interval_us (start to next start; null for the last), cpu_us, used, why_out; all times in us.
    """
    from trace_budget.api import analyse
    from trace_budget.reports import structure

    read = opened(trace)
    report = structure.steps_report(analyse(read, scope))
    return replace(report, pictures={"steps": partial(picture_of, read, scope)})


def picture_of(trace: Trace, scope: Scope = EVERYTHING) -> StepTimes:
    """Step times in order, with what was left out."""
    from trace_budget.api import analyse
    from trace_budget.pages.pictures import step_times

    return step_times(analyse(trace, scope))


def command(trace: TracePath, scope: Scope, inputs: Inputs, plot: Plot = None, force: Force = False) -> Answer:
    """The steps: phase, window, busy and host time."""
    refuse_plot(plot, force=force)
    read = inputs.open(trace)
    return Answer(steps(read, scope), plotted(plot, lambda: picture_of(read, scope)))
