"""project: what one replacement does end to end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from trace_budget.asking import (
    EVERYTHING,
    NO_BENCH,
    Force,
    Inputs,
    OtherRanks,
    TracePath,
    gate,
    is_stated,
    one_candidate,
    opened,
)
from trace_budget.errors import NotInTraceError, TraceBudgetError, UsageError
from trace_budget.plotting import plot_option, plotted, refuse_plot
from trace_budget.schema.answer import Answer
from trace_budget.schema.option import option
from trace_budget.schema.options import Bench, Change, Policy, Scope, Selection, TokenInput
from trace_budget.schema.quantities import VERDICTS
from trace_budget.schema.values import one_of

if TYPE_CHECKING:
    from trace_budget.projection.candidates import Candidate
    from trace_budget.projection.project import Projection
    from trace_budget.schema.page import Curve
    from trace_budget.schema.pictures import Drawn
    from trace_budget.schema.report import Report
    from trace_budget.schema.trace import Trace

EXAMPLES = (
    "trace-budget project decode.json.gz -k gdn_fused -s 3.2 --token-ms 44",
    "trace-budget project decode.json.gz -k gdn_fused --new-us 17 --baseline-us 20.3 --fail-unless MARGINAL",
)

Gate = Annotated[
    str | None,
    option("Verdict", "--fail-unless", parse=one_of("GO", "MARGINAL"), metavar="GO|MARGINAL",
           text="Exit with 10 when the verdict is worse."),
]  # fmt: skip
Plot = Annotated[Path | None, plot_option("Also draw a picture of the answer (-: here).")]
PICTURES = ("curve", "waterfall", "tornado")
FUSED_PICTURES = ("waterfall",)
Figure = Annotated[
    str | None,
    option("Output", "--figure", parse=one_of(*PICTURES), metavar="|".join(PICTURES),
           text="Which picture --plot draws: what every saving is worth; from the product to what is left; what is "
           "assumed."),
]  # fmt: skip


def _shares(text: str) -> dict[str, float]:
    from trace_budget.projection.mixture import weights_of

    return weights_of(text)


Weights = Annotated[
    dict[str, float] | None,
    option("Scope", "--weights", parse=_shares, metavar="PHASE=SHARE,…",
           text="Weight several phases by their share of steps, as decode=0.9,mixed=0.1."),
]  # fmt: skip


def project(
    trace: Trace | Path | str,
    selection: Selection | str,
    change: Change,
    scope: Scope = EVERYTHING,
    token: TokenInput | None = None,
    policy: Policy | None = None,
    *,
    others: Sequence[Trace] = (),
    weights: Mapping[str, float] | None = None,
    bench: Bench = NO_BENCH,
) -> Report:
    """What one replacement does end to end, with a range and a verdict.

    `selection` is a Selection, or the name of a kernel. `others` are further ranks of the job, `weights` shares of
    steps by phase; `bench` gives the times instead of `change`. `.table` has a row each for low, expected, high, the
    product on paper and the exposed part: us_per_call, us_per_layer, us_per_step, ms_per_token, pct_of_token.
    """
    read, one = opened(trace), one_candidate(selection, change, bench)
    if weights is None:
        report = candidate_report(read, one.candidate, scope, token, policy, others)
        names = () if others else PICTURES if one.candidate.selection is not None else FUSED_PICTURES
        made = {name: partial(picture_of, read, one.candidate, scope, token, policy, name) for name in names}
        report = replace(report, pictures=made)
    else:
        report = mixture_report(read, one.candidate, weights, scope, token, policy, others)
    return one.noted(report, read)


def projection(
    trace: Trace | Path | str,
    selection: Selection | str,
    change: Change,
    scope: Scope = EVERYTHING,
    token: TokenInput | None = None,
    policy: Policy | None = None,
) -> Projection:
    """The figures of one replacement, in ns and %, before they are put into words."""
    from trace_budget.api import analyse
    from trace_budget.projection.over_readings import over_readings

    candidate = one_candidate(selection, change).candidate
    return over_readings(analyse(opened(trace), scope), candidate, token or TokenInput(), policy or Policy())


def candidate_report(
    trace: Trace,
    candidate: Candidate,
    scope: Scope = EVERYTHING,
    token: TokenInput | None = None,
    policy: Policy | None = None,
    others: Sequence[Trace] = (),
) -> Report:
    """What one candidate (a kernel or a fused sequence) does end to end; `others` are further ranks of the job."""
    from trace_budget.api import analyse
    from trace_budget.projection.over_readings import over_readings
    from trace_budget.projection.replay.collectives import distinct_ranks
    from trace_budget.reports.project import project_report

    distinct_ranks((trace, *others))
    found, rest = analyse(trace, scope), [analyse(other, scope) for other in others]
    projection = over_readings(found, candidate, token or TokenInput(), policy or Policy(), rest)
    return project_report(found, projection)


def mixture_report(
    trace: Trace,
    candidate: Candidate,
    weights: Mapping[str, float],
    scope: Scope = EVERYTHING,
    token: TokenInput | None = None,
    policy: Policy | None = None,
    others: Sequence[Trace] = (),
) -> Report:
    """What a candidate does to a workload of several phases; `weights` are shares of steps by phase."""
    from trace_budget.api import analyse
    from trace_budget.projection.mixture import Phase, mix
    from trace_budget.projection.replay.collectives import distinct_ranks
    from trace_budget.reports import mixture as mixture_room

    distinct_ranks((trace, *others))
    phases = []
    for phase, share in weights.items():
        steps = replace(scope, phase=phase)
        phases.append(Phase(phase, share, analyse(trace, steps), [analyse(other, steps) for other in others]))
    wanted = policy or Policy()
    mixture = mix(phases, candidate, token or TokenInput(), wanted)
    found = next(one.found for one in phases if one.phase == mixture.main_phase)
    return mixture_room.mixture_report(found, mixture, wanted)


def sensitivity(
    trace: Trace,
    candidate: Candidate,
    scope: Scope = EVERYTHING,
    token: TokenInput | None = None,
    policy: Policy | None = None,
) -> Curve:
    """What every saving per call of the candidate's kernel is worth."""
    from trace_budget.api import analyse
    from trace_budget.pages import curve
    from trace_budget.projection.project import prepare, project_many

    ready = prepare(analyse(trace, scope), token or TokenInput(), policy or Policy())
    return curve.sensitivity(ready, candidate, project_many(ready, [candidate])[0])


