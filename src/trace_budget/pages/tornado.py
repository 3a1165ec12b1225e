"""What each assumption behind a projection moves the answer by: projected again with it at its two ends."""

from __future__ import annotations

from dataclasses import dataclass, replace

import polars as pl

from trace_budget.analysis.floor import dispatch_floor
from trace_budget.errors import NotInTraceError
from trace_budget.pages.waterfall import cost_per_call_ns, hit_of, refuse_invalid
from trace_budget.projection.candidates import Candidate
from trace_budget.projection.evidence import QUESTIONS
from trace_budget.projection.ledger import usual_dilution
from trace_budget.projection.over_readings import without_excluded
from trace_budget.projection.project import Prepared, Projection, prepare, project_candidate, project_many
from trace_budget.projection.stated_time import KAPPA_LIMIT
from trace_budget.schema.findings import Findings
from trace_budget.schema.options import Change, Policy, Range, TokenInput
from trace_budget.schema.pictures import Swing, Tornado
from trace_budget.units import ms_from_ns, show_count, show_pct, show_us, us_from_ns

SHORTEST = 1e-6  # of a call, or us: what no kernel is
ENDS = (1 - KAPPA_LIMIT, 1 + KAPPA_LIMIT)  # how far off a stated time may be before a baseline refuses it


@dataclass(frozen=True, slots=True)
class _Case:
    """One candidate on one trace, and its answer as it stands."""

    ready: Prepared
    candidate: Candidate
    base: Projection

    @property
    def change(self) -> Change:
        return self.candidate.change

    def with_change(self, change: Change) -> Candidate:
        return replace(self.candidate, change=change)

    def each(self, *changes: Change) -> list[Projection]:
        return project_many(self.ready, [self.with_change(change) for change in changes])


def tornado(
    found: Findings, candidate: Candidate, asked: TokenInput, policy: Policy, among: tuple[str, ...] = ()
) -> Tornado:
    """The six questions, and the usual loss of integration, by what each moves the expected share of a token."""
    ready = prepare(without_excluded(found, asked), asked, policy)
    case = _Case(ready, candidate, project_many(ready, [candidate])[0])
    base = case.base
    refuse_invalid(base)
    swings = [_saved(case), _calls(case), _layers(base), _requests(case), _overlap(case), _costs(case)]
    swings.append(_integration(base, policy))
    ordered = sorted(swings, key=lambda swing: swing.low_pct - swing.high_pct)
    return Tornado(base.match.kernel, tuple(ordered), base.pct.expected, policy.target_pct, among)


def _swing(question: str, shares: list[float], ends: str) -> Swing:
    return Swing(question, QUESTIONS[question], min(shares), max(shares), ends)


def _still(question: str, base: Projection, why: str) -> Swing:
    return _swing(question, [base.pct.expected], why)


def _gross_us(base: Projection, end: str) -> float:
    """Saved per call at one end, costs not off, in us."""
    return us_from_ns(getattr(base.saving.mean_ns, end) + cost_per_call_ns(base.candidate))


def _saving(case: _Case, us: float) -> Change:
    """The change with `us` saved per call on average: a ratio stays one, a new time one, anything else is a saving."""
    change, expected = case.change, _gross_us(case.base, "expected")
    plain = replace(change, free=False, proxy_us=None, baseline_us=None, saving_ci_us=None)
    if change.speedup is not None and expected:
        left = 1 - us / expected * (1 - 1 / change.speedup)
        return replace(plain, speedup=1 / max(left, SHORTEST))
    if change.new_us is not None and change.baseline_us is None:
        return replace(plain, new_us=max(change.new_us + expected - us, SHORTEST))
    return replace(plain, saving_us=max(us, 0.0), new_us=None, speedup=None, clip=True)


def _saved(case: _Case) -> Swing:
    """A stated saving may be off as far as a baseline would still be accepted; a checked one as its own range says."""
    base, change = case.base, case.change
    if change.free:
        return _still("Q1", base, "the kernel's own time, from the trace")
    low, middle, high = (_gross_us(base, end) for end in ("low", "expected", "high"))
    told = "as its own range says"
    if base.saving.kappa is None and change.proxy_us is None:
        low, high = min(low, ENDS[0] * middle), max(high, min(ENDS[1] * middle, us_from_ns(base.required.ceiling_ns)))
        told = "without --baseline-us"
    shares = [one.pct.expected for one in case.each(_saving(case, low), _saving(case, high))]
    return _swing("Q1", [base.pct.expected, *shares], f"{show_us(low)} to {show_us(high)} us, {told}")


