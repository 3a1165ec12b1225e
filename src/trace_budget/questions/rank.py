"""rank: many candidates, alone and together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from trace_budget.asking import EVERYTHING, Force, Inputs, OtherRanks, TracePath, candidates_of, opened
from trace_budget.plotting import plot_option, plotted, refuse_plot
from trace_budget.schema.answer import Answer
from trace_budget.schema.option import Argument, Given
from trace_budget.schema.options import Policy, Scope, TokenInput

if TYPE_CHECKING:
    from trace_budget.projection.candidates import CandidateSet
    from trace_budget.projection.rank import Ranking
    from trace_budget.schema.findings import Findings
    from trace_budget.schema.pictures import Forest
    from trace_budget.schema.report import Report
    from trace_budget.schema.trace import Trace

EXAMPLES = (
    "trace-budget rank decode.json.gz candidates.toml",
    "trace-budget rank decode.json.gz candidates.toml --target-pct 0.5 -o rank.csv",
)

Plot = Annotated[Path | None, plot_option("Also draw the range of each candidate (-: here).")]
Candidates = Annotated[Path, Argument("CANDIDATES.toml", "The candidate file.")]


def rank(
    trace: Trace | Path | str,
    candidates: CandidateSet | Path | str,
    scope: Scope = EVERYTHING,
    others: Sequence[Trace] = (),
    token: TokenInput | None = None,
    policy: Policy | None = None,
) -> Report:
    """Many candidates: each alone, all together, and what each adds to the rest.

    `others` are further ranks of the job; `token` and `policy` win over those of a candidate file. `.table` has a row
    for each candidate, best first: us_per_call, low_pct, expected_pct, high_pct (% of a token), marginal_pct, verdict.
    """
    from trace_budget.reports.rank import rank_report

    asked = candidates_of(candidates)
    asked = replace(asked, token=token or asked.token, policy=policy or asked.policy)
    read = opened(trace)
    found, ranking = ranking_of(read, asked, scope, others)
    picture = partial(picture_of, read, asked, scope, others)
    return replace(rank_report(found, ranking, asked), pictures={"ranges": picture})


def ranking_of(
    trace: Trace, asked: CandidateSet, scope: Scope = EVERYTHING, others: Sequence[Trace] = ()
) -> tuple[Findings, Ranking]:
    """The figures of a ranking, in ns and %, before they are put into words."""
    from trace_budget.api import analyse
    from trace_budget.projection.rank import rank as ranked
    from trace_budget.projection.replay.collectives import distinct_ranks

    distinct_ranks((trace, *others))
    found = analyse(trace, scope)
    return found, ranked(found, asked, [analyse(other, scope) for other in others])


def command(
    trace: TracePath,
    candidates: Candidates,
    scope: Scope,
    token: Given[TokenInput],
    policy: Given[Policy],
    inputs: Inputs,
    with_rank: OtherRanks = None,
    plot: Plot = None,
    force: Force = False,
) -> Answer:
    """Many candidates: each alone, all together, and what each adds.

    Savings do not add: the joint figure says what the whole set is worth.
    """
    refuse_plot(plot, force=force)
    asked = candidates_of(candidates)
    asked = replace(asked, policy=policy.over(asked.policy), token=token.over(asked.token))
    read, *beside = inputs.open_ranks(trace)
    others = [*beside, *(inputs.open(path) for path in with_rank or ())]
    report = rank(read, asked, scope, others)
    return Answer(report, plotted(plot, lambda: picture_of(read, asked, scope, others)))


def picture_of(trace: Trace, asked: CandidateSet, scope: Scope = EVERYTHING, others: Sequence[Trace] = ()) -> Forest:
    """The range of each candidate, beside the target and the noise."""
    from trace_budget.pages.forest import forest

    return forest(ranking_of(trace, asked, scope, others)[1], asked)
