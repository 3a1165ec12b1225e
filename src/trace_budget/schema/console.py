"""What a question may say while it works; silent unless the command line listens."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

Progress = Callable[[str, int, int], None]


@contextmanager
def _unseen(_text: str) -> Iterator[None]:
    yield


@contextmanager
def _no_progress() -> Iterator[Progress | None]:
    yield None


def _unheard(_text: str) -> None:
    """Say nothing."""


@dataclass(frozen=True, slots=True)
class Console:
    """`say` gives one line, `working` shows what goes on in its block, `progress` counts (stage, done, all).

    `verbose`: what was read is worth a line.
    """

    say: Callable[[str], None] = _unheard
    working: Callable[[str], AbstractContextManager[None]] = _unseen
    progress: Callable[[], AbstractContextManager[Progress | None]] = _no_progress
    verbose: bool = False


SILENT = Console()
