"""Where an answer goes: the output options, the choice of format, stdout and stderr."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from trace_budget import render
from trace_budget.errors import OutputError, UsageError
from trace_budget.io.atomic import refuse_existing, write_bytes
from trace_budget.io.bytes_read import watched
from trace_budget.io.std_streams import say, stdout_failed
from trace_budget.schema.answer import STDOUT
from trace_budget.schema.console import Console
from trace_budget.schema.option import option
from trace_budget.schema.options import OVERWRITE
from trace_budget.schema.values import one_of
from trace_budget.text import safe

if TYPE_CHECKING:
    from trace_budget.contracts import Renderer
    from trace_budget.schema.answer import Answer
    from trace_budget.schema.console import Progress
    from trace_budget.schema.report import Report

PANEL = "Output"
FORMAT_HELP = f"{', '.join(render.NAMES)} (default: by the suffix of -o, else table)."
PLAIN_WIDTH = 80
LEAST_WIDTH = 40
WORTH_COUNTING, EVERY_S = 1_000_000, 0.1  # bytes; how often the screen is written
WITHOUT_CAVEATS = ("csv", "parquet")


@dataclass(frozen=True, slots=True)
class Output:
    """How the report of a question is written."""

    format: Annotated[
        str | None, option(PANEL, "--format", parse=one_of(*render.NAMES), metavar="FORMAT", text=FORMAT_HELP)
    ] = None
    output: Annotated[
        Path | None, option(PANEL, "--output", "-o", metavar="FILE", text="Write here instead of stdout.")
    ] = None
    force: Annotated[bool, OVERWRITE] = False

    def check(self) -> None:
        """Raise UsageError or OutputError when the answer could not be written."""
        name = self.format_name()
        if self.output is not None:
            refuse_existing(self.output, overwrite=self.force)
        elif sys.stdout.isatty() and render.load(name).binary:
            raise OutputError(f"{name} is binary and cannot be shown in a terminal", advice="Give -o FILE, or pipe it.")

    def format_name(self) -> str:
        """The format asked for, else the one of the output's suffix, else table."""
        if self.format is not None:
            return self.format
        if self.output is None:
            return "table"
        name = render.name_for_suffix(self.output.suffix)
        if name is None:
            raise UsageError(
                f"the suffix {self.output.suffix!r} tells no format",
                where=str(self.output),
                advice=f"Give --format {'|'.join(render.NAMES)}.",
            )
        return name


@dataclass(frozen=True, slots=True)
class Talk:
    """What is said on stderr."""

    quiet: Annotated[bool, option(PANEL, "--quiet", "-q", text="Nothing on stderr but errors.")] = False
    verbose: Annotated[bool, option(PANEL, "--verbose", "-v", text="Say on stderr what was read.")] = False

    def console(self) -> Console:
        """The console of a question; nothing moves on it when quiet or when stderr is no terminal."""
        if self.quiet:
            return Console()
        if not sys.stderr.isatty():
            return Console(_say, verbose=self.verbose)
        return Console(_say, _spinner, _bars, self.verbose)


def _say(text: str) -> None:
    say(safe(text))


@contextmanager
def _spinner(text: str) -> Iterator[None]:
    from rich.console import Console as Screen
    from rich.markup import escape

    shown, last = escape(safe(text)), 0.0
    with Screen(stderr=True).status(shown) as status:

        def show(done: int, whole: int) -> None:
            nonlocal last
            if whole >= WORTH_COUNTING and time.monotonic() - last > EVERY_S:
                last = time.monotonic()
                status.update(f"{shown}: {how_far(done, whole)}")

        with watched(show):
            yield


def how_far(done: int, whole: int) -> str:
    """Bytes read of a file, in MB and in %."""
    return f"{done / 1e6:,.0f} of {whole / 1e6:,.0f} MB, {100 * done / whole:.0f} %"


@contextmanager
def _bars() -> Iterator[Progress | None]:
    """A bar for each stage, with rate and time left."""
    from rich.console import Console as Screen
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )
    from rich.progress import Progress as Bars

    columns = (
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[rate]}"),
        TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn(),
    )  # fmt: skip
    stages: dict[str, int] = {}
    with Bars(*columns, console=Screen(stderr=True)) as bars:

        def show(stage: str, done: int, total: int) -> None:
            if stage not in stages:
                stages[stage] = int(bars.add_task(stage, total=total, rate=""))
            task = bars.tasks[list(stages).index(stage)]
            rate = f"{task.speed:.1f}/s" if task.speed else ""
            bars.update(task.id, completed=done, rate=rate)

        yield show


def give(answer: Answer, output: Output, console: Console, force: bool) -> None:
    """Write the report, then the files, then raise the failure of the answer, if it has one."""
    printed = any(file.path == STDOUT for file in answer.files)
    if printed and answer.report is not None and output.output is None and output.format_name() != "table":
        raise UsageError(
            "a picture in the terminal stands below a table", expected="--plot FILE", found=output.format_name()
        )
    if answer.report is not None:
        emit(answer.report, output, console)
    for file in answer.files:
        if file.path == STDOUT:
            _to_stdout(b"\n" + file.data())
            continue
        write_bytes(file.path, file.data(), overwrite=force)
        console.say(f"Wrote {file.path}{file.note}")
        for line in file.more:
            console.say(line)
        if file.opened and not _opened(file.path):
            console.say(f"No browser could be started here: open {file.path} yourself")
    if answer.failure is not None:
        raise answer.failure


def _opened(path: Path) -> bool:
    """Whether a browser took the page; that none is there costs no answer."""
    import webbrowser

    try:
        return webbrowser.open(path.resolve().as_uri())
    except (webbrowser.Error, OSError):
        return False


def emit(report: Report, output: Output, console: Console) -> None:
    """Write the report to the file or to stdout; raises OutputError."""
    name = output.format_name()
    data = _renderer(name, output).render(report)
    if output.output is None:
        _to_stdout(data)
    else:
        write_bytes(output.output, data, overwrite=output.force)
        console.say(f"Wrote {output.output}")
    if name in WITHOUT_CAVEATS:
        for caveat in report.caveats:
            if caveat.severity != "note":
                console.say(f"{caveat.severity}: {caveat.text}")


def _renderer(name: str, output: Output) -> Renderer:
    screen = output.output is None and sys.stdout.isatty()
    if name != "table" or not (screen or "COLUMNS" in os.environ):
        return render.load(name)
    from trace_budget.render import as_terminal

    width = max(shutil.get_terminal_size((PLAIN_WIDTH, 24)).columns, LEAST_WIDTH)
    return as_terminal.for_screen(width, colour=screen and _wants_colour())


def _wants_colour() -> bool:
    """https://no-color.org: any value but the empty one turns colour off."""
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _to_stdout(data: bytes) -> None:
    """Write and flush, so that a full disk is reported here and not at exit."""
    try:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    except OSError as error:
        raise stdout_failed(error) from error
