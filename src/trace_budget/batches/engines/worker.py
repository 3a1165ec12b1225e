"""A worker process: it says that it is ready, then does one task after the other until its pipe is closed."""

from __future__ import annotations

import os
import signal
import tempfile
import threading
from multiprocessing.connection import Connection
from pathlib import Path

from trace_budget.batches.engines.attempt import attempt

READY = "ready"


def main(tasks: int, alive: int, scratch: str) -> None:
    """Serve the pipe `tasks`; end at once when `alive` is closed; put temporary files into the folder `scratch`."""
    for number, action in ((signal.SIGINT, signal.SIG_IGN), (signal.SIGTERM, signal.SIG_DFL)):
        signal.signal(number, action)
    tempfile.tempdir = scratch
    threading.Thread(target=_die_with_parent, args=(alive, scratch), daemon=True).start()
    import trace_budget.batches.run  # noqa: F401  (what tasks need: a worker that cannot load it cannot start)

    with Connection(tasks) as pipe:
        pipe.send(READY)
        _serve(pipe)


def _serve(pipe: Connection) -> None:
    while True:
        try:
            function, task = pipe.recv()
        except EOFError:
            return
        pipe.send((attempt(function, task), held_bytes()))


def _die_with_parent(alive: int, scratch: str) -> None:
    """Nothing is ever written there: the read ends when the parent closes its end, or is gone and cannot tidy up."""
    os.read(alive, 1)
    import shutil

    shutil.rmtree(scratch, ignore_errors=True)
    os._exit(1)


def held_bytes() -> int:
    """Memory of this process; 0 where the system has no /proc, so that workers end by age alone."""
    try:
        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    except OSError:
        return 0
    return int(pages) * os.sysconf("SC_PAGE_SIZE")
