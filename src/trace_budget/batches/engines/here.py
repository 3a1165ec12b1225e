"""The calling process, one task after the other: no isolation, nothing to start; for debuggers and in-memory stores."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from trace_budget.batches.engines import Done, R, T


class Here:
    """Runs every task in the calling process."""

    def run(self, function: Callable[[T], R], tasks: Sequence[T]) -> Iterator[Done[T, R]]:
        """Each task in order."""
        for task in tasks:
            yield Done(task, function(task))

    def close(self) -> None:
        """Nothing was started."""


def start(jobs: int, scheduler: str | None) -> Here:
    """The calling process; neither `jobs` nor a scheduler mean anything here."""
    del jobs, scheduler
    return Here()
