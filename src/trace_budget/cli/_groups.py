"""Commands take whole groups of options (frozen dataclasses); their fields become the options of the command."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, get_type_hints

import typer


def argument(metavar: str, text: str) -> Any:
    """A positional argument; whether a path can be read is found out, and told, by who reads it."""
    return typer.Argument(metavar=metavar, help=text, show_default=False, readable=False)


def option(panel: str, *names: str, parser: Any = None, metavar: str = "", text: str = "") -> Any:
    """An option in a help panel; without a parser it takes text, without a metavar too it is a flag."""
    return typer.Option(*names, parser=parser, metavar=metavar, help=text, rich_help_panel=panel, show_default=False)


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """The command as Typer wants it: one flat signature; each group is built, and so checks itself, before the body."""
    types = _parameter_types(command)
    groups: dict[str, Any] = {name: kind for name, kind in types.items() if is_dataclass(kind)}

    def run(**values: Any) -> None:
        built = {
            name: group(**{field.name: values.pop(field.name) for field in fields(group)})
            for name, group in groups.items()
        }
        command(**values, **built)

    run.__doc__ = command.__doc__
    run.__signature__ = inspect.Signature(flat_parameters(command))  # type: ignore[attr-defined]
    run.__annotations__ = {}
    return run


def flat_parameters(command: Callable[..., None]) -> list[inspect.Parameter]:
    """The command's own parameters and the fields of its groups, in the order they are declared."""
    flat: list[inspect.Parameter] = []
    for name, kind in _parameter_types(command).items():
        if is_dataclass(kind):
            hints = get_type_hints(kind, include_extras=True)
            flat += [_parameter(field.name, hints[field.name], field.default) for field in fields(kind)]
        else:
            flat.append(_parameter(name, kind, inspect.signature(command).parameters[name].default))
    return flat


def _parameter(name: str, kind: Any, default: object) -> inspect.Parameter:
    known = inspect.Parameter.empty if default is MISSING else default
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=known, annotation=kind)


def _parameter_types(command: Callable[..., None]) -> dict[str, Any]:
    hints = get_type_hints(command, include_extras=True)
    return {name: hints[name] for name in inspect.signature(command).parameters}
