"""Private folders for copies of what cannot be read in place; a full or missing one is named, not the input."""

from __future__ import annotations

import errno
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from trace_budget.errors import InputError

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class NoRoomError(InputError):
    """The folder for temporary files is full, or there is none; the input may be good."""


@contextmanager
def scratch_folder(source: Path | str) -> Iterator[Path]:
    """A folder only its owner can enter, gone afterwards. Raises NoRoomError naming `source` where none can be made."""
    try:
        folder = tempfile.TemporaryDirectory(prefix="trace-budget-")
    except OSError as error:
        raise _no_room(source, str(error)) from error
    with folder as name:
        yield Path(name)


@contextmanager
def error_when_full(source: Path | str) -> Iterator[None]:
    """Around the writing of a copy of `source` to the folder for temporary files: NoRoomError when that is full."""
    try:
        yield
    except OSError as error:
        if error.errno not in _FULL:
            raise
        raise _no_room(source, f"{tempfile.gettempdir()} takes no more") from error


def _no_room(source: Path | str, found: str) -> NoRoomError:
    advice = "Make room, or set TMPDIR to a folder that has some."
    return NoRoomError("no room for a temporary copy", where=str(source), found=found, advice=advice)
