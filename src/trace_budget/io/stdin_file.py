"""A trace that comes by standard input, as a file that readers can search."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from trace_budget.errors import InputError
from trace_budget.io.temp import error_when_full, scratch_folder

STDIN = "-"


@contextmanager
def searchable(path: Path | str) -> Iterator[Path | str]:
    """The path itself; for `-` a copy of standard input, gone afterwards. Raises InputError when nothing comes."""
    if str(path) != STDIN:
        yield path
        return
    if sys.stdin is None or sys.stdin.isatty():
        raise InputError("nothing comes by standard input", where=STDIN, advice="Pipe a trace in, or name a file.")
    with scratch_folder(STDIN) as folder:
        copy = folder / "stdin"
        with error_when_full(STDIN), copy.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        if not copy.stat().st_size:
            raise InputError("nothing comes by standard input", where=STDIN, advice="Pipe a trace in, or name a file.")
        yield copy
