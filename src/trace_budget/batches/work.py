"""The work on one trace, wherever it runs: read, analyse, project, put the answers; trouble becomes a row."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from trace_budget import api
from trace_budget.batches import rows
from trace_budget.batches.dataset import Dataset, failure_name
from trace_budget.batches.jobs import Planned
from trace_budget.batches.local_copy import local_copy
from trace_budget.batches.names import facts_in_path
from trace_budget.batches.question import Question
from trace_budget.batches.unforeseen import ENDS, unforeseen
from trace_budget.errors import InputError, NotInTraceError, OutputError, TraceBudgetError
from trace_budget.inputs.digest import digest_of
from trace_budget.io.store import file_system, is_url, reading_from, store_at
from trace_budget.io.temp import NoRoomError
from trace_budget.projection.candidates import Candidate
from trace_budget.projection.over_readings import over_readings
from trace_budget.schema.dataset import KERNELS, LAYERS, PROJECTIONS, RUNS, STEPS
from trace_budget.schema.findings import Findings
from trace_budget.schema.trace import Trace

if TYPE_CHECKING:
    import polars as pl

FAILED, LEFT_OUT = "failed", "left_out"
RETRIED = ("worker_died", "unreachable")


@dataclass(frozen=True, slots=True)
class Task:
    """One trace to be analysed for one question into the dataset at an address."""

    planned: Planned
    question: Question
    out: str


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why a file gave no run: `outcome` is failed or left_out, `code` one of those of the table `failures`."""

    outcome: str
    code: str
    reason: str


def work(task: Task) -> Trouble | None:
    """Analyse one trace and put its tables, or the row that says why not; None when it gave a run.

    Raises OutputError when the dataset cannot be written: that ends the whole batch.
    """
    identity = task.planned.identity
    dataset = Dataset(store_at(task.out, create=False), task.question)
    if dataset.has_run(str(identity.trace_id)):
        return None
    try:
        tables = _tables(task)
    except (OutputError, *ENDS):
        raise
    except BaseException as error:  # noqa: BLE001  (a bug met by one file must not cost the others)
        trouble = trouble_of(error, task.planned)
        record(dataset, task.planned, trouble)
        return trouble
    dataset.put(str(identity.trace_id), tables)
    return None


def record(dataset: Dataset, planned: Planned, trouble: Trouble) -> None:
    """Put the row of a failure. What may end otherwise another time is marked to be tried again."""
    identity = planned.identity
    path, again = identity.source.relative, trouble.code in RETRIED
    table = rows.failure_table(
        identity.trace_id, path, trouble.outcome, trouble.code, trouble.reason, identity.source.size_bytes
    )
    dataset.put_failure(failure_name(identity.trace_id, path, again), table)


def trouble_of(error: BaseException, planned: Planned) -> Trouble:
    """What an error says about a file, with the place people know instead of a temporary path."""
    source = planned.identity.source
    if isinstance(error, LeftOutError):
        return Trouble(LEFT_OUT, error.code, f"{source.relative}: {error.message}")
    if isinstance(error, TraceBudgetError):
        if "async_llm" in source.name:
            return Trouble(LEFT_OUT, "frontend", f"{source.relative}: the frontend process of an engine")
        place = f"{source.relative}{error.where.rpartition(source.name)[2] if source.name in error.where else ''}"
        placed = TraceBudgetError(
            error.message, where=place, expected=error.expected, found=error.found, advice=error.advice
        )
        code = "not_in_trace" if isinstance(error, NotInTraceError) else "unreadable_input"
        code = "unreachable" if isinstance(error, NoRoomError | ChangedError) else code
        return Trouble(FAILED, code, placed.line())
    if isinstance(error, OSError):
        return Trouble(FAILED, "unreachable", f"{source.relative}: {error.strerror or error}")
    code, reason = unforeseen(error, source.relative)
    return Trouble(FAILED, code, reason)


class LeftOutError(InputError):
    """A file that was read and is no trace of a workload."""

    def __init__(self, code: str, message: str) -> None:
        self.code = code
        super().__init__(message)


class ChangedError(InputError):
    """A file that was replaced between the first look and the end of its analysis."""


def _tables(task: Task) -> dict[str, pl.DataFrame]:
    question, planned = task.question, task.planned
    with local_copy(planned.identity.source) as path:
        trace = api.open_trace(path, question.from_format, None, question.trace_processor)
        _workload(trace)
        found = api.analyse(trace, question.scope)
        tables = tables_of(found, planned, question)
        if _changed(planned, path):
            raise ChangedError("changed while it was read", advice="The next batch reads it again.")
        return tables


def _changed(planned: Planned, path: Path) -> bool:
    """Whether the content is another than that of the first look, whose key the tables would carry."""
    source = planned.identity.source
    if not is_url(source.address) or source.member is not None:
        return digest_of(path) != planned.identity.digest
    system, remote = file_system(source.address)
    with reading_from(source.address):
        system.invalidate_cache()
        return str(system.checksum(remote)) != source.checksum


def _workload(trace: Trace) -> None:
    if trace.aggregates is not None:
        raise LeftOutError("no_timeline", "sums per kernel hold no timeline")
    for caveat in trace.caveats:
        if caveat.code == "capture_sidecar":
            raise LeftOutError("capture_sidecar", caveat.text)


def tables_of(found: Findings, planned: Planned, question: Question) -> dict[str, pl.DataFrame]:
    """All tables of one analysed trace."""
    import polars as pl

    trace_id, rank = str(planned.identity.trace_id), rows.rank_of(found.trace, planned)
    facts = facts_in_path(planned.identity.source.relative, question.name_pattern)
    phases = _by_phase(found, question)
    projected = [_projected(phases, candidate, question) for candidate in question.candidates]
    return {
        STEPS.name: rows.step_rows(trace_id, rank, found),
        KERNELS.name: pl.concat([rows.kernel_rows(trace_id, rank, each) for each in phases]),
        LAYERS.name: pl.concat([rows.layer_rows(trace_id, rank, each) for each in phases]),
        PROJECTIONS.name: rows.projection_rows(trace_id, rank, found.steps.phase, projected),
        RUNS.name: rows.runs_table(rows.run_row(planned, facts, found)),
    }


def _by_phase(found: Findings, question: Question) -> list[Findings]:
    """What was found for the phase that counts, then for every other phase with a step that could count."""
    if question.scope.phase is not None:
        return [found]
    others = sorted(set(found.steps.frame["phase"].to_list()) - {found.steps.phase})
    more: list[Findings] = []
    for phase in others:
        try:
            more.append(api.analyse(found.trace, replace(question.scope, phase=phase)))
        except NotInTraceError:
            continue
    return [found, *more]


def _projected(phases: list[Findings], candidate: Candidate, question: Question) -> rows.Row:
    """The row of one candidate, on the phase it is for, else on the phase that counts."""
    found = next((each for each in phases if candidate.phase in (None, each.steps.phase)), None)
    if found is None:
        return rows.absent_row(candidate, question, f"no step of phase {candidate.phase}")
    try:
        answer = over_readings(found, candidate, question.token, question.policy)
    except NotInTraceError as error:
        why = TraceBudgetError(error.message, expected=error.expected, found=error.found, advice=error.advice)
        return rows.absent_row(candidate, question, why.line())
    return {"phase": found.steps.phase, **rows.projected_row(answer, candidate)}
