"""The command line: one command for each question, made from what its function takes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Annotated, Any

import typer

from trace_budget import questions
from trace_budget._version import VERSION
from trace_budget.cli._command import typer_command
from trace_budget.cli._help import ShortHelp

NAMES = questions.NAMES
PROGRAM = "trace-budget"


def command(name: str) -> Callable[..., Any]:
    """What the command of a question calls; its docstring is the help."""
    return questions.command(name)


def build(names: Iterable[str] = NAMES) -> typer.Typer:
    """The command line: of all commands, or of those that this call can need."""
    app = typer.Typer(name=PROGRAM, pretty_exceptions_enable=False)
    app.callback(invoke_without_command=True)(_root)
    panels = {name: panel for panel, group in questions.GROUPS.items() for name in group}
    for name in names:
        app.command(name, cls=ShortHelp, rich_help_panel=panels[name], epilog=_examples(name))(typer_command(name))
    return app


def _examples(name: str) -> str | None:
    """What stands at the end of a command's help."""
    lines = questions.examples(name)
    return "\n\n".join(["Examples:", *lines]) if lines else None


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
