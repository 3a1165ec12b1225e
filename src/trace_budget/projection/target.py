"""A candidate on a trace: the calls it takes, what each saves, and the claim that makes on the ops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from trace_budget.analysis.floor import Floor, dispatch_floor
from trace_budget.analysis.kernels import op_table
from trace_budget.errors import NotInTraceError
from trace_budget.projection.bounds import claim_of, effective_of, usable
from trace_budget.projection.candidate import Saving, saving_of
from trace_budget.projection.candidates import Candidate
from trace_budget.projection.ground import Claim, Ground, ground, join_ranks
from trace_budget.projection.match import Match, match
from trace_budget.projection.replace import claim_of_fusion, find_sequences
from trace_budget.projection.timeline import effective_ns
from trace_budget.schema.findings import Found, Int64Array
from trace_budget.schema.trace import Caveat

WARM_TEXT = "measured in a warm loop: the trace runs it with cold caches, where both kernels take longer"


@dataclass(frozen=True, slots=True)
class Site:
    """One rank's trace made ready for candidates: its ops of the counted steps, floor and effective durations."""

    found: Found
    ops: pl.DataFrame
    floor: Floor
    effective: Int64Array


@dataclass(frozen=True, slots=True)
class Target:
    """A candidate on one rank: all matched `calls`, the `timed` ones with their `saving`, and the `claim`."""

    calls: Match
    timed: Match
    saving: Saving
    claim: Claim
    caveats: tuple[Caveat, ...]

    @property
    def durations_ns(self) -> np.ndarray:
        """Duration of each timed call (of each whole sequence for a fusion)."""
        return self.timed.ops["dur_ns"].to_numpy().astype(np.float64)


def site_of(found: Found) -> Site:
    """Prepare a trace once for all candidates."""
    ops = op_table(found.trace, found.steps, found.layers, found.overlap)
    return Site(found, ops, dispatch_floor(found.trace), effective_ns(found.trace))


def common_ground(sites: Sequence[Site], loop: str) -> Ground:
    """The ground of one rank, or of several that are projected together."""
    bases = [ground(site.found.trace, site.found.steps, site.floor, loop) for site in sites]
    return join_ranks(bases, [site.found.trace for site in sites]) if len(bases) > 1 else bases[0]


def target_of(site: Site, candidate: Candidate) -> Target:
    """Find the calls of a candidate and what it saves on each.

    Raises NotInTraceError when nothing matches or no matched call has usable times.
    """
    found = site.found
    path = found.trace.path
    if candidate.phase not in (None, found.steps.phase):
        raise NotInTraceError(
            "a candidate for steps of another phase",
            where=path,
            expected=f"steps of phase {candidate.phase} for {candidate.id!r}",
            found=f"phase {found.steps.phase}",
            advice=f"Give --phase {candidate.phase}, or leave the candidate out.",
        )
    if candidate.sequence is not None:
        fusion = find_sequences(site.ops, candidate.sequence, found.steps, found.layers, path)
        span = fusion.match.ops["dur_ns"].to_numpy().astype(np.float64)
        saving = saving_of(candidate.change, span, span, None)
        return Target(fusion.match, fusion.match, saving, claim_of_fusion(fusion, saving), _warm(candidate))
    if candidate.selection is None:
        raise ValueError("a candidate has a selection or a sequence")
    calls = match(site.ops, candidate.selection, found.steps, found.layers, path)
    timed = usable(calls)
    if timed.ops.is_empty():
        raise NotInTraceError(
            "no matched call has usable times",
            where=path,
            expected="start and duration",
            found=f"{calls.ops.height} calls",
        )
    durations = timed.ops["dur_ns"].to_numpy().astype(np.float64)
    saving = saving_of(candidate.change, durations, effective_of(timed, site.effective), site.floor.floor_ns)
    return Target(calls, timed, saving, claim_of(timed, saving), _warm(candidate))


def _warm(candidate: Candidate) -> tuple[Caveat, ...]:
    return (Caveat("warm_benchmark", WARM_TEXT, 1, "warning"),) if candidate.cold_l2 is False else ()
