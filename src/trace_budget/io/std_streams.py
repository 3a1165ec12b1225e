"""The standard streams: what becomes of a stdout or stderr that is closed, full, or read by nobody any more."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO, TypeVar, cast

from trace_budget.errors import OutputError
from trace_budget.io.atomic import output_error

READER_GONE = 141
_T = TypeVar("_T")


def stdout_failed(error: OSError) -> OutputError | SystemExit:
    """What to raise when stdout cannot be written: without a word when the reader of the pipe is gone (`| head`).

    What is still buffered goes nowhere, or the interpreter would complain at exit.
    """
    _drop(sys.stdout)
    return SystemExit(READER_GONE) if isinstance(error, BrokenPipeError) else output_error("stdout", error)


def say(text: str) -> None:
    """A line on stderr; where it cannot be written, answer and exit code stay what they are."""
    try:
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()
    except OSError:
        _drop(sys.stderr)


@contextmanager
def told_stdout() -> Iterator[None]:
    """In the block, whoever writes text to stdout gets `stdout_failed` in place of an OSError, which libraries hide."""
    whole = sys.stdout
    sys.stdout = cast("TextIO", _Told(whole))
    try:
        yield
        sys.stdout.flush()
    finally:
        sys.stdout = whole


class _Told:
    """A text stream that reports what it cannot write, and reports it again when a library swallowed it."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._failure: OutputError | SystemExit | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        return self._done(lambda: self._stream.write(text))

    def flush(self) -> None:
        self._done(self._stream.flush)

    def _done(self, action: Callable[[], _T]) -> _T:
        if self._failure is None:
            try:
                return action()
            except OSError as error:
                self._failure = stdout_failed(error)
        raise self._failure


def _drop(stream: TextIO) -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
