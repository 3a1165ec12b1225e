"""The candidates of a comparison one by one: their calls in BEFORE, what those saved, what was predicted of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from trace_budget.comparison.alignment import Usual
from trace_budget.comparison.engagement import Engagement, Flags, drift_of, engagement
from trace_budget.comparison.outcome import Predicted
from trace_budget.projection.candidates import Candidate, CandidateSet
from trace_budget.projection.claimed_saving import OVERRIDE
from trace_budget.projection.fusion import find_sequences
from trace_budget.projection.match import match
from trace_budget.projection.project import Projection, project_candidate
from trace_budget.projection.rank import rank
from trace_budget.schema.findings import Findings
from trace_budget.schema.options import Policy, TokenInput
from trace_budget.schema.trace import Caveat


@dataclass(frozen=True, slots=True)
class Suspect:
    """One candidate: `chosen` calls of BEFORE, what they (and what took their place) saved, what was predicted alone.

    Times in ns per step; `predicted_ns` is None when nothing was stated.
    """

    id: str
    kernel: str
    chosen: Flags
    saved_ns: float
    engagement: Engagement
    predicted_ns: float | None


@dataclass(frozen=True, slots=True)
class Sides:
    """Both usual steps aligned: `calls` (alignment.align), ops of BEFORE with their slots, ops of AFTER's steps."""

    calls: pl.DataFrame
    usual: Usual
    ops: pl.DataFrame
    ops_after: pl.DataFrame
    steps_after: int


def with_mates(calls: pl.DataFrame, chosen: Flags) -> Flags:
    """The chosen calls with all that vanished or appeared in the same places."""
    groups = calls.filter(pl.Series(chosen))["group"].drop_nulls().unique()
    mates: Flags = calls["group"].is_in(groups.implode()).fill_null(value=False).to_numpy()
    return chosen | mates


def saved(calls: pl.DataFrame, chosen: Flags) -> float:
    """Time in ns per step that the chosen calls lost."""
    rows = calls.filter(pl.Series(chosen))
    return float(rows["ns_before"].sum() or 0) - float(rows["ns_after"].sum() or 0)


def suspects(
    found: Findings, sides: Sides, candidates: Sequence[Candidate], predicted: dict[str, float], new_kernel: str | None
) -> list[Suspect]:
    """All candidates; NotInTraceError when one matches nothing in BEFORE."""
    out: list[Suspect] = []
    for each in candidates:
        kernel, chosen = _calls_of(found, sides, each)
        drift = drift_of(sides.calls.filter(pl.Series(~with_mates(sides.calls, chosen)))) or 1.0
        engaged = engagement(sides.calls, chosen, sides.ops_after, sides.steps_after, new_kernel, drift)
        own = saved(sides.calls, with_mates(sides.calls, chosen))
        out.append(Suspect(each.id, kernel, chosen, own, engaged, predicted.get(each.id)))
    return out


def _calls_of(found: Findings, sides: Sides, candidate: Candidate) -> tuple[str, Flags]:
    """What a candidate takes in BEFORE: its name and the calls."""
    path = found.trace.path
    if candidate.sequence is not None:
        fusion = find_sequences(sides.ops, candidate.sequence, found.steps, found.layers, path)
        kernel, ids = fusion.match.kernel, pl.Series(np.unique(fusion.members))
    elif candidate.selection is not None:
        matched = match(sides.ops, candidate.selection, found.steps, found.layers, path)
        kernel, ids = matched.kernel, matched.ops["op_id"]
    else:
        raise ValueError("a candidate has a selection or a sequence")
    slots = sides.usual.op_slot.filter(pl.col("op_id").is_in(ids.implode()))["slot"].unique()
    return kernel, sides.calls["slot_before"].is_in(slots.implode()).fill_null(value=False).to_numpy()


@dataclass(frozen=True, slots=True)
class Prediction:
    """What the stated candidates were to save: `together`, and `alone` (expected, ns per step) by id.

    Candidates that contradict BEFORE are in neither; `caveats` say why. `together` is None where no other is left.
    """

    together: Predicted | None = None
    alone: dict[str, float] = field(default_factory=dict)
    caveats: tuple[Caveat, ...] = ()


def predict(found: Findings, candidates: Sequence[Candidate], token: TokenInput, policy: Policy) -> Prediction:
    """What BEFORE says of the stated candidates."""
    if len(candidates) == 1:
        one = project_candidate(found, candidates[0], token, policy)
        if one.saving.invalid:
            return Prediction(caveats=_contradicted([(candidates[0].id, one)]))
        limits = one.limits
        predicted = Predicted("candidate", limits.naive, limits)
        return Prediction(predicted, {candidates[0].id: limits.expected})
    ranking = rank(found, CandidateSet(tuple(candidates), policy, token))
    naive = sum(row.alone.limits.naive for row in ranking.rows if row.chosen)
    usable = [row for row in ranking.rows if not row.alone.saving.invalid]
    alone = {row.candidate.id: row.alone.limits.expected for row in usable}
    together = Predicted("candidates together", naive, ranking.joint) if usable else None
    refused = [(row.candidate.id, row.alone) for row in ranking.rows if row.alone.saving.invalid]
    return Prediction(together, alone, _contradicted(refused))


def _contradicted(refused: Sequence[tuple[str, Projection]]) -> tuple[Caveat, ...]:
    """One caveat for each candidate whose saving cannot be, in the words of `project`."""
    why = [(name or each.match.kernel, each.saving.invalid.removesuffix(OVERRIDE)) for name, each in refused]
    return tuple(Caveat("saving_invalid", f"no prediction for {name}: {text}", 1, "warning") for name, text in why)
