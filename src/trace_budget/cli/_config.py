"""Defaults from `trace-budget.toml`, else `[tool.trace-budget]` in pyproject.toml, in the working directory."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer

from trace_budget.cli._values import MOST_ROWS, pattern, percentage, positive, share, whole
from trace_budget.errors import UsageError

_NUMBERS: dict[str, Callable[[Any], float]] = {
    "target_pct": percentage,
    "noise_pct": positive,
    "runs": whole(2, MOST_ROWS),
    "dilution": share,
    "token_ms": positive,
    "tokens_per_step": positive,
}
KEYS = (*_NUMBERS, "step_patterns")


@dataclass(frozen=True, slots=True)
class Config:
    """What the file sets; None where it is silent. Options on the command line win."""

    target_pct: float | None = None
    noise_pct: float | None = None
    runs: int | None = None
    dilution: float | None = None
    token_ms: float | None = None
    tokens_per_step: float | None = None
    step_patterns: tuple[str, ...] = ()


def load(folder: Path | None = None) -> Config:
    """The configuration of a folder (default: the working directory); raises UsageError naming file and key."""
    base = folder or Path()
    own = base / "trace-budget.toml"
    if own.is_file():
        return _checked(own.name, _parsed(own))
    project = base / "pyproject.toml"
    if project.is_file():
        table = _parsed(project).get("tool", {}).get("trace-budget", {})
        return _checked(f"{project.name} [tool.trace-budget]", table)
    return Config()


def _parsed(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError, RecursionError) as error:
        raise UsageError(f"cannot be read as TOML: {error}", where=path.name) from error


def _checked(where: str, table: object) -> Config:
    if not isinstance(table, Mapping):
        raise UsageError("is not a table", where=where)
    return Config(**{key: _value(f"{where}: {key}", key, value) for key, value in table.items()})


def _value(where: str, key: str, value: object) -> Any:
    if key not in KEYS:
        raise UsageError("no such key", where=where, expected=f"one of {', '.join(KEYS)}")
    try:
        return _patterns(value) if key == "step_patterns" else _parsed_number(key, value)
    except typer.BadParameter as error:
        raise UsageError(error.message, where=where) from error


def _parsed_number(key: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise typer.BadParameter(f"{value!r} is not a number")
    return _NUMBERS[key](value)


def _patterns(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise typer.BadParameter("is not a list of regular expressions")
    return tuple(pattern(item) for item in value)
