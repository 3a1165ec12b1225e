"""rank: many candidates, alone and together."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

from trace_budget.cli._groups import argument
from trace_budget.cli._options import Judging, OtherRanks, Reading, Scoping, Tokens, TracePath
from trace_budget.cli._output import Output, emit

Candidates = Annotated[Path, argument("CANDIDATES.toml", "The candidate file.")]


def rank(
    trace: TracePath,
    candidates: Candidates,
    scoping: Scoping,
    tokens: Tokens,
    judging: Judging,
    reading: Reading,
    output: Output,
    with_rank: OtherRanks = None,
) -> None:
    """Many candidates: each alone, all together, and what each adds.

    Savings do not add: the joint figure says what the whole set is worth.
    """
    from trace_budget import api
    from trace_budget.projection.candidates import read_candidates

    asked = read_candidates(candidates)
    asked = replace(asked, policy=judging.policy(asked.policy), token=tokens.token(asked.token))
    opened, *beside = reading.open_ranks(trace, output)
    others = [*beside, *(reading.open(path, output) for path in with_rank or ())]
    emit(api.rank_report(opened, asked, scoping.scope(), others), output)
