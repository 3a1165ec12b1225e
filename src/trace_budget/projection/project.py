"""The projection of one candidate on one trace: everything the answer needs, in ns and %."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from trace_budget.analysis.lost_work import LostWork, lost_work
from trace_budget.errors import NotInTraceError
from trace_budget.projection.blockers import Doubts, doubts_of
from trace_budget.projection.bounds import Bounds, bounds_of, held, moved_by, unsampled_factor
from trace_budget.projection.candidates import Candidate
from trace_budget.projection.claimed_saving import Saving
from trace_budget.projection.evidence import Graded, evidence
from trace_budget.projection.match import Match
from trace_budget.projection.missing import Missing, missing_calls, unknown_calls, with_missing
from trace_budget.projection.reading import Reading
from trace_budget.projection.replay.collectives import unused_ranks
from trace_budget.projection.replay.schedule import Claim, Schedule
from trace_budget.projection.statistics import pairs_needed, runs_needed
from trace_budget.projection.target import PreparedRank, Target, common_schedule, prepared_rank, target_of, untimed_of
from trace_budget.projection.token import Token, impossible, token_of
from trace_budget.projection.verdict import Percent, Verdict, judge
from trace_budget.schema.band import Band
from trace_budget.schema.findings import Findings, Steps
from trace_budget.schema.options import Change, Policy, Range, Selection, TokenInput
from trace_budget.schema.trace import Caveat, Trace
from trace_budget.units import ns_from_us

__all__ = ["Findings", "Prepared", "Projection", "Required", "prepare", "project", "project_candidate", "project_many"]
OUTLIER_RATIO = 3.0
ALL_HIT = Range(1.0, 1.0)
NONE_MISSING = Missing()


@dataclass(frozen=True, slots=True)
class Required:
    """Saving per call in ns that reaches the target: `plain` by the naive product, `diluted` with the usual loss."""

    target_pct: float
    plain_ns: float | None
    diluted_ns: float | None
    ceiling_ns: float


@dataclass(frozen=True, slots=True)
class Projection:
    """One candidate on one trace. Times in ns per step, hit rate and per-step cost applied; `pct` of the token.

    `claims`: what it takes off the ops of each rank; `moved`: what those save by the replay alone; `ceiling_ns`: what
    its calls take per step; `readings`: the candidate under each reading of the trace.
    """

    candidate: Change
    match: Match
    token: Token
    saving: Saving
    hit_rate: Range
    limits: Bounds
    pct: Percent
    required: Required
    evidence: dict[str, Graded]
    verdict: Verdict
    runs_needed: int | None
    pairs_needed: int | None
    caveats: tuple[Caveat, ...]
    claims: tuple[Claim, ...]
    moved: Band
    ceiling_ns: float
    doubts: Doubts
    readings: tuple[Reading, ...] = ()


def project(
    found: Findings,
    selection: Selection,
    change: Change,
    asked: TokenInput,
    policy: Policy,
    others: Sequence[Findings] = (),
) -> Projection:
    """Project one replacement of a kernel; `others` are further ranks of the same job, which do the same.

    Raises NotInTraceError when nothing matches or the asserted call count is wrong.
    """
    return project_candidate(found, Candidate("", change, selection), asked, policy, others)


def project_candidate(
    found: Findings, candidate: Candidate, asked: TokenInput, policy: Policy, others: Sequence[Findings] = ()
) -> Projection:
    """Project one candidate: a replaced kernel or a fused sequence."""
    return project_many(prepare(found, asked, policy, others), [candidate])[0]


@dataclass(frozen=True, slots=True)
class Prepared:
    """A trace made ready for candidates, and what is asked of all of them.

    `ranks`: the rank that is reported on, then the others; `base`: what their projections are computed on; `lost`: what
    recording lost.
    """

    ranks: tuple[PreparedRank, ...]
    base: Schedule
    asked: TokenInput
    policy: Policy
    token: Token
    lost: LostWork

    @property
    def found(self) -> Findings:
        """What was found in the trace that is reported on."""
        return self.ranks[0].found


def prepare(found: Findings, asked: TokenInput, policy: Policy, others: Sequence[Findings] = ()) -> Prepared:
    """Everything about a trace that does not depend on a candidate. Raises NotInTraceError for what is no workload."""
    refuse_capture(found.trace)
    ranks = tuple(prepared_rank(one) for one in (found, *others))
    base = common_schedule(ranks, asked.loop)
    return Prepared(
        ranks, base, asked, policy, token_of(found.steps, asked, found.trace), lost_work(found.trace, found.steps)
    )


def project_many(ready: Prepared, candidates: Sequence[Candidate]) -> list[Projection]:
    """Project candidates, each alone, in one pass over the trace.

    Raises NotInTraceError when one matches nothing or another number of calls than stated.
    """
    targets = [tuple(target_of(rank, candidate) for rank in ready.ranks) for candidate in candidates]
    moved = moved_by(ready.base, [tuple(each.claim for each in target) for target in targets])
    return [_conclude(ready, *one) for one in zip(candidates, targets, moved, strict=True)]


def _conclude(ready: Prepared, candidate: Candidate, targets: Sequence[Target], moved: Band) -> Projection:
    """From a propagated band (ns per step) to the whole answer: percent, evidence, verdict, what is required.

    `targets`: the candidate on the rank that is reported on, then on the others.
    """
    target, beside = targets[0], targets[1:] if ready.base.met is not None else ()
    found, token, change = ready.found, ready.token, candidate.change
    steps, layers = found.steps, found.layers
    calls, saving, durations = target.calls, target.saving, target.durations_ns
    missing = missing_calls(ready.lost, found, change, calls, durations)
    asserted(change, calls, found.trace, missing)
    hit = _hit_rate(change, calls)
    scaled = moved.times(unsampled_factor(ready.base, target.timed, saving))
    raw = bounds_of(
        ready.base, target.timed, saving, target.claim, scaled, ready.asked.loop, untimed_of(target, beside)
    )
    raw = with_missing(raw, missing, saving)
    ceiling_ns = hit.high * max(*(each.ceiling_ns for each in (target, *beside)), raw.high if target.fused else 0.0)
    ceiling_ns += hit.high * missing.most * float(durations.mean())
    limits = _per_step(raw, hit, ns_from_us(change.per_step_us or 0.0), ceiling_ns, token)
    answers = evidence(change, saving, calls, steps, layers, raw)
    pct = _percent(limits, ceiling_ns, token)
    invalid = saving.invalid or _unknown_steps(steps) or impossible(token) or unknown_calls(ready.lost, change)
    doubts = doubts_of(change, saving, hit, raw, calls.steps, token)
    verdict = judge(pct, answers, ready.policy, invalid, doubts)
    required = _required(ready.policy, token, calls, hit, change, verdict.dilution, float(durations.mean()))
    effect = pct.expected * verdict.dilution
    noise_pct = ready.policy.noise_pct
    caveats = (
        *found.trace.caveats, *steps.caveats, *layers.caveats, *token.caveats, *saving.caveats, *limits.caveats,
        *target.caveats, *_match_caveats(calls, durations, target.untimed + sum(each.untimed for each in beside)),
        *unused_ranks(ready.base.met, len(ready.ranks) - 1),
    )  # fmt: skip
    return Projection(
        change, calls, token, saving, hit, limits, pct, required, answers, verdict,
        runs_needed(effect, noise_pct), pairs_needed(effect, noise_pct), caveats,
        tuple(each.claim for each in targets), moved, ceiling_ns, doubts,
    )  # fmt: skip


def refuse_capture(trace: Trace) -> None:
    """Refuse traces that are not a workload."""
    for caveat in trace.caveats:
        if caveat.code == "capture_sidecar":
            raise NotInTraceError(
                "a graph-capture trace is not a workload", where=trace.path, expected="a trace of replayed steps",
                found=caveat.text, advice="Project on the trace recorded while serving.",
            )  # fmt: skip


def asserted(change: Change, calls: Match, trace: Trace, missing: Missing = NONE_MISSING) -> None:
    """Raise NotInTraceError unless the trace shows as many calls per step as the user stated, lost ones counted in."""
    if change.calls is None or change.force:
        return
    if abs(change.calls - calls.calls_per_step - missing.known) > 1e-9:
        raise NotInTraceError(
            "the trace shows another number of calls per step", where=trace.path, expected=f"--calls {change.calls:g}",
            found=f"{calls.calls_per_step:g}", advice="Check --kernel and --position, or --force to go on.",
        )  # fmt: skip


def _unknown_steps(steps: Steps) -> str:
    """Why nothing can be said of a token, where the trace shows no steps and the user names none; else ''."""
    if all(caveat.code != "steps_unknown" for caveat in steps.caveats):
        return ""
    return (
        "no step was found, so what a token takes is unknown: record with ranges around the steps, or say with"
        " --steps 0 that the whole trace is one step"
    )


def _hit_rate(change: Change, calls: Match) -> Range:
    """The stated hit rate; without one all requests hit where the trace shows equal counts, else none is proven."""
    if change.hit_rate is not None:
        return change.hit_rate
    return ALL_HIT if calls.constant else Range(0.0, 1.0)


def _per_step(limits: Bounds, hit: Range, cost_ns: float, ceiling_ns: float, token: Token) -> Bounds:
    """Weight by the hit rate (a request takes the new kernel in all layers or in none); take per-step costs off."""
    middle = hit.high if hit.low == 0.0 and hit.high == 1.0 else (hit.low + hit.high) / 2
    low = limits.low * (hit.low if limits.low >= 0 else hit.high)
    high = limits.high * (hit.high if limits.high >= 0 else hit.low)
    weighted = Band(low, limits.expected * middle, high).plus(-cost_ns)
    saved = held(weighted, ceiling_ns, token.token_ns * token.tokens_per_step)
    return replace(
        limits,
        low=saved.low,
        expected=saved.expected,
        high=saved.high,
        naive=limits.naive * hit.high - cost_ns,
        exposed=limits.exposed * hit.high - cost_ns,
        chain=limits.chain * hit.high - cost_ns,
    )


def _percent(limits: Bounds, ceiling_ns: float, token: Token) -> Percent:
    """Savings per token as % of the token; high and the ceiling of the shortest that a token may take."""
    whole, least = (ns * token.tokens_per_step for ns in (token.token_ns, token.shortest_ns))
    low, expected, _ = limits.times(100.0).over(whole).ends
    high = 100.0 * limits.high / (least if limits.high > 0 else whole)
    return Percent(low, expected, high, 100.0 * limits.naive / whole, 100.0 * ceiling_ns / least)


def _required(
    policy: Policy, token: Token, calls: Match, hit: Range, change: Change, dilution: float, mean_ns: float
) -> Required:
    """Invert the arithmetic: what each call must save so that the target is reached, costs included."""
    target_ns = policy.target_pct / 100.0 * token.token_ns * token.tokens_per_step
    weight = calls.calls_per_step * hit.high
    if weight <= 0:
        return Required(policy.target_pct, None, None, mean_ns)
    extra = ns_from_us(change.overhead_us or 0.0) + ns_from_us(change.per_step_us or 0.0) / weight
    plain = target_ns / weight
    return Required(policy.target_pct, plain + extra, plain / dilution + extra if dilution > 0 else None, mean_ns)


def _match_caveats(calls: Match, durations: np.ndarray, missing: int) -> tuple[Caveat, ...]:
    out: list[Caveat] = []
    if missing:
        out.append(
            Caveat(
                "calls_without_times",
                f"{missing} matched calls have no usable times: the product, the high bound and the ceiling take them "
                "for calls like the others, low and expected leave them out",
                missing,
                "warning",
            )
        )
    if calls.damaged:
        text = f"{calls.damaged} calls stand under damaged names that may be this kernel's: they are not counted"
        out.append(Caveat("damaged_name", text, calls.damaged, "warning"))
    ratio = float(durations.max() / max(np.median(durations), 1.0))
    if ratio > OUTLIER_RATIO:
        out.append(
            Caveat(
                "duration_outlier",
                f"the longest matched call takes {ratio:.1f} times the median: a wait, or another shape; medians "
                "are used for the control",
                1,
                "note",
            )
        )
    sites = calls.ops.filter(pl.col("position") >= 0)["position"].n_unique()
    if sites > 1 and calls.layers:
        out.append(
            Caveat(
                "several_call_sites",
                f"the kernel runs at {sites} positions of the layer; --position picks one",
                sites,
                "note",
            )
        )
    return tuple(out)
