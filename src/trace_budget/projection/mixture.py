"""Steps of several phases in one workload: savings and step times weighted together before they are compared."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import polars as pl

from trace_budget.analysis.steps.select import RARE
from trace_budget.errors import NoSuchKernelError, NotInTraceError, UsageError
from trace_budget.projection.candidates import Candidate
from trace_budget.projection.evidence import Graded
from trace_budget.projection.project import Projection, project_candidate
from trace_budget.projection.statistics import pairs_needed, runs_needed
from trace_budget.projection.target import runs
from trace_budget.projection.verdict import Percent, Verdict, judge
from trace_budget.schema.band import NOTHING, Band, total
from trace_budget.schema.caveats import of_several
from trace_budget.schema.findings import Findings
from trace_budget.schema.options import Policy, TokenInput
from trace_budget.schema.quantities import LARGEST, PHASES
from trace_budget.schema.trace import Caveat
from trace_budget.units import ns_from_ms


@dataclass(frozen=True, slots=True)
class Phase:
    """The steps of one phase with its share of all steps; `others` are the same on further ranks of the job."""

    phase: str
    weight: float
    found: Findings
    others: Sequence[Findings] = ()


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
    """All phases with the mean step of the workload, what it saves in % and the verdict on that.

    Percentages are of the step as stated (`stated_ns`, from --token-ms), else of the mean of the trace (`step_ns`).
    """

    shares: tuple[Share, ...]
    step_ns: float
    stated_ns: float | None
    pct: Percent
    verdict: Verdict
    main: Projection
    evidence: dict[str, Graded]
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
    candidate = _same_in_all(phases, candidate)
    for one in phases:
        try:
            projection = project_candidate(one.found, candidate, asked, policy, one.others)
        except NoSuchKernelError as error:
            if one.others and runs(one.found, candidate):
                raise  # the phase does run the kernel here; it is another rank that does not
            missing = error
            projection = None
        shares.append(Share(one.phase, one.weight, _mean_step_ns(one.found), projection))
    hits = [share.projection for share in shares if share.projection is not None]
    if not hits:
        raise missing or NotInTraceError("no phase to weight", where="--weights")
    step_ns = sum(share.weight * share.step_ns for share in shares)
    stated_ns = ns_from_ms(asked.token_ms) * asked.tokens_per_step if asked.token_ms is not None else None
    pct = _percent(shares, stated_ns or step_ns)
    main = max(hits, key=lambda projection: projection.limits.naive)
    doubts = replace(main.doubts, stops=tuple(dict.fromkeys(stop for each in hits for stop in each.doubts.stops)))
    invalid = next((each.verdict.why for each in (main, *hits) if each.verdict.verdict == "INVALID"), "")
    answers = _least_sure(shares)
    caveats = [(f"phase {share.phase}", share.projection.caveats) for share in shares if share.projection]
    verdict = judge(pct, answers, policy, invalid, doubts)
    return Mixture(tuple(shares), step_ns, stated_ns, pct, verdict, main, answers, of_several(caveats))


def _same_in_all(phases: Sequence[Phase], candidate: Candidate) -> Candidate:
    """The candidate, by its whole name where one phase has a kernel of just that name: no longer name is meant then."""
    chosen = candidate.selection
    if chosen is None or not any((phase.found.trace.gpu_ops["name"] == chosen.kernel).any() for phase in phases):
        return candidate
    return replace(candidate, selection=replace(chosen, kernel=f"re:^{re.escape(chosen.kernel)}$"))


def _mean_step_ns(found: Findings) -> float:
    """The mean of the counted steps: of a stream of tokens the long steps are part, which a median hides.

    Outliers that are no rarity are part of it, too.
    """
    counted, stray = pl.col("used"), pl.col("why_out") == "outlier"
    rows = found.steps.frame.filter(counted | stray)
    if rows.select(stray.mean()).item() <= RARE:
        rows = rows.filter(counted)
    values = rows[f"{found.steps.measure}_ns"].drop_nulls().to_list()
    return sum(values) / len(values) if values else found.steps.step_ns


def _percent(shares: Sequence[Share], whole_ns: float) -> Percent:
    """Weighted savings in % of a mean step of this length."""
    hits = [(share.weight, share.projection) for share in shares if share.projection is not None]
    saved = total(share.saved_ns.times(share.weight) for share in shares)
    naive = sum(weight * projection.limits.naive for weight, projection in hits)
    ceiling = sum(weight * projection.ceiling_ns for weight, projection in hits)
    return Percent(*saved.times(100).over(whole_ns).ends, 100 * naive / whole_ns, 100 * ceiling / whole_ns)


def _least_sure(shares: Sequence[Share]) -> dict[str, Graded]:
    """To each question the answer of the phase that knows least, with its name where another knows more."""
    answers: dict[str, list[tuple[str, Graded]]] = {}
    for share in shares:
        for key, answer in (share.projection.evidence if share.projection else {}).items():
            answers.setdefault(key, []).append((share.phase, answer))
    out = {}
    for key, given in answers.items():
        phase, answer = max(given, key=lambda one: one[1].grade)
        alike = all(other.grade == answer.grade for _, other in given)
        out[key] = answer if alike else replace(answer, text=f"phase {phase}: {answer.text}")
    return out
