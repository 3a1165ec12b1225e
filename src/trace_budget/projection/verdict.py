"""GO, MARGINAL, NO-GO or INVALID: NO-GO is proven by the upper bound; GO needs lower bound, detectability, evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from trace_budget.projection.blockers import FEWER_LAUNCHES, NO_DOUBTS, Blocker, Doubts, Loss, binding
from trace_budget.projection.evidence import LIFTED_BY, QUESTIONS, Graded
from trace_budget.projection.ledger import usual_dilution
from trace_budget.projection.statistics import minimum_detectable_pct
from trace_budget.schema.band import Band
from trace_budget.schema.options import Policy
from trace_budget.units import show_pct


@dataclass(frozen=True, slots=True)
class Percent(Band):
    """Savings as % of the token: the band, beside the plain product and what a kernel of no time would save."""

    naive: float
    ceiling: float


@dataclass(frozen=True, slots=True)
class Verdict:
    """`verdict`, `why` in one sentence, the machine-readable `reason`, and the figures it was decided on.

    `blockers`: all that keeps a MARGINAL one from GO, what binds most first; `reason` and `why` are those of the first.
    """

    verdict: str
    why: str
    reason: str
    dilution: float
    mde_pct: float
    blockers: tuple[Blocker, ...] = ()


def judge(
    pct: Percent, answers: dict[str, Graded], policy: Policy, invalid: str = "", doubts: Doubts = NO_DOUBTS
) -> Verdict:
    """Decide by the rule: undiluted high bound for NO-GO, diluted low bound and detectability for GO."""
    rho = dilution_of(policy)
    mde = minimum_detectable_pct(policy.noise_pct, policy.runs)
    ruled_out = _ruled_out(pct, policy.target_pct, invalid, doubts.launch_bound)
    if ruled_out:
        word, reason, why = ruled_out
        return Verdict(word, why, reason, rho, mde)
    found = _blockers(pct, answers, policy, doubts)
    if found:
        return Verdict("MARGINAL", _why(found), _reason(found), rho, mde, tuple(found))
    go = (
        f"low bound x dilution is {show_pct(pct.low * rho)}, target {show_pct(policy.target_pct)}, and an A/B of"
        f" {policy.runs} runs can see it"
    )
    return Verdict("GO", go, "all_met", rho, mde)


def _ruled_out(pct: Percent, target: float, invalid: str, launch_bound: bool) -> tuple[str, str, str] | None:
    """INVALID or NO-GO, where nothing on the favourable side reaches the target; None otherwise."""
    host = f"; launches set the pace here, {FEWER_LAUNCHES}" if launch_bound else ""
    if invalid:
        return "INVALID", "invalid_input", invalid
    if pct.high <= 0:
        return "NO-GO", "regression", f"even the high bound saves nothing ({show_pct(pct.high)}){host}"
    if pct.ceiling < target:
        text = f"the kernel takes {show_pct(pct.ceiling)} of the token in all: making it free misses {show_pct(target)}"
        return "NO-GO", "ceiling", text + host
    if pct.high < target:
        text = f"the high bound {show_pct(pct.high)} is below the target {show_pct(target)}"
        return "NO-GO", "high_bound", text + host
    return None


def _blockers(pct: Percent, answers: dict[str, Graded], policy: Policy, doubts: Doubts) -> list[Blocker]:
    """All that a GO lacks."""
    rho = dilution_of(policy)
    mde = minimum_detectable_pct(policy.noise_pct, policy.runs)
    out = list(doubts.stops)
    if pct.low * rho < policy.target_pct:
        losses = [*doubts.losses, *([Loss(rho, _diluted(pct, rho, policy.target_pct))] if rho < 1 else [])]
        out += binding(losses, pct.low * rho, pct.high, policy.target_pct) or [_short(pct, rho, policy.target_pct)]
    if pct.expected * rho < mde:
        text = (
            f"an A/B of {policy.runs} runs at {show_pct(policy.noise_pct)} noise sees {show_pct(mde)} and more;"
            f" {_below(pct.expected * rho, mde)} is left after integration"
        )
        out.append(Blocker("undetectable", text, "--runs, --noise-pct"))
    missing = [(key, answer) for key, answer in answers.items() if answer.grade == "D"]
    return out + [
        Blocker("missing_evidence", f"{key} ({QUESTIONS[key]}) is unknown: {answer.text}", LIFTED_BY[key], key)
        for key, answer in missing
    ]


def _diluted(pct: Percent, rho: float, target: float) -> Blocker:
    text = (
        f"{show_pct(pct.low)} to {show_pct(pct.high)} on paper; integration usually leaves {rho:g} of that, at worst"
        f" {show_pct(pct.low * rho)}: below {show_pct(target)}"
    )
    return Blocker("diluted", text, "--dilution")


def _short(pct: Percent, rho: float, target: float) -> Blocker:
    """Where no single cause stands out: costs, or causes that each take little."""
    text = f"the low bound {show_pct(pct.low)} x dilution {rho:g} misses {show_pct(target)}"
    return Blocker("bound_gap", text, "")


def _reason(found: Sequence[Blocker]) -> str:
    """The code of the first blocker; of open questions all that are open."""
    if found[0].code != "missing_evidence":
        return found[0].code
    return f"missing_evidence({','.join(blocker.question or '' for blocker in found)})"


def _why(found: Sequence[Blocker]) -> str:
    if found[0].code != "missing_evidence":
        return found[0].text
    asked = ", ".join(f"{each.question} ({QUESTIONS[each.question]})" for each in found if each.question)
    return f"the figures suffice but {asked} is unknown"


def dilution_of(policy: Policy) -> float:
    """The share of a projected saving that arrives: as stated, else what public integrations realised (median)."""
    return policy.dilution if policy.dilution is not None else usual_dilution().expected


def _below(value: float, limit: float) -> str:
    """A figure below a limit that rounding must not make equal to it."""
    shown = show_pct(value)
    return shown if shown != show_pct(limit) else f"a little less ({value:.4f} %)"
