"""What nobody foresaw, met by one file: a row that says so, never the end of a worker or of the batch."""

from __future__ import annotations

_NO_THREAD = "can't start new thread"  # there is no memory for its stack
ENDS = (KeyboardInterrupt, SystemExit, GeneratorExit)


def unforeseen(error: BaseException, name: str) -> tuple[str, str]:
    """The code and the reason of a failure. Extension modules may raise past Exception."""
    if isinstance(error, MemoryError) or (isinstance(error, RuntimeError) and _NO_THREAD in str(error)):
        return "worker_died", f"{name}: does not fit into the memory of a worker"
    return "bug", f"{name}: {type(error).__name__}: {error}. A bug: please report it."
