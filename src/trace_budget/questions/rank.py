"""rank: many candidates, alone and together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from trace_budget.asking import EVERYTHING, Inputs, OtherRanks, TracePath, candidates_of, opened
from trace_budget.schema.option import Argument, Given
from trace_budget.schema.options import Policy, Scope, TokenInput

if TYPE_CHECKING:
    from trace_budget.projection.candidates import CandidateSet
    from trace_budget.schema.report import Report
    from trace_budget.schema.trace import Trace

EXAMPLES = (
    "trace-budget rank decode.json.gz candidates.toml",
    "trace-budget rank decode.json.gz candidates.toml --target-pct 0.5 -o rank.csv",
)

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

    `others` are further ranks of the job; `token` and `policy` win over those of a candidate file.
    """
    from trace_budget.api import analyse
    from trace_budget.projection.rank import rank as ranking_of
    from trace_budget.projection.replay.collectives import distinct_ranks
    from trace_budget.reports import rank as rank_room

    read, asked = opened(trace), candidates_of(candidates)
    asked = replace(asked, token=token or asked.token, policy=policy or asked.policy)
    distinct_ranks((read, *others))
    found = analyse(read, scope)
    ranking = ranking_of(found, asked, [analyse(other, scope) for other in others])
    return rank_room.rank_report(found, ranking, asked)


def command(
    trace: TracePath,
    candidates: Candidates,
    scope: Scope,
    token: Given[TokenInput],
    policy: Given[Policy],
    inputs: Inputs,
    with_rank: OtherRanks = None,
) -> Report:
    """Many candidates: each alone, all together, and what each adds.

    Savings do not add: the joint figure says what the whole set is worth.
    """
    asked = candidates_of(candidates)
    asked = replace(asked, policy=policy.over(asked.policy), token=token.over(asked.token))
    read, *beside = inputs.open_ranks(trace)
    return rank(read, asked, scope, [*beside, *(inputs.open(path) for path in with_rank or ())])
