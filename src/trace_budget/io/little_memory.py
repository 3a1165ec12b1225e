"""Under a limit on memory (`ulimit -v`, `-d`) libraries abort or fail in odd ways: the command then runs in a child.

What the child says is passed on when it ends in an orderly way; when it does not, one line reports the limit.
"""

from __future__ import annotations

import os
import resource
import signal
import sys

TYPE_CHECKING = False  # every command asks for the limit first: what takes time to load is for those that have one
if TYPE_CHECKING:
    import subprocess
    from collections.abc import Sequence
    from typing import IO

ENOUGH_BYTES = 4 << 30
ORDERLY = (0, 2, 3, 4, 5, 10, 130, 141, 143)
_UNREADABLE, _OUTPUT, _TERMINATED = 3, 5, 143
_PATIENCE_SECONDS = 10
_LOOK_SECONDS, _STILL_LOOKS = (
    5.0,
    3,
)  # as often without any work, with the memory used up, a child stands still for good
_NEARLY_ALL = 0.9  # of the allowed memory
STUCK = 256  # as an exit code that no process has
_PROGRAM = """
import sys
count = int(sys.argv[1])
arguments, sys.path[:] = sys.argv[2 : 2 + count], sys.argv[2 + count :]
from trace_budget.__main__ import main
sys.exit(main(arguments))
"""
# what is set aside for each thread counts as used, whether it is or not
_SPARING = {
    "MALLOC_ARENA_MAX": "1",
    "POLARS_MAX_THREADS": "1",
    **dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "1"),
}
_LAST_WORDS = 4_096


def allowed_bytes() -> int | None:
    """The memory that this process may use, where that is less than ENOUGH_BYTES."""
    limits = (resource.getrlimit(kind)[0] for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA))
    least = min((limit for limit in limits if limit != resource.RLIM_INFINITY), default=ENOUGH_BYTES)
    return least if least < ENOUGH_BYTES else None


def run_apart(arguments: Sequence[str], allowed: int) -> tuple[int, str]:
    """Run the command line in a child; its exit code, and the line to say when it did not end in an orderly way."""
    import tempfile

    with tempfile.TemporaryFile() as said:
        code = _child(arguments, said, allowed)
        said.seek(0)
        if code in ORDERLY:
            _pass_on(said)
            return code, ""
        said.seek(max(0, said.seek(0, os.SEEK_END) - _LAST_WORDS))
        lines = said.read().decode("utf-8", "replace").split("\n")
    if code == -signal.SIGKILL:
        return 128 + signal.SIGKILL, ""
    last = next((line.strip() for line in reversed(lines) if line.strip()), "")
    how = signal.Signals(-code).name if code < 0 else "a standstill" if code == STUCK else f"exit code {code}"
    line = (
        f"not enough memory: {allowed >> 10:,} KiB are allowed (ulimit -v, -d), and the work ended with {how}"
        f"{f' ({last[:200]})' if last else ''}. Allow more."
    )
    return (_OUTPUT if arguments[:1] == ["batch"] else _UNREADABLE), line


def _child(arguments: Sequence[str], said: IO[bytes], allowed: int) -> int:
    """The exit code of the child, which gets every Ctrl-C and SIGTERM too."""
    import subprocess

    command = [sys.executable, *(f"-W{each}" for each in sys.warnoptions), "-c", _PROGRAM]
    words = [*command, str(len(arguments)), *arguments, *sys.path]
    child = subprocess.Popen(words, stderr=said, env={**_SPARING, **os.environ})
    before = signal.signal(signal.SIGTERM, lambda *_: child.terminate())
    try:
        waits = arguments[:1] == ["batch"] or any(word == "-" or "://" in word for word in arguments)
        return child.wait() if waits else _ended(child, allowed)
    except KeyboardInterrupt:
        child.send_signal(signal.SIGINT)  # one that went to this process alone
        child.wait(_PATIENCE_SECONDS)
        raise
    finally:
        child.kill()
        child.wait()
        signal.signal(signal.SIGTERM, before)


def _ended(child: subprocess.Popen[bytes], allowed: int) -> int:
    """The exit code of the child; STUCK where a thread of a library died for want of memory and others wait for it."""
    from subprocess import TimeoutExpired

    still, before = 0, -1
    while True:
        try:
            return child.wait(_LOOK_SECONDS)
        except TimeoutExpired:
            used_bytes, worked = _used(child.pid)
        still = still + 1 if worked == before and used_bytes >= _NEARLY_ALL * allowed else 0
        if still >= _STILL_LOOKS:
            return STUCK
        before = worked


def _used(pid: int) -> tuple[int, int]:
    """The most memory a process has had, and the clock ticks it has worked; (0, 0) where the system does not say."""
    try:
        with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as status:  # noqa: PTH123  (pathlib is slow)
            peaks = [int(line.split()[1]) for line in status if line.startswith("VmPeak:")]
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as stat:  # noqa: PTH123
            fields = stat.read().rpartition(")")[2].split()
    except OSError:
        return 0, 0
    return (peaks[0] << 10 if peaks else 0), int(fields[11]) + int(fields[12])


def _pass_on(said: IO[bytes]) -> None:
    try:
        while piece := said.read(1 << 16):
            sys.stderr.write(piece.decode("utf-8", "replace"))
        sys.stderr.flush()
    except (OSError, AttributeError):  # closed, or nobody reads it
        return
