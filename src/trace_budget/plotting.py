"""`--plot`: the option, and the file that holds a picture; nothing is drawn before the answer is out."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from trace_budget.schema.answer import STDOUT, File
from trace_budget.schema.option import option
from trace_budget.schema.values import file_with

if TYPE_CHECKING:
    from trace_budget.schema.page import Picture
    from trace_budget.schema.pictures import Drawn

SUFFIXES = (".svg", ".png", ".txt")
_parsed = file_with(*SUFFIXES)


def plot_file(value: str | Path) -> Path:
    """The path of a picture by its suffix; `-` is the terminal."""
    return STDOUT if str(value) == str(STDOUT) else _parsed(value)


def plot_option(what: str) -> object:
    """The option of a command whose picture shows `what`."""
    return option("Output", "--plot", parse=plot_file, metavar="FILE.svg|png|txt|-", text=what)


def refuse_plot(plot: Path | None, *, force: bool) -> None:
    """Raise OutputError for a file that is there already, before anything is read."""
    from trace_budget.io.atomic import refuse_existing

    if plot is not None and plot != STDOUT:
        refuse_existing(plot, overwrite=force)


def plotted(plot: Path | None, picture: Callable[[], Picture | Drawn]) -> tuple[File, ...]:
    """The file with the picture, which is worked out when the answer is out; none where none was asked for."""
    if plot is None:
        return ()
    suffix = ".txt" if plot == STDOUT else plot.suffix

    def data() -> bytes:
        from trace_budget.render import as_plot

        return as_plot.drawing(suffix)(picture())

    return (File(plot, data),)
