"""The projection of one candidate on one trace: everything the answer needs, in ns and %."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from trace_budget.analysis.health import lost_kernels
from trace_budget.errors import NotInTraceError
from trace_budget.projection.bounds import Bounds, beyond_budget, settle
from trace_budget.projection.candidates import Candidate
from trace_budget.projection.claimed_saving import Saving
from trace_budget.projection.evidence import Answer, evidence
from trace_budget.projection.match import Match
from trace_budget.projection.replay.collectives import unused_ranks
from trace_budget.projection.replay.ground import Ground, interval
from trace_budget.projection.statistics import pairs_needed, runs_needed
from trace_budget.projection.target import Target, common_ground, site_of, target_of, untimed_of
from trace_budget.projection.token import Token, impossible, token_of
from trace_budget.projection.verdict import Percent, Verdict, judge
from trace_budget.schema.findings import Found, Steps
from trace_budget.schema.options import Change, Policy, Range, Selection, TokenInput
from trace_budget.schema.trace import Caveat, Trace
from trace_budget.units import ns_from_us

__all__ = ["Ask", "Found", "Projection", "Required", "conclude", "project", "project_candidate", "workload"]
OUTLIER_RATIO = 3.0
ALL_HIT = Range(1.0, 1.0)


@dataclass(frozen=True, slots=True)
class Required:
    """Saving per call in ns that reaches the target: `plain` by the naive product, `diluted` with the usual loss."""

    target_pct: float
    plain_ns: float | None
    diluted_ns: float | None
    ceiling_ns: float


@dataclass(frozen=True, slots=True)
class Projection:
    """One candidate on one trace. Times in ns per step, hit rate and per-step cost applied; `pct` of the token."""

    candidate: Change
    match: Match
    token: Token
    saving: Saving
    hit_rate: Range
    limits: Bounds
    pct: Percent
    required: Required
    evidence: dict[str, Answer]
    verdict: Verdict
    runs_needed: int | None
    pairs_needed: int | None
    caveats: tuple[Caveat, ...]


def project(
    found: Found,
    selection: Selection,
    change: Change,
    asked: TokenInput,
    policy: Policy,
    others: Sequence[Found] = (),
) -> Projection:
    """Project one replacement of a kernel; `others` are further ranks of the same job, which do the same.

    Raises NotInTraceError when nothing matches or the asserted call count is wrong.
    """
    return project_candidate(found, Candidate("", change, selection), asked, policy, others)


def project_candidate(
    found: Found, candidate: Candidate, asked: TokenInput, policy: Policy, others: Sequence[Found] = ()
) -> Projection:
    """Project one candidate: a replaced kernel or a fused sequence."""
    workload(found.trace)
    sites = [site_of(one) for one in (found, *others)]
    targets = [target_of(site, candidate) for site in sites]
    base = common_ground(sites, asked.loop)
    scale = beyond_budget(base, targets[0].timed, targets[0].saving)
    moved = interval(base, [tuple(target.claim for target in targets)])
    values = (moved.low[0] * scale, moved.expected[0] * scale, moved.high[0] * scale)
    alone = conclude(Ask(found, candidate, asked, policy), base, targets, values)
    return replace(alone, caveats=(*alone.caveats, *unused_ranks(base.met, len(others))))


@dataclass(frozen=True, slots=True)
class Ask:
    """Who asks what of which trace."""

    found: Found
    candidate: Candidate
    token: TokenInput
    policy: Policy


@dataclass(frozen=True, slots=True)
class CommonFacts:
    """What is the same for all candidates of a trace: the token, and what was lost in recording."""

    token: Token
    lost: tuple[Caveat, ...]


def common_facts(found: Found, asked: TokenInput) -> CommonFacts:
    """Work these out once for any number of candidates."""
    return CommonFacts(token_of(found.steps, asked), lost_kernels(found.trace, found.steps))


def conclude(
    ask: Ask,
    base: Ground,
    targets: Sequence[Target],
    moved: tuple[float, float, float],
    common: CommonFacts | None = None,
) -> Projection:
    """From a propagated interval (ns per step) to the whole answer: percent, evidence, verdict, what is required.

    `targets`: the candidate on the rank that is reported on, then on the others.
    """
    target, beside = targets[0], targets[1:] if base.met is not None else ()
    facts = common or common_facts(ask.found, ask.token)
    token = facts.token
    trace, steps, layers, change = ask.found.trace, ask.found.steps, ask.found.layers, ask.candidate.change
    calls, saving, durations = target.calls, target.saving, target.durations_ns
    asserted(change, calls, trace)
    _complete_replays(change, trace, facts.lost)
    hit = _hit_rate(change, calls)
    untimed = untimed_of(target, beside)
    raw = settle(base, target.timed, saving, target.claim, moved, ask.token.loop, untimed)
    limits = _per_step(raw, hit, ns_from_us(change.per_step_us or 0.0))
    answers = evidence(change, saving, calls, steps, layers, raw)
    pct = _percent(limits, float(durations.mean()) * calls.calls_per_step * hit.high, token)
    invalid = saving.invalid or _unknown_steps(steps) or impossible(token)
    verdict = judge(pct, answers, ask.policy, invalid, limits.contended, saving.bound_only)
    required = _required(ask.policy, token, calls, hit, change, verdict.dilution, float(durations.mean()))
    effect = pct.expected * verdict.dilution
    caveats = (
        *trace.caveats, *steps.caveats, *layers.caveats, *token.caveats, *saving.caveats, *limits.caveats,
        *target.caveats, *_match_caveats(calls, durations, target.untimed + sum(each.untimed for each in beside)),
    )  # fmt: skip
    return Projection(
        change, calls, token, saving, hit, limits, pct, required, answers, verdict,
        runs_needed(effect, ask.policy.noise_pct), pairs_needed(effect, ask.policy.noise_pct), caveats,
    )  # fmt: skip


def workload(trace: Trace) -> None:
    """Refuse traces that are not a workload."""
    for caveat in trace.caveats:
        if caveat.code == "capture_sidecar":
            raise NotInTraceError(
                "a graph-capture trace is not a workload", where=trace.path, expected="a trace of replayed steps",
                found=caveat.text, advice="Project on the trace recorded while serving.",
            )  # fmt: skip


def asserted(change: Change, calls: Match, trace: Trace) -> None:
    """Raise NotInTraceError unless the trace shows as many calls per step as the user stated."""
    if change.calls is not None and not change.force and abs(change.calls - calls.calls_per_step) > 1e-9:
        raise NotInTraceError(
            "the trace shows another number of calls per step", where=trace.path, expected=f"--calls {change.calls:g}",
            found=f"{calls.calls_per_step:g}", advice="Check --kernel and --position, or --force to go on.",
        )  # fmt: skip


def _complete_replays(change: Change, trace: Trace, lost: tuple[Caveat, ...]) -> None:
    """A trace that lost kernels shows too few calls: project only when the user knows how many there are."""
    for caveat in lost if change.calls is None and not change.force else ():
        if caveat.code == "lost_kernels":
            raise NotInTraceError(
                "the trace has lost kernels", where=trace.path, expected="equal replays of a graph",
                found=caveat.text, advice="State the calls per step (--calls), or record again.",
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


def _per_step(limits: Bounds, hit: Range, cost_ns: float) -> Bounds:
    """Weight by the hit rate (a request takes the new kernel in all layers or in none); take per-step costs off."""
    middle = hit.high if hit.low == 0.0 and hit.high == 1.0 else (hit.low + hit.high) / 2
    low = limits.low * (hit.low if limits.low >= 0 else hit.high)
    high = limits.high * (hit.high if limits.high >= 0 else hit.low)
    return replace(
        limits,
        naive=limits.naive * hit.high - cost_ns,
        exposed=limits.exposed * hit.high - cost_ns,
        chain=limits.chain * hit.high - cost_ns,
        low=low - cost_ns,
        expected=limits.expected * middle - cost_ns,
        high=high - cost_ns,
    )


def _percent(limits: Bounds, ceiling_ns: float, token: Token) -> Percent:
    """Savings per token as % of the token."""
    whole = token.token_ns * token.tokens_per_step
    return Percent(*(100.0 * ns / whole for ns in (limits.naive, limits.low, limits.expected, limits.high, ceiling_ns)))


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
