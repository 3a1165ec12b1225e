"""threshold: the inverse question, before a kernel is written."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from trace_budget.asking import EVERYTHING, Filter, Force, Inputs, Traced, TracePath, opened
from trace_budget.plotting import plot_option, plotted, refuse_plot
from trace_budget.schema.answer import Answer
from trace_budget.schema.option import option, without
from trace_budget.schema.options import Policy, Scope, TokenInput
from trace_budget.schema.values import MOST_ROWS, whole

if TYPE_CHECKING:
    from trace_budget.schema.pictures import Needed
    from trace_budget.schema.report import Report
    from trace_budget.schema.trace import Trace

EXAMPLES = (
    "trace-budget threshold decode.json.gz --token-ms 44",
    "trace-budget threshold decode.json.gz -k gdn --target-pct 2",
)

Limit = Annotated[
    int | None,
    option("Select", "--limit", parse=whole(1, MOST_ROWS), metavar="N", text="Only the first N kernels."),
]
Plot = Annotated[Path | None, plot_option("Also draw the needed speed-up against the share (-: here).")]
AS_TRACED, USUAL = TokenInput(), Policy()


def threshold(
    trace: Traced,
    scope: Scope = EVERYTHING,
    token: Annotated[TokenInput | None, without("loop")] = AS_TRACED,
    policy: Annotated[Policy | None, without("noise_pct", "runs")] = USUAL,
    limit: Limit = None,
    kernel: Filter = None,
) -> Report:
    """For every kernel, the us per call it must save, and if it can.

    `.table` has a row for each kernel, most time first: calls_per_step, ceiling_us_per_call (its mean), ceiling_pct (%
    of a token), required_us_per_call, required_with_dilution_us, required_speedup (a ratio; null: none is enough), can.
    """
    from trace_budget.api import analyse
    from trace_budget.projection.threshold import threshold as thresholds
    from trace_budget.reports import inverse

    read, wanted = opened(trace), policy or USUAL
    found = analyse(read, scope)
    rows, time = thresholds(found, token or AS_TRACED, wanted)
    report = inverse.threshold_report(found, rows, time, wanted, limit, kernel)
    picture = partial(picture_of, read, scope, token or AS_TRACED, wanted, kernel)
    return replace(report, pictures={"needed": picture})


def picture_of(trace: Trace, scope: Scope, token: TokenInput, policy: Policy, kernel: str | None = None) -> Needed:
    """Needed speed-up against share, of all kernels or of those that match."""
    from trace_budget.api import analyse
    from trace_budget.pages.needed import needed
    from trace_budget.projection.match import rows_matching
    from trace_budget.projection.threshold import threshold as thresholds
    from trace_budget.reports.structure import kernels_of

    found = analyse(trace, scope)
    rows, _ = thresholds(found, token, policy)
    return needed(rows_matching(rows, kernel, trace.path), policy, kernels_of(found))


def command(
    trace: TracePath,
    scope: Scope,
    token: Annotated[TokenInput, without("loop")],
    policy: Annotated[Policy, without("noise_pct", "runs")],
    inputs: Inputs,
    limit: Limit = None,
    kernel: Filter = None,
    plot: Plot = None,
    force: Force = False,
) -> Answer:
    """For every kernel, the us per call it must save, and if it can."""
    refuse_plot(plot, force=force)
    read = inputs.open(trace)
    report = threshold(read, scope, token, policy, limit, kernel)
    return Answer(report, plotted(plot, lambda: picture_of(read, scope, token, policy, kernel)))
