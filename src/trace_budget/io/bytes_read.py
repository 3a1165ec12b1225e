"""How much of a file has been read, for whoever watches: nothing is counted while nobody does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

Watch = Callable[[int, int], None]
_watches: list[Watch] = []


@contextmanager
def watched(by: Watch) -> Iterator[None]:
    """Have `by` called with the bytes read so far of the file that is being read, and its size."""
    _watches.append(by)
    try:
        yield
    finally:
        _watches.remove(by)


def report(done: int, whole: int) -> None:
    """Say how far a file has been read, in bytes as they lie on the disk."""
    for watch in tuple(_watches):
        watch(done, whole)
