"""threshold: the inverse question, before a kernel is written."""

from __future__ import annotations

from typing import Annotated

from trace_budget.cli._groups import option
from trace_budget.cli._options import Filter, Judging, Reading, Scoping, Tokens, TracePath
from trace_budget.cli._output import Output, emit
from trace_budget.cli._values import MOST_ROWS, whole


def threshold(
    trace: TracePath,
    scoping: Scoping,
    tokens: Tokens,
    judging: Judging,
    reading: Reading,
    output: Output,
    kernel: Filter = None,
    limit: Annotated[
        int | None,
        option(
            "Select",
            "--limit",
            parser=whole(1, MOST_ROWS),
            metavar="N",
            text="Only the first N kernels.",
        ),
    ] = None,
) -> None:
    """For every kernel, the us per call it must save, and if it can."""
    from trace_budget import api

    scope, token, policy = scoping.scope(), tokens.token(), judging.policy()
    emit(api.threshold_report(reading.open(trace, output), scope, token, policy, limit, kernel), output)
