"""project: what one replacement does end to end."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

from trace_budget.cli._bench import Benchmarked
from trace_budget.cli._change import Selecting
from trace_budget.cli._groups import option
from trace_budget.cli._options import Judging, OtherRanks, Reading, Scoping, Tokens, TracePath
from trace_budget.cli._output import PANEL, Output, emit
from trace_budget.cli._plot import Plot, refuse_plot, write_plot
from trace_budget.cli._values import one_of
from trace_budget.errors import GateMissedError, UsageError

if TYPE_CHECKING:
    from trace_budget.projection.candidates import Candidate
    from trace_budget.schema.options import Change
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


def _shares(text: str) -> dict[str, float]:
    from trace_budget.projection.mixture import weights_of

    return weights_of(text)


Weights = Annotated[
    dict[str, float] | None,
    option(
        "Scope",
        "--weights",
        parser=_shares,
        metavar="PHASE=SHARE,…",
        text="Weight several phases by their share of steps, as decode=0.9,mixed=0.1.",
    ),
]


@dataclass(frozen=True, slots=True)
class KernelOrSequence(Selecting):
    """Which calls are replaced: those of a kernel, or consecutive kernels by one launch."""

    kernel: Annotated[
        str,
        option(
            "Select", "--kernel", metavar="NAME", text="Exact name, else a part of it (case counts), or glob:… or re:…"
        ),
    ] = ""
    replace: Annotated[
        str | None,
        option(
            "Select",
            "--replace",
            metavar="A,B,C",
            text="Consecutive kernels that one launch of --new-us replaces (each as for --kernel).",
        ),
    ] = None

    def __post_init__(self) -> None:
        """Raise UsageError unless exactly one of the two is given."""
        if bool(self.kernel) == bool(self.replace):
            found = "both" if self.kernel else "neither"
            raise UsageError("what is replaced is needed, once", expected="--kernel or --replace", found=found)

    def candidate(self, change: Change, device: int | None) -> Candidate:
        """The candidate the options describe. UsageError for a sequence without the time of its new launch."""
        from trace_budget.projection.candidates import Candidate, Sequence

        if not self.replace:
            return Candidate("", change, self.selection(device))
        if change.new_us is None:
            raise UsageError("a replaced sequence needs the time of the new launch", expected="--new-us")
        patterns = tuple(part.strip() for part in self.replace.split(",") if part.strip())
        return Candidate("", change, None, Sequence(patterns, change.new_us))


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
    selecting: KernelOrSequence,
    changing: Benchmarked,
    scoping: Scoping,
    tokens: Tokens,
    judging: Judging,
    reading: Reading,
    output: ProjectOutput,
    fail_unless: Gate = None,
    plot: Plot = None,
    with_rank: OtherRanks = None,
    weights: Weights = None,
) -> None:
    """What one replacement does end to end, with a range and a verdict.

    Every factor comes with its source: trace, user or assumed.

    Give the kernel and exactly one saving: --saving-us, --new-us, --speedup, --free, --proxy-us or --bench.
    """
    from trace_budget import api

    refuse_plot(plot, output.force)
    scope, token, policy = scoping.scope(), tokens.token(), judging.policy()
    standalone = changing.standalone()
    change = changing.with_times(output.force, standalone)
    candidate = selecting.candidate(change, scope.device)
    if plot is not None and candidate.selection is None:
        raise UsageError("--plot draws the curve of one kernel, not of a sequence", expected="--kernel")
    if plot is not None and with_rank:
        raise UsageError("--plot draws the curve of one rank", expected="--plot or --with-rank, not both")
    if plot is not None and weights is not None:
        raise UsageError("--plot draws the curve of one phase", expected="--plot or --weights, not both")
    opened, *beside = reading.open_ranks(trace, output)
    if plot is not None and beside:
        raise UsageError("--plot draws the curve of one rank", expected="one file as TRACE", found=f"{trace}, a folder")
    others = [*beside, *(reading.open(path, output) for path in with_rank or ())]
    if weights is not None:
        report = api.mixture_report(opened, candidate, weights, scope, token, policy, others)
    else:
        report = api.candidate_report(opened, candidate, scope, token, policy, others)
    if standalone is not None:
        report = replace(report, caveats=(*report.caveats, *standalone.caveats(opened)))
    emit(report, output)
    if plot is not None:
        write_plot(api.sensitivity(opened, candidate, scope, token, policy), plot, output)
    if fail_unless is not None:
        _keep_gate(report, fail_unless)


def _keep_gate(report: Report, wanted: str) -> None:
    """Raise GateMissedError when the verdict is worse than wanted."""
    verdict = str(report.document["verdict"])
    if BEST_FIRST.index(verdict) > BEST_FIRST.index(wanted):
        raise GateMissedError("the gate was missed", expected=f"{wanted} or better", found=verdict)
