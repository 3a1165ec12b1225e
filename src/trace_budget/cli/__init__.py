"""One file = one command, listed in NAMES; the function of the same name is the command, its docstring the help."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module
from typing import Annotated

import typer

from trace_budget._version import VERSION
from trace_budget.cli._groups import grouped

NAMES: tuple[str, ...] = (
    "estimate",
    "project",
    "threshold",
    "rank",
    "kernels",
    "steps",
    "layers",
    "overlap",
    "check",
    "compare",
    "timeline",
    "report",
    "batch",
    "ingest",
    "formats",
    "schema",
    "doctor",
)
PROGRAM = "trace-budget"


def command(name: str) -> Callable[..., None]:
    """The function of one command; its module imports no more than Typer."""
    function: Callable[..., None] = getattr(import_module(f"trace_budget.cli.{name}"), name)
    return function


def build(names: Iterable[str] = NAMES) -> typer.Typer:
    """The command line: of all commands, or of those that this call can need."""
    app = typer.Typer(name=PROGRAM, pretty_exceptions_enable=False)
    app.callback(invoke_without_command=True)(_root)
    for name in names:
        app.command(name)(grouped(command(name)))
    return app


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"{PROGRAM} {VERSION}")
        raise typer.Exit


def _root(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option("--version", metavar="", help="Print the version and exit.", callback=_version, is_eager=True),
    ] = False,
) -> None:
    """What does a faster kernel do end to end? Absolute microseconds first, an honest range, and a verdict.

    Start with: trace-budget project TRACE --kernel NAME --saving-us F
    """
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit(2)
