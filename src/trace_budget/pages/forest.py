"""The candidates of a ranking as ranges, and all of them together."""

from __future__ import annotations

import polars as pl

from trace_budget.errors import OutputError
from trace_budget.projection.candidates import CandidateSet
from trace_budget.projection.rank import Ranking
from trace_budget.schema.pictures import Forest


def forest(ranking: Ranking, asked: CandidateSet) -> Forest:
    """The picture of a ranking, without the candidates that are INVALID; best first."""
    kept = [row for row in ranking.rows if not row.alone.saving.invalid]
    if not kept:
        raise OutputError("no candidate is left to draw: all are INVALID", where="--plot")
    frame = pl.DataFrame(
        {
            "candidate": [row.candidate.id for row in kept],
            "low_pct": [row.alone.pct.low for row in kept],
            "expected_pct": [row.alone.pct.expected for row in kept],
            "high_pct": [row.alone.pct.high for row in kept],
            "verdict": [row.alone.verdict.verdict for row in kept],
        },
        schema_overrides={"candidate": pl.String, "verdict": pl.String},
    )
    first = ranking.rows[0].alone
    whole = first.token.token_ns * first.token.tokens_per_step
    several = sum(row.chosen for row in ranking.rows) > 1
    together = ranking.joint.times(100).over(whole) if several else None
    policy = asked.policy
    return Forest(frame, together, policy.target_pct, first.verdict.mde_pct, policy.noise_pct, policy.runs)
