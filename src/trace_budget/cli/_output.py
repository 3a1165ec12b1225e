"""Where an answer goes: the output options, the choice of format, stdout and stderr."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from trace_budget import render
from trace_budget.cli._groups import option
from trace_budget.cli._values import one_of
from trace_budget.errors import OutputError, UsageError
from trace_budget.io.atomic import refuse_existing, write_bytes
from trace_budget.io.std_streams import say, stdout_failed
from trace_budget.text import safe

if TYPE_CHECKING:
    from trace_budget.contracts import Renderer
    from trace_budget.schema.report import Report

PANEL = "Output"
FORMAT_HELP = f"{', '.join(render.NAMES)} (default: by the suffix of -o, else table)."
PLAIN_WIDTH = 80
TELLS_NO_CAVEATS = ("csv", "parquet")


@dataclass(frozen=True, slots=True)
class Output:
    """The output options; what cannot work is refused before anything is read."""

    format: Annotated[
        str | None,
        option(PANEL, "--format", parser=one_of(*render.NAMES), metavar="FORMAT", text=FORMAT_HELP),
    ] = None
    output: Annotated[
        Path | None, option(PANEL, "--output", "-o", metavar="FILE", text="Write here instead of stdout.")
    ] = None
    force: Annotated[bool, option(PANEL, "--force", text="Overwrite the output file if it exists.")] = False
    quiet: Annotated[bool, option(PANEL, "--quiet", "-q", text="Nothing on stderr but errors.")] = False
    verbose: Annotated[bool, option(PANEL, "--verbose", "-v", text="Say on stderr what was read.")] = False

    def __post_init__(self) -> None:
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

    def say(self, text: str) -> None:
        """One line on stderr, unless quiet."""
        if not self.quiet:
            say(safe(text))


def emit(report: Report, output: Output) -> None:
    """Write the report to the file or to stdout; raises OutputError."""
    name = output.format_name()
    data = _renderer(name, output).render(report)
    if output.output is None:
        _to_stdout(data)
    else:
        write_bytes(output.output, data, overwrite=output.force)
        output.say(f"Wrote {output.output}")
    if name in TELLS_NO_CAVEATS:
        for caveat in report.caveats:
            if caveat.severity != "note":
                output.say(f"{caveat.severity}: {caveat.text}")


@contextmanager
def working(text: str, output: Output) -> Iterator[None]:
    """A spinner on stderr while the block runs; none when quiet or when stderr is no terminal."""
    if output.quiet or not sys.stderr.isatty():
        yield
        return
    from rich.console import Console
    from rich.markup import escape

    with Console(stderr=True).status(escape(safe(text))):
        yield


def _renderer(name: str, output: Output) -> Renderer:
    if name != "table" or output.output is not None or not sys.stdout.isatty():
        return render.load(name)
    from trace_budget.render import as_terminal

    width = shutil.get_terminal_size((PLAIN_WIDTH, 24)).columns
    return as_terminal.for_screen(width, colour=_wants_colour())


def _wants_colour() -> bool:
    """https://no-color.org: any value but the empty one turns colour off."""
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _to_stdout(data: bytes) -> None:
    """Write and flush, so that a full disk is told here and not at exit."""
    try:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    except OSError as error:
        raise stdout_failed(error) from error
