"""A whole batch: look at every file, sort out jobs and copies, do what is not done yet, and give back the dataset."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from trace_budget.batches.conservation import Account, account, stem_of
from trace_budget.batches.dataset import Dataset
from trace_budget.batches.engines import Engine, engine
from trace_budget.batches.identify import Identity, identify
from trace_budget.batches.jobs import Plan, Planned, sort_out
from trace_budget.batches.names import checked_pattern
from trace_budget.batches.question import Question
from trace_budget.batches.sources import Source, find_sources
from trace_budget.batches.work import FAILED, LEFT_OUT, RETRIED, Task, Trouble, record, work
from trace_budget.errors import InputError, UsageError
from trace_budget.io.store import plain_address, store_at
from trace_budget.schema.dataset import FAILURES, PROJECTIONS, RUNS
from trace_budget.text import safe

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

_REPEATED = re.compile(r" \(\d+\)$")
LOOKING, ANALYSING = "looking", "analysing"
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class Workers:
    """Who does the work: `jobs` None means one worker per processor; `progress` hears of (stage, done, all)."""

    engine: str = "processes"
    jobs: int | None = None
    scheduler: str | None = None
    progress: Progress | None = None


@dataclass(frozen=True, slots=True)
class Batch:
    """The answers of one batch: tables of its dataset, cut to the traces it was asked about.

    `resumed` traces were not done again: their answer, or why there is none, was there already; `others` files are no
    traces at all.
    """

    dataset: Dataset
    account: Account
    resumed: int
    others: int

    def table(self, name: str = PROJECTIONS.name) -> pl.DataFrame:
        """One of runs, steps, kernels, layers, projections, failures as a Polars frame."""
        known = self.account
        return self.dataset.frame(name, known.failure_stems if name == FAILURES.name else known.trace_ids)

    def to_pandas(self, name: str = PROJECTIONS.name) -> pd.DataFrame:
        """The same as a pandas frame."""
        return self.table(name).to_pandas()

    def to_arrow(self, name: str = PROJECTIONS.name) -> pa.Table:
        """The same as an Arrow table."""
        return self.table(name).to_arrow()


def batch(
    places: Sequence[str | Path] | str | Path,
    out: str | Path,
    question: Question | None = None,
    workers: Workers | None = None,
    retry_failed: bool = False,
) -> Batch:
    """Answer a question for every trace below the places (folders, files, URLs), into the dataset `out`.

    What `out` holds already for the same content, question and version is not done again, unless it failed and
    `retry_failed`. Raises InputError when a place cannot be listed or holds no trace, OutputError when `out` cannot be
    written: what is finished stays.
    """
    asked, hands = question or Question(), workers or Workers()
    if not str(out):
        raise UsageError("no folder for the dataset", where="-o", expected="a folder or URL", found="an empty name")
    named = [plain_address(str(place)) for place in ([places] if isinstance(places, str | Path) else places)]
    dataset = Dataset(store_at(plain_address(str(out))), asked)
    sources = find_sources(named, dataset.store.address)
    if asked.name_pattern is not None:  # one that takes too long ends the batch, not each of its traces
        checked_pattern(asked.name_pattern).groups_of([safe(source.relative) for source in sources])
    with _started(hands) as team:
        found, others = _looked_at(team, sources, hands.progress)
        if not found:
            raise InputError("no trace found", where=", ".join(named), found=f"{len(sources)} files of other kinds")
        return _answered(dataset, sort_out(found), team, hands.progress, retry_failed, others)


@contextmanager
def _started(workers: Workers) -> Iterator[Engine]:
    jobs = workers.jobs if workers.jobs is not None else os.cpu_count() or 1
    team = engine(workers.engine, jobs, workers.scheduler)
    try:
        yield team
    finally:
        team.close()


def _looked_at(team: Engine, sources: list[Source], progress: Progress | None) -> tuple[list[Identity], int]:
    """Every trace in the sources, and how many sources are something else."""
    found: list[Identity] = []
    others = 0
    for count, done in enumerate(team.run(identify, sources), 1):
        if done.died:
            found.append(Identity(done.task, None, refusal=f"{done.task.relative}: {done.died}", code="worker_died"))
        found.extend(done.value or ())
        others += not done.value and not done.died
        if progress is not None:
            progress(LOOKING, count, len(sources))
    return found, others


def _answered(
    dataset: Dataset, plan: Plan, team: Engine, progress: Progress | None, retry_failed: bool, others: int
) -> Batch:
    finished, failures = dataset.finished(), dataset.stems(FAILURES.name)
    _record_sorted(dataset, plan, failures)
    settled = frozenset() if retry_failed else failures
    todo = [
        one for one in plan.planned if one.identity.trace_id not in finished and stem_of(one.identity) not in settled
    ]
    tasks = [Task(one, dataset.question, dataset.store.address) for one in todo]
    for count, done in enumerate(team.run(work, tasks), 1):
        if done.died:
            record(dataset, done.task.planned, Trouble(FAILED, "worker_died", _died(done.task, done.died)))
        if progress is not None:
            progress(ANALYSING, count, len(tasks))
    _forget_recovered(dataset, plan.planned)
    _record_copies(dataset, plan)
    everything = (
        *(one.identity for one in plan.planned),
        *plan.refused,
        *plan.companions,
        *(c for c, _ in plan.copies),
    )
    stems = frozenset(stem for one in everything for stem in (stem_of(one), stem_of(one, again=True)))
    _relabel(dataset, plan.planned)
    _forget_superseded(dataset, everything, stems)
    return Batch(dataset, account(dataset, plan), len(plan.planned) - len(todo), others)


def _died(task: Task, reason: str) -> str:
    return f"{task.planned.identity.source.relative}: {reason}"


def _record_sorted(dataset: Dataset, plan: Plan, known: frozenset[str]) -> None:
    """Rows for what was refused at first sight and for what accompanies another file."""
    refused = [(one, Trouble(FAILED, one.code, one.refusal)) for one in plan.refused]
    text = "read together with the kernel trace beside it"
    beside = [(one, Trouble(LEFT_OUT, "companion", f"{one.source.relative}: {text}")) for one in plan.companions]
    for one, trouble in (*refused, *beside):
        if stem_of(one, trouble.code in RETRIED) not in known:
            record(dataset, Planned(one, ""), trouble)


def _forget_recovered(dataset: Dataset, planned: Sequence[Planned]) -> None:
    """Remove the failures of traces that gave a run after all."""
    finished, failures = dataset.finished(), dataset.stems(FAILURES.name)
    for one in planned:
        for again in (False, True):
            stem = stem_of(one.identity, again)
            if stem in failures and (
                one.identity.trace_id in finished or (again and stem_of(one.identity) in failures)
            ):
                dataset.remove_failure(f"{stem}.parquet")


def _relabel(dataset: Dataset, planned: Sequence[Planned]) -> None:
    """Give finished traces the job that a fresh run would: a job found later may come before them in order."""
    if not any(_REPEATED.search(one.job) for one in planned):
        return
    labels = {str(one.identity.trace_id): (safe(one.identity.source.relative), safe(one.job)) for one in planned}
    for trace_id, path, job in dataset.known_frame(RUNS.name, labels, ("trace_id", "path", "job")).rows():
        if labels[trace_id][0] == path and labels[trace_id][1] != job:
            dataset.relabel(trace_id, labels[trace_id][1])


def _forget_superseded(dataset: Dataset, everything: Sequence[Identity], stems: frozenset[str]) -> None:
    """Remove the failures of files that were looked at again and are something else now, and of folders now open."""
    seen = {one.source.relative for one in everything}
    paths = {safe(path) for path in seen.union(*({str(p) for p in PurePosixPath(path).parents} for path in seen))}
    for stem, path in dataset.failed_paths(dataset.stems(FAILURES.name) - stems).items():
        if path in paths:
            dataset.remove_failure(f"{stem}.parquet")


def _record_copies(dataset: Dataset, plan: Plan) -> None:
    """Rows for files with the content of another: as that one where it gave no run, else left out."""
    known = dataset.stems(FAILURES.name)
    new = [(copy, first) for copy, first in plan.copies if stem_of(copy) not in known]
    stems = [stem_of(first, again) for _, first in new for again in (False, True)]
    columns = dataset.known_frame(FAILURES.name, stems, ("path", "outcome", "code"))
    ends = {path: (outcome, code) for path, outcome, code in columns.rows()}
    for copy, first in new:
        text = f"{copy.source.relative}: the same content as {first.source.relative}"
        outcome, code = ends.get(safe(first.source.relative), (LEFT_OUT, "duplicate"))
        record(dataset, Planned(copy, ""), Trouble(outcome, code, text))
