"""GO, MARGINAL, NO-GO or INVALID: NO-GO is a proof by the upper bound, GO needs lower bound, detectability and evidence."""

from __future__ import annotations

from dataclasses import dataclass

from trace_budget.projection.evidence import QUESTIONS, Answer
from trace_budget.projection.statistics import minimum_detectable_pct
from trace_budget.schema.options import Policy

DILUTION_MEASURED = 0.67
DILUTION_STATED = 0.5
VERDICTS = ("GO", "MARGINAL", "NO-GO", "INVALID")


@dataclass(frozen=True, slots=True)
class Percent:
    """Savings as % of the token; None when the token time is unknown."""

    naive: float
    low: float
    expected: float
    high: float
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
    target = policy.target_pct

    def verdict(word: str, reason: str, why: str) -> Verdict:
        return Verdict(word, why, reason, rho, mde)

    if invalid:
        return verdict("INVALID", "invalid_input", invalid)
    if pct.high <= 0:
        return verdict("NO-GO", "regression", f"even the high bound saves nothing ({_pct(pct.high)})")
    if pct.ceiling < target:
        return verdict(
            "NO-GO",
            "ceiling",
            f"the kernel takes {_pct(pct.ceiling)} of the token in all: making it free misses {_pct(target)}",
        )
    if pct.high < target:
        return verdict("NO-GO", "high_bound", f"the high bound {_pct(pct.high)} is below the target {_pct(target)}")
    if bound_only:
        return verdict(
            "MARGINAL", "bound_only", "an upper bound alone can rule out, not confirm; measure the new kernel"
        )
    missing = [key for key, answer in answers.items() if answer.grade == "D"]
    if pct.low * rho < target:
        return verdict("MARGINAL", *_short_of(pct, rho, target, contended))
    if pct.expected * rho < mde:
        return verdict(
            "MARGINAL",
            "undetectable",
            f"an A/B of {policy.runs} runs at {_pct(policy.noise_pct)} noise sees {_pct(mde)} at best; {_pct(pct.expected * rho)} is expected",
        )
    if missing:
        asked = ", ".join(f"{key} ({QUESTIONS[key]})" for key in missing)
        return verdict(
            "MARGINAL", f"missing_evidence({','.join(missing)})", f"the figures suffice but {asked} is unknown"
        )
    return verdict(
        "GO",
        "all_met",
        f"low bound x dilution is {_pct(pct.low * rho)}, target {_pct(target)}, and an A/B of {policy.runs} runs can see it",
    )


def _short_of(pct: Percent, rho: float, target: float, contended: bool) -> tuple[str, str]:
    """Why the lower side misses the target although the high bound reaches it."""
    if contended:
        return (
            "contention",
            f"the kernel shares the device: between {_pct(pct.low)} and {_pct(pct.high)} is possible, the trace cannot say more",
        )
    if pct.expected * rho >= target:
        return (
            "bound_gap",
            f"expected {_pct(pct.expected)} x dilution {rho:g} reaches {_pct(target)}, the low bound {_pct(pct.low)} does not",
        )
    if pct.low < 0.5 * pct.high:
        return (
            "launch_bound",
            f"only {_pct(pct.low)} of the possible {_pct(pct.high)} is proven: launches, waits or other streams may set the pace",
        )
    return (
        "diluted",
        f"{_pct(pct.expected)} on paper; at the usual dilution {rho:g} that is {_pct(pct.expected * rho)}, below {_pct(target)}",
    )


def dilution_of(answers: dict[str, Answer], policy: Policy) -> float:
    """The share of a projected saving that public integrations realised, by how well the saving is known."""
    if policy.dilution is not None:
        return policy.dilution
    return DILUTION_MEASURED if answers["Q1"].grade == "A" else DILUTION_STATED


def _pct(value: float) -> str:
    return f"{value:.3f} %" if abs(value) < 1 else f"{value:.2f} %"
