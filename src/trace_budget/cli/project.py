"""project: what one replacement does end to end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from trace_budget.cli._change import Changing, Selecting
from trace_budget.cli._groups import option
from trace_budget.cli._options import Judging, Reading, Scoping, Tokens, TracePath
from trace_budget.cli._output import PANEL, Output, emit
from trace_budget.cli._values import one_of
from trace_budget.errors import GateMissedError

if TYPE_CHECKING:
    from trace_budget.schema.report import Report

BEST_FIRST = ("GO", "MARGINAL", "NO-GO", "INVALID")
Gate = Annotated[
    str | None,
    option(
        "Verdict",
        "--fail-unless",
        parser=one_of("GO", "MARGINAL"),
        metavar="GO|MARGINAL",
        text="Exit with 10 when the verdict is worse.",
    ),
]


@dataclass(frozen=True, slots=True)
class ProjectOutput(Output):
    """The output options; here --force has a second meaning."""

    force: Annotated[
        bool,
        option(
            PANEL,
            "--force",
            text="Overwrite the output file; also go on when --baseline-us or --calls contradicts the trace.",
        ),
    ] = False


def project(
    trace: TracePath,
    selecting: Selecting,
    changing: Changing,
    scoping: Scoping,
    tokens: Tokens,
    judging: Judging,
    reading: Reading,
    output: ProjectOutput,
    fail_unless: Gate = None,
) -> None:
    """What one replacement does end to end, with a range and a verdict.

    Every factor comes with its source: trace, user or assumed.

    Give the kernel and exactly one saving: --saving-us, --new-us, --speedup, --free or --proxy-us.
    """
    from trace_budget import api

    scope, token, policy = scoping.scope(), tokens.token(), judging.policy()
    selection, change = selecting.selection(scope.device), changing.change(output.force)
    opened = reading.open(trace, output)
    report = api.project_report(opened, selection, change, scope, token, policy)
    emit(report, output)
    if fail_unless is not None:
        _keep_gate(report, fail_unless)


def _keep_gate(report: Report, wanted: str) -> None:
    """Raise GateMissedError when the verdict is worse than wanted."""
    verdict = str(report.document["verdict"])
    if BEST_FIRST.index(verdict) > BEST_FIRST.index(wanted):
        raise GateMissedError("the gate was missed", expected=f"{wanted} or better", found=verdict)
