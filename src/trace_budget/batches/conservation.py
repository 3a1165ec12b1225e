"""Nothing is lost: all that a batch found stands in its dataset as a run, a failure or left out, or it says so."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from trace_budget.batches.dataset import SUFFIX, Dataset, failure_name
from trace_budget.batches.identify import Identity
from trace_budget.batches.jobs import Plan
from trace_budget.errors import OutputError
from trace_budget.schema.dataset import FAILURES
from trace_budget.text import safe

_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Account:
    """Where everything that was found ended up: keys of runs, and of failures (what was left out among them)."""

    trace_ids: tuple[str, ...]
    failure_stems: tuple[str, ...]


def stem_of(identity: Identity, again: bool = False) -> str:
    """The key of the failure of a file; `again` that of one which may end otherwise when tried again."""
    return failure_name(identity.trace_id, identity.source.relative, again).removesuffix(SUFFIX)


def account(dataset: Dataset, plan: Plan) -> Account:
    """Find the run or the failure of everything that was planned.

    Raises OutputError naming what is missing: the dataset was removed, replaced or thinned out during the work.
    """
    finished, failures = dataset.finished(), dataset.stems(FAILURES.name)
    traces = [one.identity for one in plan.planned]
    runs = [str(one.trace_id) for one in traces if one.trace_id in finished]
    others = [one for one in traces if one.trace_id not in finished]
    others += [*plan.refused, *plan.companions, *(copy for copy, _ in plan.copies)]
    found = {one: [stem for stem in (stem_of(one), stem_of(one, again=True)) if stem in failures] for one in others}
    missing = [one for one, stems in found.items() if not stems]
    if missing:
        raise _lost(dataset, len(runs) + len(found), missing)
    return Account(tuple(runs), tuple(dict.fromkeys(stem for stems in found.values() for stem in stems)))


def _lost(dataset: Dataset, planned: int, missing: Sequence[Identity]) -> OutputError:
    begun = dataset.begun()
    names = [_named(one, begun.get(str(one.trace_id), frozenset())) for one in missing[:_SHOWN]]
    more = f"; and {len(missing) - _SHOWN} more" if len(missing) > _SHOWN else ""
    return OutputError(
        "the dataset lost answers that this batch put there",
        where=dataset.store.address,
        expected=f"{planned} files as runs, failures or left out",
        found=f"{planned - len(missing)}; without an answer: {'; '.join(names)}{more}",
        advice="Was it removed, replaced or moved meanwhile? The same batch does what is missing.",
    )


def _named(one: Identity, tables: Iterable[str]) -> str:
    """A file, and which of its tables are still there."""
    left = ", ".join(sorted(tables))
    return safe(one.source.relative) + (f" (of which only {left} is left)" if left else "")
