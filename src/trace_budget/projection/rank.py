"""Many candidates on one trace: each alone, all together, and all but one, in one pass; savings do not add."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from trace_budget.errors import UsageError
from trace_budget.projection.bounds import beyond_budget
from trace_budget.projection.candidates import Candidate, CandidateSet
from trace_budget.projection.project import Ask, Projection, common_facts, conclude, workload
from trace_budget.projection.replay.collectives import unused_ranks
from trace_budget.projection.replay.ground import Claim, Interval, interval
from trace_budget.projection.target import Target, common_ground, site_of, target_of
from trace_budget.schema.findings import Found, Int64Array


@dataclass(frozen=True, slots=True)
class Together:
    """Time saved per step in ns: (low, expected, high)."""

    low: float
    expected: float
    high: float


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
    joint: Together
    sum_ns: float


def rank(found: Found, asked: CandidateSet, others: Sequence[Found] = ()) -> Ranking:
    """Project all candidates of a set in one pass over the trace.

    Raises UsageError when two candidates that do not exclude each other claim the same call, NotInTraceError when one
    matches nothing.
    """
    workload(found.trace)
    sites = [site_of(one) for one in (found, *others)]
    targets = [[target_of(site, candidate) for site in sites] for candidate in asked.candidates]
    _no_double_claims(asked.candidates, [target[0] for target in targets], found.trace.gpu_ops.height)
    base = common_ground(sites, asked.token.loop)
    claims = [tuple(part.claim for part in target) for target in targets]
    alone = interval(base, claims)
    common = common_facts(found, asked.token)
    answers = []
    for index, candidate in enumerate(asked.candidates):
        target = targets[index][0]
        scale = beyond_budget(base, target.timed, target.saving)
        moved = tuple(float(values[index]) * scale for values in (alone.low, alone.expected, alone.high))
        ask = Ask(found, candidate, asked.token, asked.policy)
        answer = conclude(ask, base, targets[index], (moved[0], moved[1], moved[2]), common)
        answers.append(replace(answer, caveats=(*answer.caveats, *unused_ranks(base.met, len(others)))))
    chosen = _chosen(asked.candidates, answers)
    sets = [chosen, *([other for other in chosen if other != index] for index in chosen)]
    moved_together = interval(base, [_merged([claims[index] for index in members]) for members in sets])
    together = [_as_alone(moved_together, at, alone, answers, members) for at, members in enumerate(sets)]
    rows = []
    for index, candidate in enumerate(asked.candidates):
        without = together[1 + chosen.index(index)] if index in chosen else None
        marginal = None if without is None else together[0].expected - without.expected
        rows.append(Ranked(candidate, answers[index], marginal, index in chosen))
    ordered = sorted(
        rows, key=lambda row: (bool(row.alone.saving.invalid), -row.alone.limits.expected, row.candidate.id)
    )
    total = sum(answers[index].limits.expected for index in chosen)
    return Ranking(tuple(ordered), _in_order(together[0]), total)


def _as_alone(
    moved: Interval, at: int, alone: Interval, answers: Sequence[Projection], members: Sequence[int]
) -> Together:
    """What a set saves together: its claims moved through the trace, less what each answer alone takes off its own.

    That is what a claim cannot hold: hit rates, costs per step, bounds that cannot be beaten, chains, the loop.
    """
    ends = []
    for name in ("low", "expected", "high"):
        limits = sum(getattr(answers[index].limits, name) - float(getattr(alone, name)[index]) for index in members)
        ends.append(float(getattr(moved, name)[at]) + limits)
    return Together(*ends)


def _in_order(joint: Together) -> Together:
    low = min(joint.low, joint.expected, joint.high)
    return Together(low, min(max(joint.expected, low), joint.high), joint.high)


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


def _no_double_claims(candidates: Sequence[Candidate], targets: Sequence[Target], ops: int) -> None:
    """Refuse a set in which a call would be saved twice."""
    owner = np.full(ops, -1, dtype=np.int64)
    for index, (candidate, target) in enumerate(zip(candidates, targets, strict=True)):
        claimed = np.unique(_ops(target.claim))
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
