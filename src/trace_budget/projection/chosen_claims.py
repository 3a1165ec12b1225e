"""The claims of one candidate or of a set, refused when the candidate contradicts the trace."""

from __future__ import annotations

from trace_budget.errors import UsageError
from trace_budget.projection.candidates import Candidate, CandidateSet
from trace_budget.projection.project import asserted, refuse_capture
from trace_budget.projection.rank import rank
from trace_budget.projection.replay.schedule import Claim
from trace_budget.projection.target import prepared_rank, target_of
from trace_budget.schema.findings import Findings


def chosen_claims(found: Findings, wanted: Candidate | CandidateSet) -> tuple[Claim, ...]:
    """What the candidates take off the ops of a trace; of a group that excludes each other only the best counts.

    Raises NotInTraceError when one matches nothing or another number of calls than stated, UsageError when its saving
    contradicts the trace or lies in no single op.
    """
    refuse_capture(found.trace)
    rank = prepared_rank(found)
    counted = _counted(found, wanted)
    for candidate in counted:
        _in_ops(candidate)
    targets = [target_of(rank, candidate) for candidate in counted]
    for candidate, target in zip(counted, targets, strict=True):
        asserted(candidate.change, target.calls, found.trace)
        if target.saving.invalid:
            raise UsageError("this saving cannot be drawn", where=target.calls.kernel, found=target.saving.invalid)
    return tuple(target.claim for target in targets)


def _in_ops(candidate: Candidate) -> None:
    """Refuse what no op of a step shows: that only some requests run the new kernel, and costs of the step itself."""
    hit, per_step_us = candidate.change.hit_rate, candidate.change.per_step_us
    left_out = {"a hit rate below 1": hit is not None and hit.low < 1, "a cost per step": bool(per_step_us)}
    for what in (what for what, there in left_out.items() if there):
        raise UsageError(
            "timeline draws one request that runs the new kernel", where=candidate.id, found=what,
            advice="Leave it out here; `project` takes it into account.",
        )  # fmt: skip


def _counted(found: Findings, wanted: Candidate | CandidateSet) -> list[Candidate]:
    if isinstance(wanted, Candidate):
        return [wanted]
    return [row.candidate for row in rank(found, wanted).rows if row.chosen]
