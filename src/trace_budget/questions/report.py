"""report: the answer as one page with pictures."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from trace_budget.asking import (
    EVERYTHING,
    NO_BENCH,
    NO_CHANGE,
    Force,
    Inputs,
    MaybeCandidates,
    TracePath,
    candidates_of,
    is_named,
    is_stated,
    one_candidate,
    opened,
)
from trace_budget.errors import UsageError
from trace_budget.plotting import plot_option, plotted, refuse_plot
from trace_budget.schema.answer import Answer, File, Written
from trace_budget.schema.option import Given, option
from trace_budget.schema.options import Bench, Change, Policy, Scope, Selection, TokenInput

if TYPE_CHECKING:
    from trace_budget.projection.candidates import Candidate, CandidateSet
    from trace_budget.schema.page import Page
    from trace_budget.schema.trace import Trace

EXAMPLES = (
    "trace-budget report decode.json.gz -o page.html --open",
    "trace-budget report decode.json.gz -k gdn_fused -s 3.2 -o page.html --plot curve.svg",
)

Out = Annotated[Path, option("Output", "--output", "-o", metavar="FILE.html", text="The page to write.")]
Open = Annotated[bool, option("Output", "--open", text="Show the page in the browser when it is written.")]
Plot = Annotated[
    Path | None,
    plot_option("Also draw what every saving per call is worth (-: here)."),
]


def report(
    trace: Trace | Path | str,
    selection: Selection | CandidateSet | str | None = None,
    change: Change = NO_CHANGE,
    scope: Scope = EVERYTHING,
    token: TokenInput | None = None,
    policy: Policy | None = None,
    *,
    bench: Bench = NO_BENCH,
    output: Path | str | None = None,
) -> Page:
    """The answer as a page with pictures: of one replacement, of a set of candidates, or of the trace alone.

    With `output` it is written as HTML too; OutputError when that file exists.
    """
    page = _page(opened(trace), selection, change, scope, token, policy, bench)
    if output is not None:
        from trace_budget.io.atomic import write_bytes
        from trace_budget.render import as_html

        write_bytes(Path(output), as_html.render(page), overwrite=False)
    return page


def _page(
    read: Trace,
    selection: Selection | CandidateSet | str | None,
    change: Change,
    scope: Scope,
    token: TokenInput | None,
    policy: Policy | None,
    bench: Bench,
) -> Page:
    if selection is None:
        return trace_page(read, scope, token, policy)
    if not isinstance(selection, Selection | str):
        asked = replace(selection, token=token or selection.token, policy=policy or selection.policy)
        return ranking_page(read, asked, scope)
    one = one_candidate(selection, change, bench)
    page = candidate_page(read, one.candidate, scope, token, policy)
    return replace(page, answer=one.noted(page.answer, read))


def candidate_page(
    trace: Trace,
    candidate: Candidate,
    scope: Scope = EVERYTHING,
    token: TokenInput | None = None,
    policy: Policy | None = None,
) -> Page:
    """The answer of `project` with its pictures."""
    from trace_budget.api import analyse
    from trace_budget.pages import page
    from trace_budget.projection.over_readings import over_readings, without_excluded
    from trace_budget.projection.project import prepare
    from trace_budget.reports.project import project_report

    asked, wanted = token or TokenInput(), policy or Policy()
    found = without_excluded(analyse(trace, scope), asked)
    projection = over_readings(found, candidate, asked, wanted)
    ready = prepare(found, asked, wanted)
    return page.candidate_page(ready, candidate, projection, project_report(found, projection))


def ranking_page(trace: Trace, asked: CandidateSet, scope: Scope = EVERYTHING) -> Page:
    """The answer of `rank` with its pictures."""
    from trace_budget.api import analyse
    from trace_budget.pages import page
    from trace_budget.projection.rank import rank
    from trace_budget.reports.rank import rank_report

    found = analyse(trace, scope)
    ranking = rank(found, asked)
    return page.ranking_page(found, asked, ranking, rank_report(found, ranking, asked))


def trace_page(
    trace: Trace, scope: Scope = EVERYTHING, token: TokenInput | None = None, policy: Policy | None = None
) -> Page:
    """The pictures of a trace without a candidate, with the answer of `threshold`."""
    from trace_budget.api import analyse
    from trace_budget.pages import page
    from trace_budget.projection.threshold import threshold
    from trace_budget.reports.inverse import threshold_report

    found, wanted = analyse(trace, scope), policy or Policy()
    rows, time = threshold(found, token or TokenInput(), wanted)
    answer = threshold_report(found, rows, time, wanted, page.MOST_THRESHOLDS)
    return page.trace_page(found, answer, wanted)


def command(
    trace: TracePath,
    selection: Selection,
    change: Change,
    bench: Bench,
    scope: Scope,
    token: Given[TokenInput],
    policy: Given[Policy],
    inputs: Inputs,
    output: Out,
    candidates: MaybeCandidates = None,
    plot: Plot = None,
    force: Force = False,
    show: Open = False,
) -> Written:
    """The answer as one self-contained HTML page with pictures.

    With --kernel and one saving: verdict, arithmetic, what every saving is worth, the step before and after. With a
    candidate file: all candidates, alone and together. With neither: what each kernel would have to save.
    """
    from trace_budget.io.atomic import refuse_existing
    from trace_budget.render import as_html

    _check(selection, is_stated(change, bench), candidates, plot)
    refuse_existing(output, overwrite=force)
    refuse_plot(plot, force=force)
    asked: Selection | CandidateSet | None = selection if is_named(selection) else None
    usual = TokenInput(), Policy()
    if asked is not None:
        one_candidate(selection, change, bench)  # what contradicts itself is refused before the trace is read
    elif candidates is not None:
        asked = candidates_of(candidates)
        usual = asked.token, asked.policy
    read, *beside = inputs.open_ranks(trace)
    if beside:
        raise UsageError("a page shows one rank", expected="one file as TRACE", found=f"{trace}, a folder of ranks")
    with inputs.console.working("Projecting"):
        page = report(read, asked, change, scope, token.over(usual[0]), policy.over(usual[1]), bench=bench)
        data = as_html.render(page)
    curve = page.curve
    drawn = plotted(plot, lambda: curve) if curve is not None else ()
    return Answer(None, (File(output, lambda: data, opened=show), *drawn))


def _check(selection: Selection, stated: bool, candidates: Path | None, plot: Path | None) -> None:
    """Raise UsageError for options that do not go together."""
    named = is_named(selection)
    if named != stated:
        raise UsageError("a replacement needs both", expected="--kernel and one saving, or neither")
    if candidates is not None and named:
        raise UsageError("one candidate or a file of them", expected="--kernel or CANDIDATES.toml, not both")
    if plot is not None and not selection.kernel:
        raise UsageError("--plot draws the curve of one kernel", expected="--kernel and one saving")
