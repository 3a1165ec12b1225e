"""One file = one question: its options, the function that asks, and the Report it answers with; listed in NAMES.

The command, the Python function, their help and their row in the docs follow. A file holds a function of its own name,
which takes traces and plain structs and returns a Report. Where a command does more (files to write, gates, many
inputs) a second function, `command`, says how. Nothing heavy is imported before a question is asked.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any

GROUPS: dict[str, tuple[str, ...]] = {
    "Answer": ("project", "threshold", "rank", "compare", "estimate", "report"),
    "Structure": ("kernels", "steps", "layers", "overlap", "timeline", "check"),
    "Many traces": ("batch", "ingest"),
    "Data": ("formats", "schema", "explain", "doctor"),
}
NAMES: tuple[str, ...] = tuple(name for names in GROUPS.values() for name in names)


def load(name: str) -> ModuleType:
    """The file of a question."""
    return import_module(f"trace_budget.questions.{name}")


def function(name: str) -> Callable[..., Any]:
    """The Python function of a question."""
    found: Callable[..., Any] = getattr(load(name), name)
    return found


def command(name: str) -> Callable[..., Any]:
    """What the command of a question calls: its `command` where it has one, else the function itself."""
    found: Callable[..., Any] = getattr(load(name), "command", None) or function(name)
    return found


def examples(name: str) -> tuple[str, ...]:
    """Commands that show how a question is asked: its `EXAMPLES`."""
    found: tuple[str, ...] = getattr(load(name), "EXAMPLES", ())
    return found
