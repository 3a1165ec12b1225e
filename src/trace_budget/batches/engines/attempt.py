"""One task tried in a worker: its value, or what came instead, reported the same way by every engine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic

from trace_budget.batches.engines import R, T
from trace_budget.batches.unforeseen import ENDS
from trace_budget.errors import TraceBudgetError

DIED = "the worker process died while it worked on this file: out of memory, or killed"


@dataclass(frozen=True, slots=True)
class Attempt(Generic[R]):
    """What came of a task: a value, an error that ends the batch, or the text of what nobody foresaw."""

    value: R | None = None
    error: TraceBudgetError | None = None
    unforeseen: str = ""


def attempt(function: Callable[[T], R], task: T) -> Attempt[R]:
    """Run a function on a task; only what ends the process passes through."""
    try:
        return Attempt(function(task))
    except TraceBudgetError as error:
        return Attempt(error=error)
    except ENDS:
        raise
    except BaseException as error:  # noqa: BLE001  (an extension module may raise past Exception, for one file)
        return Attempt(unforeseen=f"{type(error).__name__}: {error}")