def picture_of(
    trace: Trace,
    candidate: Candidate,
    scope: Scope = EVERYTHING,
    token: TokenInput | None = None,
    policy: Policy | None = None,
    figure: str = "curve",
) -> Curve | Drawn:
    """One picture of the answer: curve, waterfall or tornado."""
    if figure == "curve":
        return sensitivity(trace, candidate, scope, token, policy)
    from trace_budget.api import analyse
    from trace_budget.pages import tornado, waterfall
    from trace_budget.projection.over_readings import over_readings
    from trace_budget.reports.structure import kernels_of

    found, asked, wanted = analyse(trace, scope), token or TokenInput(), policy or Policy()
    if figure == "tornado":
        return tornado.tornado(found, candidate, asked, wanted, kernels_of(found))
    return waterfall.cascade(over_readings(found, candidate, asked, wanted), kernels_of(found))


def command(
    trace: TracePath,
    selection: Selection,
    change: Change,
    bench: Bench,
    scope: Scope,
    token: TokenInput,
    policy: Policy,
    inputs: Inputs,
    fail_unless: Gate = None,
    plot: Plot = None,
    figure: Figure = None,
    with_rank: OtherRanks = None,
    weights: Weights = None,
    force: Force = False,
) -> Answer:
    """What one replacement does end to end, with a range and a verdict.

    Every factor comes with its source: trace, user or assumed.

    Give the kernel and exactly one saving: --saving-us, --new-us, --speedup, --free, --proxy-us or --bench.
    """
    from trace_budget.schema.documents.project import Verdict

    try:
        candidate = one_candidate(selection, change, bench).candidate
    except UsageError as error:
        if is_stated(change, bench) or not selection.kernel:
            raise
        raise _and_the_kernel(error, trace, selection, scope, inputs) from error
    if figure is not None and plot is None:
        raise UsageError("--figure says what --plot draws", expected="--plot FILE", found="none")
    drawn = figure or PICTURES[0]
    if plot is not None:
        _refuse_plot(plot, candidate, with_rank, weights, force, drawn)
    read, *beside = inputs.open_ranks(trace)
    if plot is not None and beside:
        raise UsageError("--plot draws the curve of one rank", expected="one file as TRACE", found=f"{trace}, a folder")
    others = [*beside, *(inputs.open(path) for path in with_rank or ())]
    report = project(read, selection, change, scope, token, policy, others=others, weights=weights, bench=bench)
    files = plotted(plot, lambda: picture_of(read, candidate, scope, token, policy, drawn))
    return Answer(report, files, gate(lambda: report.answered(Verdict).verdict, fail_unless, VERDICTS))


def _and_the_kernel(error: UsageError, trace: Path, selection: Selection, scope: Scope, inputs: Inputs) -> UsageError:
    """The error, with what is wrong about the kernel's name: one run reports all that is missing."""
    from trace_budget.api import analyse
    from trace_budget.projection.candidates import Candidate
    from trace_budget.projection.target import prepared_rank, target_of

    try:
        target_of(prepared_rank(analyse(inputs.open(trace), scope)), Candidate("", Change(free=True), selection))
    except NotInTraceError as other:
        return UsageError(
            error.message,
            where=error.where,
            expected=error.expected,
            found=error.found,
            advice=f"Also, {other.line()}",
            choices=other.choices,
        )
    except TraceBudgetError:
        return error
    return error


def _refuse_plot(
    plot: Path,
    candidate: Candidate,
    with_rank: list[Path] | None,
    weights: Mapping[str, float] | None,
    force: bool,
    figure: str,
) -> None:
    """Raise UsageError for what is no curve of one kernel, OutputError for a file that is there already."""
    refuse_plot(plot, force=force)
    if candidate.selection is None and figure not in FUSED_PICTURES:
        raise UsageError(
            f"--plot draws the {figure} of one kernel, not of a sequence", expected="--kernel, or --figure waterfall"
        )
    if with_rank:
        raise UsageError("--plot draws the curve of one rank", expected="--plot or --with-rank, not both")
    if weights is not None:
        raise UsageError("--plot draws the curve of one phase", expected="--plot or --weights, not both")
