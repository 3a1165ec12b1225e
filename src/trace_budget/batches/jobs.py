"""Which rank files belong to one job, which files accompany another, which are copies: decided over all at once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from trace_budget.batches.identify import Identity
from trace_budget.inputs.same_run import accompanies
from trace_budget.readers import rank_names as ranks
from trace_budget.readers.rank_names import PlacedTrace


@dataclass(frozen=True, slots=True)
class Planned:
    """One trace to be analysed, and the job it is a rank of."""

    identity: Identity
    job: str


@dataclass(frozen=True, slots=True)
class Plan:
    """All that was found: traces to analyse, files refused at first sight, files that accompany others, copies.

    `copies` pairs each copy with the identity that stands for it.
    """

    planned: tuple[Planned, ...]
    refused: tuple[Identity, ...]
    companions: tuple[Identity, ...]
    copies: tuple[tuple[Identity, Identity], ...]


def sort_out(found: Iterable[Identity]) -> Plan:
    """Put every identity where it belongs; of files with one content the first in order of path stands for all."""
    ordered = sorted(found, key=lambda one: (one.source.relative, one.source.address))
    refused = tuple(one for one in ordered if one.refusal)
    good = [one for one in ordered if not one.refusal]
    companions = _companions(good)
    first: dict[str | None, Identity] = {}
    copies: list[tuple[Identity, Identity]] = []
    for one in good:
        if one not in companions and first.setdefault(one.trace_id, one) is not one:
            copies.append((one, first[one.trace_id]))
    labels = job_labels(list(first.values()))
    planned = tuple(Planned(one, label) for one, label in zip(first.values(), labels, strict=True))
    return Plan(planned, refused, tuple(one for one in good if one in companions), tuple(copies))


def _companions(found: Sequence[Identity]) -> frozenset[Identity]:
    """CSV files of API calls, ranges and devices beside the kernel trace that is read together with them."""
    beside: dict[str, list[str]] = {}
    for one in found:
        beside.setdefault(one.source.folder, []).append(one.source.name)
    return frozenset(one for one in found if accompanies(one.source.name, beside[one.source.folder]))


def job_labels(found: Sequence[Identity]) -> list[str]:
    """The job of each trace, by where it lies and what its name and content say."""
    return ranks.job_labels([PlacedTrace(o.source.folder, o.source.name, o.rank, o.world_size) for o in found])