def _calls(case: _Case) -> Swing:
    """Other readings of the trace, or steps with fewer and more calls."""
    base, found = case.base, case.ready.found
    others = [share for other in found.others if (share := _in_reading(case, other)) is not None]
    if others:
        return _swing("Q2", [base.pct.expected, *others], f"{len(others) + 1} readings of the trace")
    if base.match.constant:
        return _still("Q2", base, f"{show_count(base.match.calls_per_step)} in every step")
    counts = base.match.ops.group_by("step_index").len().sort("len", "step_index")
    fewest, most = counts["step_index"][0], counts["step_index"][-1]
    shares = [share for step in (fewest, most) if (share := _in_step(case, int(step))) is not None]
    ends = f"{counts['len'][0]} to {counts['len'][-1]} in a step that runs it"
    return _swing("Q2", [base.pct.expected, *shares], ends)


def _in_reading(case: _Case, other: Findings) -> float | None:
    ready = case.ready
    try:
        return project_candidate(other, case.candidate, ready.asked, ready.policy).pct.expected
    except NotInTraceError:
        return None


def _in_step(case: _Case, step: int) -> float | None:
    """As if every step were like this one, at the same token time."""
    ready, found = case.ready, case.ready.found
    frame = found.steps.frame.with_columns((pl.col("step_index") == step).alias("used"))
    alone = replace(found, steps=replace(found.steps, frame=frame), others=())
    asked = replace(ready.asked, token_ms=ms_from_ns(ready.token.token_ns))
    try:
        return project_candidate(
            alone, case.with_change(_hit(case, hit_of(case.base))), asked, ready.policy
        ).pct.expected
    except NotInTraceError:
        return None


def _hit(case: _Case, share: float) -> Change:
    return replace(case.change, hit_rate=Range(share, share))


def _layers(base: Projection) -> Swing:
    match = base.match
    hit = f"{match.layers_hit} of {match.layers} are hit; " if match.layers_hit is not None else ""
    return _still("Q3", base, f"{hit}calls are counted, whatever their layers")


def _requests(case: _Case) -> Swing:
    """All requests or none where nothing was stated; else what was stated."""
    base, given = case.base, case.change.hit_rate
    if given is not None and given.low == given.high:
        return _still("Q4", base, f"{given.low:g}, as stated")
    low, high = (given.low, given.high) if given is not None else (0.0, 1.0)
    shares = [one.pct.expected for one in case.each(_hit(case, low), _hit(case, high))]
    told = "as stated" if given is not None else "without --hit-rate"
    return _swing("Q4", [base.pct.expected, *shares], f"{low:g} to {high:g} of them, {told}")


def _overlap(case: _Case) -> Swing:
    """What the replay leaves open, with everything else as expected."""
    base = case.base
    change = case.change if case.change.free else _saving(case, _gross_us(base, "expected"))
    share = hit_of(base)
    one = case.each(replace(change, hit_rate=Range(share, share)))[0]
    low = one.pct.low if not case.change.free else one.pct.expected
    if abs(one.pct.high - low) < 1e-9 * abs(one.pct.high):
        return _still("Q5", base, "launches, streams and gaps leave no room")
    return _swing(
        "Q5", [base.pct.expected, low, one.pct.high], f"{show_pct(low)} to {show_pct(one.pct.high)} by the replay"
    )


def _costs(case: _Case) -> Swing:
    """Stated costs, or none; where none were stated one more launch of the shortest kernel here a call, or none."""
    change, base = case.change, case.base
    if any((change.overhead_us, change.per_step_us, change.extra_bytes)):
        free = replace(change, overhead_us=0.0, per_step_us=0.0, extra_bytes=None)
        return _swing("Q6", [base.pct.expected, case.each(free)[0].pct.expected], "none, or as stated")
    if change.overhead_us is not None or change.per_step_us is not None or change.extra_bytes is not None:
        return _still("Q6", base, "none, as stated")
    floor_ns = dispatch_floor(case.ready.found.trace).floor_ns
    if not floor_ns:
        return _still("Q6", base, "none are assumed; how short a kernel can be is not known here")
    one = case.each(replace(change, overhead_us=us_from_ns(floor_ns)))[0]
    text = f"none, or one short kernel ({show_us(us_from_ns(floor_ns))} us) a call"
    return _swing("Q6", [base.pct.expected, one.pct.expected], text)


def _integration(base: Projection, policy: Policy) -> Swing:
    """What public integrations left of what was projected."""
    expected = base.pct.expected
    usual = usual_dilution()
    least, most = (usual.low, usual.high) if policy.dilution is None else (policy.dilution, 1.0)
    low, high = sorted((expected * least, expected * most))
    told = "as elsewhere" if policy.dilution is None else "as stated"
    return Swing("", "loss of integration", low, high, f"{least:g} to {most:g} is left, {told}")
