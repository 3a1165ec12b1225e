"""GO, MARGINAL, NO-GO or INVALID: NO-GO is proven by the upper bound; GO needs lower bound, detectability, evidence."""

from __future__ import annotations

from dataclasses import dataclass

from trace_budget.projection.evidence import QUESTIONS, Answer
from trace_budget.projection.statistics import minimum_detectable_pct
from trace_budget.schema.band import Band
from trace_budget.schema.options import Policy

DILUTION_MEASURED = 0.67
DILUTION_STATED = 0.5


@dataclass(frozen=True, slots=True)
class Percent(Band):
    """Savings as % of the token: the band, beside the plain product and what a kernel of no time would save."""

    naive: float
    ceiling: float


@dataclass(frozen=True, slots=True)
class Verdict:
    """`verdict`, `why` in one sentence, the machine-readable `reason`, and the figures it was decided on."""

    verdict: str
    why: str
    reason: str
    dilution: float
    mde_pct: float


def judge(
    pct: Percent, answers: dict[str, Answer], policy: Policy, invalid: str, contended: bool, bound_only: bool
) -> Verdict:
    """Decide by the rule: undiluted high bound for NO-GO, diluted low bound and detectability for GO."""
    rho = dilution_of(answers, policy)
    mde = minimum_detectable_pct(policy.noise_pct, policy.runs)
    go = (
        f"low bound x dilution is {_pct(pct.low * rho)}, target {_pct(policy.target_pct)}, and an A/B of"
        f" {policy.runs} runs can see it"
    )
    short = _bound_only() if bound_only else _short(pct, answers, policy, contended, mde)
    undecided = ("MARGINAL", *short) if short else ("GO", "all_met", go)
    word, reason, why = _ruled_out(pct, policy.target_pct, invalid) or undecided
    return Verdict(word, why, reason, rho, mde)


def _ruled_out(pct: Percent, target: float, invalid: str) -> tuple[str, str, str] | None:
    """INVALID or NO-GO, where nothing on the favourable side reaches the target; None otherwise."""
    if invalid:
        return "INVALID", "invalid_input", invalid
    if pct.high <= 0:
        return "NO-GO", "regression", f"even the high bound saves nothing ({_pct(pct.high)})"
    if pct.ceiling < target:
        text = f"the kernel takes {_pct(pct.ceiling)} of the token in all: making it free misses {_pct(target)}"
        return "NO-GO", "ceiling", text
    if pct.high < target:
        return "NO-GO", "high_bound", f"the high bound {_pct(pct.high)} is below the target {_pct(target)}"
    return None


def _bound_only() -> tuple[str, str]:
    return "bound_only", "an upper bound alone can rule out, not confirm; measure the new kernel"


def _short(
    pct: Percent, answers: dict[str, Answer], policy: Policy, contended: bool, mde: float
) -> tuple[str, str] | None:
    """What a GO lacks: (reason, why); None when nothing does."""
    rho = dilution_of(answers, policy)
    if pct.low * rho < policy.target_pct:
        return _short_of(pct, rho, policy.target_pct, contended)
    if pct.expected * rho < mde:
        return (
            "undetectable",
            f"an A/B of {policy.runs} runs at {_pct(policy.noise_pct)} noise sees {_pct(mde)} and more;"
            f" {_below(pct.expected * rho, mde)} is expected",
        )
    missing = [key for key, answer in answers.items() if answer.grade == "D"]
    if missing:
        asked = ", ".join(f"{key} ({QUESTIONS[key]})" for key in missing)
        return f"missing_evidence({','.join(missing)})", f"the figures suffice but {asked} is unknown"
    return None


def _short_of(pct: Percent, rho: float, target: float, contended: bool) -> tuple[str, str]:
    """Why the lower side misses the target although the high bound reaches it."""
    if contended:
        return (
            "contention",
            f"the kernel shares the device: between {_pct(pct.low)} and {_pct(pct.high)} is possible,"
            " the trace cannot say more",
        )
    if pct.expected * rho >= target:
        return (
            "bound_gap",
            f"expected {_pct(pct.expected)} x dilution {rho:g} reaches {_pct(target)},"
            f" the low bound {_pct(pct.low)} does not",
        )
    if pct.low < 0.5 * pct.high:
        return (
            "launch_bound",
            f"only {_pct(pct.low)} of the possible {_pct(pct.high)} is proven:"
            " launches, waits or other streams may set the pace",
        )
    return (
        "diluted",
        f"{_pct(pct.expected)} on paper; at the usual dilution {rho:g} that is {_pct(pct.expected * rho)},"
        f" below {_pct(target)}",
    )


def dilution_of(answers: dict[str, Answer], policy: Policy) -> float:
    """The share of a projected saving that public integrations realised, by how well the saving is known."""
    if policy.dilution is not None:
        return policy.dilution
    return DILUTION_MEASURED if answers["Q1"].grade == "A" else DILUTION_STATED


def _below(value: float, limit: float) -> str:
    """A figure below a limit that rounding must not make equal to it."""
    shown = _pct(value)
    return shown if shown != _pct(limit) else f"a little less ({value:.4f} %)"


def _pct(value: float) -> str:
    return f"{value:.3f} %" if abs(value) < 1 else f"{value:.2f} %"
