"""Defaults from `trace-budget.toml`, else `[tool.trace-budget]` in pyproject.toml, in the working directory."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trace_budget.cli._signature import group_fields
from trace_budget.errors import UsageError
from trace_budget.schema.option import Option
from trace_budget.schema.options import Policy, TokenInput
from trace_budget.schema.values import pattern

if TYPE_CHECKING:
    from trace_budget.schema.trace import Caveat

PATTERNS = "step_patterns"
OWN, PROJECT = "trace-budget.toml", "pyproject.toml"


def numbers() -> dict[str, Option]:
    """The options that the file may set, by their field."""
    every = (*group_fields(Policy, []), *group_fields(TokenInput, []))
    return {each.name: each.info for each in every if isinstance(each.info, Option) and each.info.in_config}


def load(folder: Path | None = None) -> dict[str, Any]:
    """What the file of a folder (default: the working directory) sets; raises UsageError naming file and key."""
    base = folder or Path()
    own = base / OWN
    if own.is_file():
        return _checked(own.name, _parsed(own))
    project = base / PROJECT
    if project.is_file():
        table = _parsed(project).get("tool", {}).get("trace-budget", {})
        return _checked(f"{project.name} [tool.trace-budget]", table)
    return {}


def place(folder: Path | None = None) -> str:
    """What the file is called in words; '' where there is none."""
    base = folder or Path()
    if (base / OWN).is_file():
        return OWN
    return f"{PROJECT} [tool.trace-budget]" if (base / PROJECT).is_file() else ""


def noted(used: Mapping[str, Any]) -> tuple[Caveat, ...]:
    """What the file set in this answer, as something to be known of it."""
    if not used:
        return ()
    from trace_budget.schema.trace import Caveat

    shown = {key: value if isinstance(value, int | float) else list(value) for key, value in used.items()}
    text = ", ".join(f"{key} = {value}" for key, value in shown.items())
    return (Caveat("configured", f"{place()} sets {text}", len(used), "note"),)


def one_pattern(known: Any, given: str | None) -> str | None:
    """The step patterns of the file and the one that was given, as one expression."""
    every = (*(known or ()), *([given] if given else []))
    return ("|".join(f"(?:{text})" for text in every) if len(every) > 1 else "".join(every)) or None


def _parsed(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError, RecursionError) as error:
        raise UsageError(f"cannot be read as TOML: {error}", where=path.name) from error


def _checked(where: str, table: object) -> dict[str, Any]:
    if not isinstance(table, Mapping):
        raise UsageError("is not a table", where=where)
    known = numbers()
    return {key: _value(f"{where}: {key}", key, value, known) for key, value in table.items()}


def _value(where: str, key: str, value: object, known: Mapping[str, Option]) -> Any:
    if key not in (*known, PATTERNS):
        raise UsageError("no such key", where=where, expected=f"one of {', '.join((*known, PATTERNS))}")
    try:
        return _patterns(value) if key == PATTERNS else _number(known[key], value)
    except ValueError as error:
        raise UsageError(str(error), where=where) from error


def _number(info: Option, value: object) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float) or info.parse is None:
        raise ValueError(f"{value!r} is not a number")
    return info.parse(value)


def _patterns(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise ValueError("is not a list of regular expressions")
    return tuple(pattern(item) for item in value)
