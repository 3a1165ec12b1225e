"""Who runs the work: this process, processes of this machine, or a Dask cluster; all give the same results."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Generic, Protocol, TypeVar

from trace_budget.errors import UsageError

T = TypeVar("T")
R = TypeVar("R")
NAMES: tuple[str, ...] = ("processes", "dask", "here")


@dataclass(frozen=True, slots=True)
class Done(Generic[T, R]):
    """A task that came to an end: with a value, or with the text of what stopped its worker."""

    task: T
    value: R | None
    died: str = ""


class Engine(Protocol):
    """Runs a function on tasks, in any order, each in its own right. Errors of trace-budget are raised at once."""

    def run(self, function: Callable[[T], R], tasks: Sequence[T]) -> Iterator[Done[T, R]]:
        """Each task as it ends; leaving the iteration stops the rest."""
        ...

    def close(self) -> None:
        """End all workers."""
        ...


def engine(name: str, jobs: int, scheduler: str | None) -> Engine:
    """The engine of a name with `jobs` workers; `scheduler` is the address of a Dask scheduler.

    Raises UsageError when a name, or what it needs, is not there.
    """
    if name not in NAMES:
        raise UsageError("no such engine", expected=f"one of {', '.join(NAMES)}", found=ascii(name))
    if scheduler is not None and name != "dask":
        raise UsageError("--scheduler goes with --engine dask")
    made: Engine = import_module(f"trace_budget.batches.engines.{name}").start(jobs, scheduler)
    return made
