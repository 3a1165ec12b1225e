"""threshold: the inverse question, before a kernel is written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from trace_budget.asking import EVERYTHING, Filter, Traced, opened
from trace_budget.schema.option import option, without
from trace_budget.schema.options import Policy, Scope, TokenInput
from trace_budget.schema.values import MOST_ROWS, whole

if TYPE_CHECKING:
    from trace_budget.schema.report import Report

EXAMPLES = (
    "trace-budget threshold decode.json.gz --token-ms 44",
    "trace-budget threshold decode.json.gz -k gdn --target-pct 2",
)

Limit = Annotated[
    int | None,
    option("Select", "--limit", parse=whole(1, MOST_ROWS), metavar="N", text="Only the first N kernels."),
]
AS_TRACED, USUAL = TokenInput(), Policy()


def threshold(
    trace: Traced,
    scope: Scope = EVERYTHING,
    token: Annotated[TokenInput | None, without("loop")] = AS_TRACED,
    policy: Annotated[Policy | None, without("noise_pct", "runs")] = USUAL,
    limit: Limit = None,
    kernel: Filter = None,
) -> Report:
    """For every kernel, the us per call it must save, and if it can."""
    from trace_budget.api import analyse
    from trace_budget.projection.threshold import threshold as thresholds
    from trace_budget.reports import inverse

    found, wanted = analyse(opened(trace), scope), policy or USUAL
    rows, time = thresholds(found, token or AS_TRACED, wanted)
    return inverse.threshold_report(found, rows, time, wanted, limit, kernel)
