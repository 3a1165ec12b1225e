"""What a command hands back: a report to show, files to write, and how it ends."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from trace_budget.errors import TraceBudgetError

if TYPE_CHECKING:
    from trace_budget.schema.report import Report


STDOUT = Path("-")  # as the path of a file: print it


@dataclass(frozen=True, slots=True)
class File:
    """A file to write; `data` is worked out when the report is out. `note` follows `Wrote PATH`, `more` after it.

    `opened`: the browser is asked to show it.
    """

    path: Path
    data: Callable[[], bytes]
    note: str = ""
    more: tuple[str, ...] = ()
    opened: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """The report first, then the files, then the failure (a missed gate, inputs that could not be read)."""

    report: Report | None = None
    files: tuple[File, ...] = ()
    failure: TraceBudgetError | None = None


Written = Answer  # said of answers without a report: the question names its files itself
