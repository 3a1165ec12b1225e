"""batch: the same question over many traces, into a dataset."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from trace_budget import render
from trace_budget.batches import engines
from trace_budget.cli._change import Changing, Selecting
from trace_budget.cli._groups import argument, option
from trace_budget.cli._options import Judging, Scoping, Tokens
from trace_budget.cli._output import FORMAT_HELP, PANEL, Output, emit
from trace_budget.cli._values import one_of, whole
from trace_budget.errors import InputError, NotInTraceError, UsageError

if TYPE_CHECKING:
    from trace_budget.batches.question import Question
    from trace_budget.batches.run import Progress
    from trace_budget.projection.candidates import CandidateSet
    from trace_budget.schema.report import Report

FOLDER_HELP = "Folders, files or URLs; traces are found by content, in archives too."
Folders = Annotated[list[str], argument("FOLDER...", FOLDER_HELP)]
_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Selected(Selecting):
    """Which calls are replaced, when one candidate is given by options."""

    kernel: Annotated[
        str | None,
        option(
            "Select", "--kernel", metavar="NAME", text="Exact name, else a part of it (case counts), or glob:… or re:…"
        ),
    ] = None  # type: ignore[assignment]


@dataclass(frozen=True, slots=True)
class Changed(Changing):
    """What the new kernel does to each call; none for a dataset without projections."""

    force: Annotated[
        bool, option("Change", "--force", text="Go on when the trace contradicts --baseline-us or --calls.")
    ] = False

    def __post_init__(self) -> None:
        """Raise UsageError for several savings, or costs without one."""
        if self.given():
            Changing.__post_init__(self)

    def given(self) -> bool:
        """Whether anything was said of the new kernel."""
        return any(getattr(self, each.name) not in (None, False) for each in fields(self))


@dataclass(frozen=True, slots=True)
class Finding:
    """What counts as input, and what its names tell."""

    from_format: Annotated[
        str | None, option("Input", "--from", metavar="FORMAT", text="Read every file as this format (see `formats`).")
    ] = None
    trace_processor: Annotated[
        str | None,
        option("Input", "--trace-processor", metavar="PATH", text="The trace_processor program for Perfetto files."),
    ] = None
    name_pattern: Annotated[
        str | None,
        option("Input", "--name-pattern", metavar="REGEX", text="Named groups in paths: model, device, batch_size, …"),
    ] = None


@dataclass(frozen=True, slots=True)
class Working:
    """Who does the work."""

    jobs: Annotated[
        int | None,
        option(
            "Work", "--jobs", "-j", parser=whole(1, 1_024), metavar="N", text="Parallel workers (default: processors)."
        ),
    ] = None
    engine: Annotated[
        str,
        option(
            "Work", "--engine", parser=one_of(*engines.NAMES), metavar="NAME", text="processes (default), dask or here."
        ),
    ] = "processes"
    scheduler: Annotated[
        str | None,
        option("Work", "--scheduler", metavar="ADDRESS", text="Dask scheduler (default: workers on this machine)."),
    ] = None
    retry_failed: Annotated[
        bool, option("Work", "--retry-failed", text="Try files again that failed before with the same content.")
    ] = False


@dataclass(frozen=True, slots=True)
class Telling:
    """Where the dataset goes, and how the summary is shown."""

    out: Annotated[str, option(PANEL, "--output", "-o", metavar="OUT", text="Dataset to add to: a folder or a URL.")]
    by: Annotated[
        str | None,
        option(PANEL, "--by", metavar="LIST", text="Groups of the summary: model,device,phase,batch_size,job, a tag."),
    ] = None
    format: Annotated[
        str | None, option(PANEL, "--format", parser=one_of(*render.NAMES), metavar="FORMAT", text=FORMAT_HELP)
    ] = None
    quiet: Annotated[bool, option(PANEL, "--quiet", "-q", text="Nothing on stderr but errors.")] = False


Candidates = Annotated[
    Path | None,
    option("Select", "--candidates", metavar="FILE", text="A candidate file (see `rank`) instead of one --kernel."),
]


def batch(
    folders: Folders,
    selected: Selected,
    changed: Changed,
    scoping: Scoping,
    tokens: Tokens,
    judging: Judging,
    finding: Finding,
    working: Working,
    telling: Telling,
    candidates: Candidates = None,
) -> None:
    """The same question over a tree of traces, into a Parquet dataset.

    Traces are found by content, rank files are put together, a bad file costs itself; done work is not done again.

    Give --kernel with one saving, or --candidates; without both, the dataset holds no projections. Exits with 3 at the
    end when files failed: they are listed with their reasons.
    """
    from trace_budget.batches.question import Question
    from trace_budget.batches.run import Workers
    from trace_budget.batches.run import batch as run
    from trace_budget.batches.summary import check_groups, summary

    scope, asked = scoping.scope(), _asked(selected, changed, candidates, scoping.device)
    question = Question(
        asked.candidates, scope, tokens.token(asked.token), judging.policy(asked.policy),
        finding.from_format, finding.name_pattern, finding.trace_processor,
    )  # fmt: skip
    by = tuple(name.strip() for name in telling.by.split(",")) if telling.by else ()
    check_groups(by, finding.name_pattern)
    output = Output(format=telling.format or "table", quiet=telling.quiet)
    with _progress(telling.quiet) as progress:
        workers = Workers(working.engine, working.jobs, working.scheduler, progress)
        done = run(folders, telling.out, question, workers, working.retry_failed)
    report = summary(done, by)
    emit(report, output)
    _judge(report, question)


def _asked(selected: Selected, changed: Changed, file: Path | None, device: int | None) -> CandidateSet:
    """The candidates of the file, the one of the options, or none; UsageError for both, or for half of one."""
    from trace_budget.projection.candidates import Candidate, CandidateSet, read_candidates
    from trace_budget.schema.options import Policy, TokenInput

    if file is not None:
        if selected.kernel is not None or changed.given():
            raise UsageError("--candidates excludes --kernel and its saving")
        return read_candidates(file)
    if selected.kernel is None:
        if changed.given():
            raise UsageError("a saving needs --kernel", expected="the kernel it is for")
        return CandidateSet((), Policy(), TokenInput())
    if not changed.given():
        Changing.__post_init__(changed)
    one = Candidate(selected.kernel, changed.change(changed.force), selected.selection(device))
    return CandidateSet((one,), Policy(), TokenInput())


def _judge(report: Report, question: Question) -> None:
    """Raise InputError when files failed, NotInTraceError when no trace at all runs the kernels asked for."""
    told = report.document
    failures = told["failures"]
    reasons = [row["reason"] for row in failures if row["outcome"] == "failed"] if isinstance(failures, list) else []
    if reasons:
        more = f"; and {len(reasons) - _SHOWN} more" if len(reasons) > _SHOWN else ""
        text = "; ".join(reasons[:_SHOWN]) + more
        raise InputError(f"{len(reasons)} files gave no answer, see the table failures: {text}")
    if question.candidates and told["traces"] and not told["best"]:
        raise NotInTraceError("no trace has any of the kernels asked for", expected="a kernel of the traces")


@contextmanager
def _progress(quiet: bool) -> Iterator[Progress | None]:
    """A bar with rate and time left on stderr; none when quiet or when stderr is no terminal."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[rate]}"),
        TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn(),
    )  # fmt: skip
    with Progress(*columns, console=Console(stderr=True)) as bar:
        yield _teller(bar)


def _teller(bar: object) -> Progress:
    """Turns (stage, done, all) into one bar per stage."""
    from rich.progress import Progress as Bar

    assert isinstance(bar, Bar)  # noqa: S101  (rich is imported only where it is used)
    stages: dict[str, int] = {}

    def tell(stage: str, done: int, total: int) -> None:
        if stage not in stages:
            stages[stage] = int(bar.add_task(stage, total=total, rate=""))
        task = bar.tasks[list(stages).index(stage)]
        rate = f"{task.speed:.1f}/s" if task.speed else ""
        bar.update(task.id, completed=done, rate=rate)

    return tell
