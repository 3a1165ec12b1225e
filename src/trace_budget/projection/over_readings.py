"""One candidate under every reading of the trace: the verdict is given only where they agree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from trace_budget.analysis.readings.pick import described
from trace_budget.errors import NoSuchKernelError
from trace_budget.projection.blockers import Blocker
from trace_budget.projection.candidates import Candidate
from trace_budget.projection.project import Projection, project_candidate
from trace_budget.projection.reading import Reading
from trace_budget.projection.token import token_of
from trace_budget.projection.verdict import Verdict
from trace_budget.schema.findings import Findings
from trace_budget.schema.options import Policy, TokenInput
from trace_budget.units import us_from_ns

DIFFER = "readings_differ"


def over_readings(
    found: Findings, candidate: Candidate, asked: TokenInput, policy: Policy, others: Sequence[Findings] = ()
) -> Projection:
    """Project a candidate under the first reading, with the verdict over all that the trace cannot exclude.

    Raises NotInTraceError when the first reading lacks the kernel or the calls stated.
    """
    found = without_excluded(found, asked)
    first = project_candidate(found, candidate, asked, policy, others)
    rows = [_reading(1, found, first)]
    for number, other in enumerate(found.others, 2):
        try:
            one = project_candidate(other, candidate, asked, policy, others)
        except NoSuchKernelError:
            rows.append(_absent(number, other, asked))
            continue
        rows.append(_reading(number, other, one))
    return replace(first, verdict=_verdict(first.verdict, rows), readings=tuple(rows))


def without_excluded(found: Findings, asked: TokenInput) -> Findings:
    """Without the readings that what the user says of the token excludes.

    A stated pace excludes the other one, a stated token time the question of the pace, and several tokens per step that
    each pass of a mark is a step of its own.
    """
    every = [replace(found, others=()), *found.others]
    if asked.pace is not None:
        every = [replace(one, steps=replace(one.steps, pace=asked.pace)) for one in every]
    if asked.pace is not None or asked.token_ms is not None:
        every = _unlike(every)
    if asked.tokens_per_step > 1:
        whole = [one for one in every if one.steps.level != "pass"]
        every = whole or every
    first, *rest = every
    return replace(first, others=tuple(rest))


def _unlike(every: list[Findings]) -> list[Findings]:
    """Readings that differ in more than their pace."""
    kept: list[Findings] = []
    for one in every:
        alike = (
            one.steps.method == other.steps.method and one.steps.used.tolist() == other.steps.used.tolist()
            for other in kept
        )
        if not any(alike):
            kept.append(one)
    return kept


def _reading(number: int, found: Findings, one: Projection) -> Reading:
    steps = found.steps
    return Reading(
        steps.level, steps.method, steps.confidence, steps.says, steps.denies, one.token.token_ns,
        one.match.calls_per_step, found.layers.layers or None, (one.pct.low, one.pct.expected, one.pct.high),
        one.verdict.verdict, steps.settle or f"--reading {number}", described(steps),
    )  # fmt: skip


def _absent(number: int, found: Findings, asked: TokenInput) -> Reading:
    """A reading whose steps do not run the kernel: it saves nothing there."""
    steps = found.steps
    return Reading(
        steps.level, steps.method, steps.confidence, steps.says, (*steps.denies, "the kernel runs outside of them"),
        token_of(steps, asked, found.trace).token_ns, 0.0, found.layers.layers or None, (0.0, 0.0, 0.0), "NO-GO",
        steps.settle or f"--reading {number}", described(steps),
    )  # fmt: skip


def _verdict(first: Verdict, rows: Sequence[Reading]) -> Verdict:
    """The first reading's verdict where all agree or it is no answer; else nothing is decided."""
    words = {row.verdict for row in rows if row.verdict != "INVALID"}
    if first.verdict == "INVALID" or len(words) <= 1:
        return first
    listed = "; ".join(f"{r.verdict} at {us_from_ns(r.token_ns):,.1f} us a token ({r.label})" for r in rows)
    options = " or ".join(dict.fromkeys(row.settle for row in rows))
    why = f"the trace can be read in {len(rows)} ways, and they differ: {listed}: {options} settles it"
    blocker = Blocker(DIFFER, why, options)
    return replace(first, verdict="MARGINAL", reason=DIFFER, why=why, blockers=(blocker, *first.blockers))
