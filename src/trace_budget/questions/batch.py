"""batch: the same question over many traces, into a dataset."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from trace_budget.asking import (
    NO_BENCH,
    CandidateFile,
    candidates_of,
    is_named,
    is_stated,
    one_candidate,
)
from trace_budget.batches import engines
from trace_budget.errors import InputError, NotInTraceError, TraceBudgetError, UsageError
from trace_budget.schema.answer import Answer
from trace_budget.schema.console import Console
from trace_budget.schema.option import Argument, Given, option, without
from trace_budget.schema.options import Change, Policy, ReadOptions, Scope, Selection, TokenInput
from trace_budget.schema.values import one_of, whole

if TYPE_CHECKING:
    from trace_budget.batches.question import Question
    from trace_budget.batches.run import Batch, Workers
    from trace_budget.projection.candidates import CandidateSet
    from trace_budget.schema.report import Report

EXAMPLES = (
    "trace-budget batch traces -o dataset -k gdn_fused -s 3.2 --by model,phase",
    "trace-budget batch traces -o dataset --candidates candidates.toml -j 8",
)

Folders = Annotated[
    list[str], Argument("FOLDER...", "Folders, files or URLs; traces are found by content, in archives too.")
]
Out = Annotated[
    str, option("Output", "--output", "-o", metavar="OUT", text="Dataset to add to: a folder or a URL.")
]  # fmt: skip
By = Annotated[
    str | None,
    option("Output", "--by", metavar="LIST",
           text="Groups of the summary: model,device,phase,batch_size,job, a tag."),
]  # fmt: skip
NamePattern = Annotated[
    str | None,
    option("Input", "--name-pattern", metavar="REGEX", text="Named groups in paths: model, device, batch_size, …"),
]
Jobs = Annotated[
    int | None,
    option("Work", "--jobs", "-j", parse=whole(1, 1_024), metavar="N",
           text="Parallel workers (default: processors)."),
]  # fmt: skip
EngineName = Annotated[
    str,
    option("Work", "--engine", parse=one_of(*engines.NAMES), metavar="NAME",
           text="processes (default), dask or here."),
]  # fmt: skip
Scheduler = Annotated[
    str | None,
    option("Work", "--scheduler", metavar="ADDRESS", text="Dask scheduler (default: workers on this machine)."),
]
RetryFailed = Annotated[
    bool, option("Work", "--retry-failed", text="Try files again that failed before with the same content.")
]
_SHOWN = 3


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
    from trace_budget.batches import run

    return run.batch(places, out, question, workers, retry_failed)


def command(
    folders: Folders,
    selection: Selection,
    change: Change,
    scope: Scope,
    token: Given[TokenInput],
    policy: Given[Policy],
    reading: Annotated[ReadOptions, without("rank", "cache")],
    console: Console,
    output: Out,
    by: By = None,
    name_pattern: NamePattern = None,
    jobs: Jobs = None,
    engine: EngineName = "processes",
    scheduler: Scheduler = None,
    retry_failed: RetryFailed = False,
    candidates: CandidateFile = None,
) -> Answer:
    """The same question over a tree of traces, into a Parquet dataset.

    Traces are found by content, rank files are put together, a bad file costs itself; done work is not done again.

    Give --kernel with one saving, or --candidates; without both, the dataset holds no projections. Exits with 3 at the
    end when files failed: they are listed with their reasons.
    """
    from trace_budget.batches.question import Question
    from trace_budget.batches.run import Workers
    from trace_budget.batches.summary import check_groups, summary

    asked = _asked(selection, change, candidates)
    question = Question(
        asked.candidates, scope, token.over(asked.token), policy.over(asked.policy),
        reading.from_format, name_pattern, reading.trace_processor,
    )  # fmt: skip
    groups = tuple(name.strip() for name in by.split(",")) if by else ()
    check_groups(groups, name_pattern)
    with console.progress() as progress:
        done = batch(folders, output, question, Workers(engine, jobs, scheduler, progress), retry_failed)
    report = summary(done, groups)
    return Answer(report, failure=_failure(report, question))


def _asked(selection: Selection, change: Change, file: Path | None) -> CandidateSet:
    """The candidates of the file, the one of the options, or none; UsageError for both, or for half of one."""
    from trace_budget.projection.candidates import CandidateSet

    named, stated = is_named(selection), is_stated(change, NO_BENCH)
    if file is not None:
        if named or stated:
            raise UsageError("--candidates excludes --kernel and its saving")
        return candidates_of(file)
    if not named:
        if stated:
            raise UsageError("a saving needs --kernel", expected="the kernel it is for")
        return CandidateSet((), Policy(), TokenInput())
    one = one_candidate(selection, change, id=selection.kernel or selection.replace or "")
    return CandidateSet((one.candidate,), Policy(), TokenInput())


def _failure(report: Report, question: Question) -> TraceBudgetError | None:
    """InputError when files failed, NotInTraceError when no trace at all runs the kernels asked for."""
    from trace_budget.schema.documents.others import Batch

    answer = report.answered(Batch)
    reasons = [row.reason for row in answer.failures if row.outcome == "failed"]
    if reasons:
        more = f"; and {len(reasons) - _SHOWN} more" if len(reasons) > _SHOWN else ""
        text = "; ".join(reasons[:_SHOWN]) + more
        return InputError(f"{len(reasons)} files gave no answer, see the table failures: {text}")
    if question.candidates and answer.traces and not answer.best:
        return NotInTraceError("no trace has any of the kernels asked for", expected="a kernel of the traces")
    return None
