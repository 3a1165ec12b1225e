"""Steps of several phases in one workload: savings and step times weighted together before they are compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from trace_budget.errors import NoSuchKernelError, NotInTraceError, UsageError
from trace_budget.projection.candidates import Candidate
from trace_budget.projection.evidence import Answer
from trace_budget.projection.project import Projection, project_candidate
from trace_budget.projection.statistics import pairs_needed, runs_needed
from trace_budget.projection.target import runs
from trace_budget.projection.token import token_of
from trace_budget.projection.verdict import Percent, Verdict, judge
from trace_budget.schema.band import NOTHING, Band, total
from trace_budget.schema.caveats import of_several
from trace_budget.schema.findings import PHASES, Found
from trace_budget.schema.options import LARGEST, Policy, TokenInput
from trace_budget.schema.trace import Caveat


@dataclass(frozen=True, slots=True)
class Phase:
    """The steps of one phase with its share of all steps; `others` are the same on further ranks of the job."""

    phase: str
    weight: float
    found: Found
    others: Sequence[Found] = ()


@dataclass(frozen=True, slots=True)
class Share:
    """One phase: its share of the steps, its step time and what the candidate saves there, in ns per step."""

    phase: str
    weight: float
    step_ns: float
    projection: Projection | None

    @property
    def saved_ns(self) -> Band:
        """Saving per step; 0 where the phase does not run the kernel."""
        return self.projection.limits if self.projection else NOTHING


@dataclass(frozen=True, slots=True)
class Mixture:
    """All phases with the mean step of the workload, what it saves in % and the verdict on that."""

    shares: tuple[Share, ...]
    step_ns: float
    pct: Percent
    verdict: Verdict
    main: Projection
    evidence: dict[str, Answer]
    caveats: tuple[Caveat, ...]

    @property
    def main_phase(self) -> str:
        """The phase of `main`: the one that saves most per step."""
        return next(share.phase for share in self.shares if share.projection is self.main)

    @property
    def saved_ns(self) -> Band:
        """Saving of the mean step."""
        return total(share.saved_ns.times(share.weight) for share in self.shares)

    def weighted(self, policy: Policy) -> Projection:
        """The main phase with the percentages, evidence, caveats, verdict and runs needed of the whole workload."""
        effect = self.pct.expected * self.verdict.dilution
        runs, pairs = (needed(effect, policy.noise_pct) for needed in (runs_needed, pairs_needed))
        return replace(
            self.main, pct=self.pct, verdict=self.verdict, runs_needed=runs, pairs_needed=pairs,
            evidence=self.evidence, caveats=self.caveats,
        )  # fmt: skip


def weights_of(text: str) -> dict[str, float]:
    """Shares of steps by phase from `decode=0.9,mixed=0.1`, scaled to 1. UsageError for anything else."""
    shares: dict[str, float] = {}
    for part in text.split(","):
        phase, _, share = part.partition("=")
        try:
            value = float(share)
        except ValueError:
            value = -1.0
        if phase.strip() not in PHASES or not 0 < value <= LARGEST or phase.strip() in shares:
            raise UsageError(
                "not a share of steps by phase", where="--weights", expected="decode=0.9,mixed=0.1", found=part
            )
        shares[phase.strip()] = value
    total = sum(shares.values())
    return {phase: value / total for phase, value in shares.items()}


def mix(phases: Sequence[Phase], candidate: Candidate, asked: TokenInput, policy: Policy) -> Mixture:
    """Project a candidate on each phase and weight: sum of weight x saving over sum of weight x step time.

    Raises NotInTraceError when no phase runs the kernel.
    """
    shares, missing = [], None
    for one in phases:
        try:
            projection = project_candidate(one.found, candidate, asked, policy, one.others)
        except NoSuchKernelError as error:
            if one.others and runs(one.found, candidate):
                raise  # the phase does run the kernel here; it is another rank that does not
            missing = error
            projection = None
        step = token_of(one.found.steps, replace(asked, token_ms=None)).step_ns
        shares.append(Share(one.phase, one.weight, step, projection))
    hits = [share.projection for share in shares if share.projection is not None]
    if not hits:
        raise missing or NotInTraceError("no phase to weight", where="--weights")
    step_ns = sum(share.weight * share.step_ns for share in shares)
    saved = total(share.saved_ns.times(share.weight) for share in shares).times(100).over(step_ns)
    naive = 100 * sum(s.weight * s.projection.limits.naive for s in shares if s.projection) / step_ns
    ceiling = sum(s.weight * s.projection.pct.ceiling * s.step_ns for s in shares if s.projection) / step_ns
    pct = Percent(*saved.ends, naive, ceiling)
    main = max(hits, key=lambda projection: projection.limits.naive)
    doubts = replace(main.doubts, stops=tuple(dict.fromkeys(stop for each in hits for stop in each.doubts.stops)))
    invalid = next((each.verdict.why for each in (main, *hits) if each.verdict.verdict == "INVALID"), "")
    answers = _least_sure(shares)
    caveats = [(f"phase {share.phase}", share.projection.caveats) for share in shares if share.projection]
    verdict = judge(pct, answers, policy, invalid, doubts)
    return Mixture(tuple(shares), step_ns, pct, verdict, main, answers, of_several(caveats))


def _least_sure(shares: Sequence[Share]) -> dict[str, Answer]:
    """To each question the answer of the phase that knows least, with its name where another knows more."""
    answers: dict[str, list[tuple[str, Answer]]] = {}
    for share in shares:
        for key, answer in (share.projection.evidence if share.projection else {}).items():
            answers.setdefault(key, []).append((share.phase, answer))
    out = {}
    for key, given in answers.items():
        phase, answer = max(given, key=lambda one: one[1].grade)
        alike = all(other.grade == answer.grade for _, other in given)
        out[key] = answer if alike else replace(answer, text=f"phase {phase}: {answer.text}")
    return out
