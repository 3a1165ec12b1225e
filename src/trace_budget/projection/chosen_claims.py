"""The claims of one candidate or of a set, refused when the candidate contradicts the trace."""

from __future__ import annotations

from trace_budget.errors import UsageError
from trace_budget.projection.candidates import Candidate, CandidateSet
from trace_budget.projection.ground import Claim
from trace_budget.projection.project import workload
from trace_budget.projection.rank import rank
from trace_budget.projection.target import site_of, target_of
from trace_budget.schema.findings import Found


def chosen_claims(found: Found, wanted: Candidate | CandidateSet) -> tuple[Claim, ...]:
    """What the candidates take off the ops of a trace; of a group that excludes each other only the best counts.

    Raises NotInTraceError when one matches nothing, UsageError when its saving contradicts the trace.
    """
    workload(found.trace)
    site = site_of(found)
    targets = [target_of(site, candidate) for candidate in _counted(found, wanted)]
    for target in targets:
        if target.saving.invalid:
            raise UsageError("this saving cannot be drawn", where=target.calls.kernel, found=target.saving.invalid)
    return tuple(target.claim for target in targets)


def _counted(found: Found, wanted: Candidate | CandidateSet) -> list[Candidate]:
    if isinstance(wanted, Candidate):
        return [wanted]
    return [row.candidate for row in rank(found, wanted).rows if row.chosen]
