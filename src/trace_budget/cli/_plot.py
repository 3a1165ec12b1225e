"""The option that draws the sensitivity curve beside the answer."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from trace_budget.cli._groups import option
from trace_budget.cli._output import PANEL, Output
from trace_budget.io.atomic import refuse_existing, write_bytes

if TYPE_CHECKING:
    from trace_budget.schema.page import Curve

SUFFIXES = (".svg", ".png")


def plot_file(value: str | Path) -> Path:
    """A path whose suffix says how it is drawn."""
    path = Path(value)
    if path.suffix.lower() not in SUFFIXES:
        raise typer.BadParameter(f"{str(value)!r} ends neither in .svg nor in .png")
    return path


Plot = Annotated[
    Path | None,
    option(
        PANEL,
        "--plot",
        parser=plot_file,
        metavar="FILE.svg|png",
        text="Also draw what every saving per call is worth.",
    ),
]


def refuse_plot(plot: Path | None, force: bool) -> None:
    """Raise OutputError before any work when the plot would overwrite a file; what else may fail follows the answer."""
    if plot is not None:
        refuse_existing(plot, overwrite=force)


def write_plot(curve: Curve, plot: Path, output: Output) -> None:
    """Draw the curve; raises OutputError."""
    from trace_budget.render import as_plot

    write_bytes(plot, as_plot.drawing(plot.suffix)(curve), overwrite=output.force)
    output.say(f"Wrote {plot}")
