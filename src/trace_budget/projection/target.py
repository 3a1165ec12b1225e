"""A candidate on a trace: the calls it takes, what each saves, and the claim that makes on the ops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from trace_budget.analysis.floor import ENOUGH, FLOOR_QUANTILE, Floor, dispatch_floor
from trace_budget.analysis.kernels import op_table
from trace_budget.errors import NoSuchKernelError, NotInTraceError
from trace_budget.projection.bounds import Untimed, claim_of, effective_of, usable
from trace_budget.projection.candidates import Candidate
from trace_budget.projection.claimed_saving import Saving, saving_of
from trace_budget.projection.elsewhere import told_elsewhere
from trace_budget.projection.fusion import claim_of_fusion, find_sequences
from trace_budget.projection.match import Match, match
from trace_budget.projection.replay.schedule import Claim, Schedule, join_ranks, schedule_of
from trace_budget.projection.replay.stretch import effective_ns
from trace_budget.projection.sites import unlike_sites
from trace_budget.schema.findings import Findings, Int64Array
from trace_budget.schema.options import Selection
from trace_budget.schema.trace import Caveat

WARM_TEXT = "measured in a warm loop: the trace runs it with cold caches, where both kernels take longer"


@dataclass(frozen=True, slots=True)
class PreparedRank:
    """One rank's trace made ready for candidates: its ops of the counted steps, floor and effective durations."""

    found: Findings
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

    @property
    def fused(self) -> bool:
        """Whether launches vanish: host time they took may be saved beyond what the calls take."""
        return self.claim.vanishing.size > 0

    @property
    def ceiling_ns(self) -> float:
        """What the calls take per step, those without usable times at the mean of the others."""
        return float(self.durations_ns.mean()) * self.calls.calls_per_step

    @property
    def untimed(self) -> int:
        """Matched calls without usable times."""
        return self.calls.ops.height - self.timed.ops.height


def prepared_rank(found: Findings) -> PreparedRank:
    """Prepare a trace once for all candidates."""
    ops = op_table(found.trace, found.steps, found.layers, found.overlap)
    return PreparedRank(found, ops, dispatch_floor(found.trace), effective_ns(found.trace))


def common_schedule(ranks: Sequence[PreparedRank], loop: str) -> Schedule:
    """The schedule of one rank, or of several that are projected together."""
    bases = [schedule_of(rank.found.trace, rank.found.steps, rank.floor, loop) for rank in ranks]
    return join_ranks(bases, [rank.found.trace for rank in ranks]) if len(bases) > 1 else bases[0]


def target_of(rank: PreparedRank, candidate: Candidate) -> Target:
    """Find the calls of a candidate and what it saves on each.

    Raises NotInTraceError when nothing matches or no matched call has usable times.
    """
    found = rank.found
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
        fusion = find_sequences(rank.ops, candidate.sequence, found.steps, found.layers, path)
        whole = fusion.timed
        span = _durations(fusion.match, whole.match, path)
        floor_ns = _shortest_of_others(rank, fusion.match.names)
        saving = saving_of(candidate.change, span, span, floor_ns)
        return Target(fusion.match, whole.match, saving, claim_of_fusion(whole, saving), _warm(candidate))
    if candidate.selection is None:
        raise ValueError("a candidate has a selection or a sequence")
    calls = _matched(rank, candidate.selection)
    timed = usable(calls)
    durations = _durations(calls, timed, path)
    sites = unlike_sites(timed.ops, timed.steps)
    floor_ns = _shortest_of_others(rank, calls.names)
    saving = saving_of(candidate.change, durations, effective_of(timed, rank.effective), floor_ns, sites)
    return Target(calls, timed, saving, claim_of(timed, saving), _warm(candidate))


def _matched(rank: PreparedRank, selection: Selection) -> Match:
    """The calls that a selection means; where the counted steps run none, the error says which do."""
    found = rank.found
    try:
        return match(rank.ops, selection, found.steps, found.layers, found.trace.path)
    except NoSuchKernelError as error:
        raise told_elsewhere(error, found, selection.kernel) from error


def _shortest_of_others(rank: PreparedRank, names: Sequence[str]) -> int | None:
    """How short other kernels get, the shortest few left out; None where there are too few to say."""
    others = rank.ops.filter((pl.col("kind") == "kernel") & ~pl.col("name").cast(pl.String).is_in(names))["dur_ns"]
    floor = others.quantile(FLOOR_QUANTILE, "lower") if others.count() >= ENOUGH else None
    return None if floor is None else int(floor)


def runs(found: Findings, candidate: Candidate) -> bool:
    """Whether the counted steps run the kernel of a candidate."""
    try:
        target_of(prepared_rank(found), candidate)
    except NoSuchKernelError:
        return False
    return True


def untimed_of(target: Target, beside: Sequence[Target]) -> Untimed:
    """What the matched calls without usable times may save per step, on this rank and on those `beside` it."""
    low, expected, high = _mean_of_untimed(target)
    others = [_mean_of_untimed(other) for other in beside]
    return Untimed(
        expected,
        max(high, 0.0),
        sum(max(most, 0.0) for *_, most in others),
        sum(min(least, 0.0) for least, *_ in ((low,), *others)),
    )


def _mean_of_untimed(target: Target) -> tuple[float, float, float]:
    """(low, expected, high) in ns per step of the calls without usable times, each as the mean of the others."""
    count, saving = target.untimed / target.calls.steps, target.saving
    low, expected, high = (count * float(values.mean()) for values in (saving.low, saving.expected, saving.high))
    return low, expected, high


def _durations(calls: Match, timed: Match, path: str) -> np.ndarray:
    """Durations of the timed calls; NotInTraceError when there are none."""
    if timed.ops.is_empty():
        raise NotInTraceError(
            "no matched call has usable times",
            where=path,
            expected="start and duration",
            found=f"{calls.ops.height} calls",
        )
    return timed.ops["dur_ns"].to_numpy().astype(np.float64)


def _warm(candidate: Candidate) -> tuple[Caveat, ...]:
    return (Caveat("warm_benchmark", WARM_TEXT, 1, "warning"),) if candidate.cold_l2 is False else ()
