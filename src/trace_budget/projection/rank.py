"""Many candidates on one trace: each alone, all together, and all but one, in one pass; savings do not add."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from trace_budget.errors import UsageError
from trace_budget.projection.bounds import held, moved_by
from trace_budget.projection.candidates import Candidate, CandidateSet
from trace_budget.projection.project import Prepared, Projection, prepare, project_many
from trace_budget.projection.replay.schedule import Claim
from trace_budget.schema.band import ENDS, Band, in_order
from trace_budget.schema.findings import Findings, Int64Array


@dataclass(frozen=True, slots=True)
class Ranked:
    """One candidate: its projection alone, and what the whole set loses without it (`marginal_ns`, expected).

    `chosen`: part of the joint set (of a group only the best one is).
    """

    candidate: Candidate
    alone: Projection
    marginal_ns: float | None
    chosen: bool


@dataclass(frozen=True, slots=True)
class Ranking:
    """Candidates by expected saving per token, and all chosen ones together.

    `sum_ns`: what their expected savings would add up to; `joint` is what they save together.
    """

    rows: tuple[Ranked, ...]
    joint: Band
    sum_ns: float


def rank(found: Findings, asked: CandidateSet, others: Sequence[Findings] = ()) -> Ranking:
    """Project all candidates of a set in one pass over the trace.

    Raises UsageError when two candidates that do not exclude each other claim the same call, NotInTraceError when one
    matches nothing.
    """
    ready = prepare(found, asked.token, asked.policy, others)
    answers = project_many(ready, asked.candidates)
    _no_double_claims(asked.candidates, [answer.claims[0] for answer in answers], found.trace.gpu_ops.height)
    chosen = _chosen(asked.candidates, answers)
    sets = [chosen, *([other for other in chosen if other != index] for index in chosen)]
    members = [[answers[index] for index in group] for group in sets]
    moved = moved_by(ready.base, [_merged([answer.claims for answer in group]) for group in members])
    together = [_as_alone(ready, *one) for one in zip(moved, members, strict=True)]
    rows = []
    for index, candidate in enumerate(asked.candidates):
        without = together[1 + chosen.index(index)] if index in chosen else None
        marginal = None if without is None else together[0].expected - without.expected
        rows.append(Ranked(candidate, answers[index], marginal, index in chosen))
    ordered = sorted(
        rows, key=lambda row: (bool(row.alone.saving.invalid), -row.alone.limits.expected, row.candidate.id)
    )
    return Ranking(tuple(ordered), together[0], sum(answer.limits.expected for answer in members[0]))


def _as_alone(ready: Prepared, moved: Band, members: Sequence[Projection]) -> Band:
    """What a set saves together: its claims moved through the trace, less what each answer alone takes off its own.

    That is what a claim cannot hold: hit rates, costs per step, bounds that cannot be beaten, chains, the loop.
    """
    ends = []
    for end in ENDS:
        taken_off = sum(getattr(answer.limits, end) - getattr(answer.moved, end) for answer in members)
        ends.append(float(getattr(moved, end)) + taken_off)
    token = ready.token
    return held(in_order(*ends), sum(answer.ceiling_ns for answer in members), token.token_ns * token.tokens_per_step)


def _chosen(candidates: Sequence[Candidate], answers: Sequence[Projection]) -> list[int]:
    """All candidates that are not INVALID, but of each group only the one that saves most."""
    usable = [not answer.saving.invalid for answer in answers]
    best: dict[str, int] = {}
    for index, candidate in enumerate(candidates):
        if candidate.group is not None and usable[index]:
            rival = best.get(candidate.group)
            if rival is None or answers[index].limits.expected > answers[rival].limits.expected:
                best[candidate.group] = index
    best_of = [candidate.group is None or best.get(candidate.group) == i for i, candidate in enumerate(candidates)]
    return [i for i, is_best in enumerate(best_of) if is_best and usable[i]]


def _no_double_claims(candidates: Sequence[Candidate], claims: Sequence[Claim], ops: int) -> None:
    """Refuse a set in which a call would be saved twice."""
    owner = np.full(ops, -1, dtype=np.int64)
    for index, (candidate, claim) in enumerate(zip(candidates, claims, strict=True)):
        claimed = np.unique(_ops(claim))
        before = owner[claimed]
        for other in np.unique(before[before >= 0]):
            rival = candidates[other]
            if candidate.group is None or candidate.group != rival.group:
                raise UsageError(
                    "two candidates claim the same calls",
                    expected="disjoint calls, or one `group` for candidates that exclude each other",
                    found=f"{rival.id} and {candidate.id} share {np.count_nonzero(before == other)} calls",
                )
        owner[claimed[before < 0]] = index


def _ops(claim: Claim) -> Int64Array:
    return np.concatenate((claim.op_id, claim.vanishing))


def _merged(claims: Sequence[tuple[Claim, ...]]) -> tuple[Claim, ...]:
    """Several candidates as one, rank by rank (they claim different ops)."""
    if not claims:
        nothing = np.zeros(0, dtype=np.float64)
        return (Claim(np.zeros(0, dtype=np.int64), nothing, nothing, nothing),)
    return tuple(_merge_rank([claim[rank] for claim in claims]) for rank in range(len(claims[0])))


def _merge_rank(claims: Sequence[Claim]) -> Claim:
    ids = np.concatenate([claim.op_id for claim in claims])
    order = np.argsort(ids, kind="stable")
    values = [np.concatenate([getattr(claim, name) for claim in claims])[order] for name in ("low", "expected", "high")]
    gone = [np.concatenate([getattr(claim, name) for claim in claims]) for name in ("vanishing", "behind")]
    return Claim(ids[order], values[0], values[1], values[2], gone[0], gone[1])


def verdicts(ranking: Ranking) -> dict[str, int]:
    """How many candidates got which verdict."""
    return dict(Counter(row.alone.verdict.verdict for row in ranking.rows))
