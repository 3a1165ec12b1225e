"""Processes of this machine: one worker per lane, replaced when it dies, grows or gets old."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection, Pipe
from pathlib import Path
from queue import SimpleQueue

from trace_budget.batches.engines import Done, R, T
from trace_budget.batches.engines.attempt import DIED, Attempt
from trace_budget.batches.engines.worker import READY
from trace_budget.errors import OutputError, TraceBudgetError

RECYCLE_BYTES = 1 << 30
RECYCLE_TASKS = 1_000
MOST_FAILED_STARTS = 3
_PROGRAM = """
import sys
sys.path[:] = sys.argv[4:]
from trace_budget.batches.engines.worker import main
main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
"""
# each worker has one processor; read by libraries when they are loaded
_ONE_THREAD = dict.fromkeys(("POLARS_MAX_THREADS", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"), "1")
_LAST_WORDS = 200
_PATIENCE_SECONDS = 10


class _Lane:
    """One worker process at a time, fed with one task at a time by whoever holds `taken`."""

    def __init__(self, alive: int, scratch: Path) -> None:
        self._alive = alive
        self._scratch = scratch
        self._process: subprocess.Popen[bytes] | None = None
        self._pipe: Connection | None = None
        self._tasks = 0
        self.failed_start = ""
        self.taken = threading.Lock()

    @property
    def alive(self) -> bool:
        """Whether there is a worker, or one is about to be."""
        return self._process is not None

    def start(self) -> bool:
        """Have a worker; False, with the reason in `failed_start`, when none gets ready."""
        self._tasks = 0
        try:
            self._pipe, theirs = Pipe()
            with theirs:
                self._process = self._started(theirs)
            ready = bool(self._pipe.recv() == READY)
        except (EOFError, OSError, MemoryError) as error:
            ready, self.failed_start = False, f"{type(error).__name__}: {error}"
        if not ready:
            self.failed_start = self._last_words() or self.failed_start
            self.close()
        return ready

    def _started(self, theirs: Connection) -> subprocess.Popen[bytes]:
        """A process in a session of its own: a Ctrl-C is the parent's to heed."""
        fds = (theirs.fileno(), self._alive)
        command = [sys.executable, *(f"-W{each}" for each in sys.warnoptions), "-c", _PROGRAM]
        arguments = [*map(str, fds), str(self._scratch), *sys.path]
        with self._log.open("wb") as log:
            return subprocess.Popen(
                [*command, *arguments], pass_fds=fds, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=log,
                env={**os.environ, **_ONE_THREAD}, start_new_session=True,
            )  # fmt: skip

    @property
    def _log(self) -> Path:
        return self._scratch / f"stderr-{id(self)}"

    def _last_words(self) -> str:
        """What a worker that did not get ready said last, and how it ended."""
        if self._process is None:
            return ""
        try:
            code = self._process.wait(_PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            return "no answer"
        how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
        said = self._log.read_bytes()[-_LAST_WORDS:].decode("utf-8", "replace").split("\n")
        last = next((line.strip() for line in reversed(said) if line.strip()), "")
        return f"{how}{': ' if last else ''}{last}"

    def work(self, function: Callable[[T], R], task: T) -> Attempt[R] | None:
        """What came of one task; None when the worker died."""
        assert self._pipe is not None  # noqa: S101  (started before)
        try:
            self._pipe.send((function, task))
            found, held = self._pipe.recv()
        except Exception:  # noqa: BLE001  (of a worker that died in the middle of its answer anything may have come)
            self.close()
            return None
        self._tasks += 1
        if held > RECYCLE_BYTES or self._tasks >= RECYCLE_TASKS:
            self.close()
        attempted: Attempt[R] = found
        return attempted

    def close(self) -> None:
        """End the worker, in the middle of a task if need be."""
        self.kill()
        process, self._process = self._process, None
        pipe, self._pipe = self._pipe, None
        if process is not None:
            process.wait()
        if pipe is not None:
            pipe.close()

    def kill(self) -> None:
        """End the worker, so that whoever waits for it goes on."""
        process = self._process
        if process is not None:
            process.kill()


class Processes:
    """`jobs` lanes that take from one list of tasks."""

    def __init__(self, jobs: int) -> None:
        self._scratch = tempfile.TemporaryDirectory(prefix="trace-budget-batch-", ignore_cleanup_errors=True)
        self._alive, self._held = os.pipe()
        self._lanes = [_Lane(self._alive, Path(self._scratch.name)) for _ in range(jobs)]
        self._failed_starts = 0
        self._counting = threading.Lock()
        self._stops: list[threading.Event] = []
        self._threads: list[threading.Thread] = []

    def run(self, function: Callable[[T], R], tasks: Sequence[T]) -> Iterator[Done[T, R]]:
        """Each task as it ends; leaving the iteration stops the lanes behind their present task.

        Raises OutputError when MOST_FAILED_STARTS workers in a row do not get ready.
        """
        left, ended = iter(tasks), SimpleQueue[Done[T, R] | BaseException]()
        taking, stopped = threading.Lock(), threading.Event()

        def step(lane: _Lane) -> bool:
            # a lane that an earlier run left behind in a task, or just starting, is waited for
            with lane.taken:
                if not self._ready(lane, stopped):
                    return False
                with taking:
                    task = next(left, None)
                if task is not None:
                    ended.put(_one(lane, function, task))
                return task is not None

        def drive(lane: _Lane) -> None:
            try:
                while step(lane):
                    pass
            except BaseException as error:  # noqa: BLE001  (raised again where the answers are waited for)
                ended.put(error)

        self._stops.append(stopped)
        threads = [threading.Thread(target=drive, args=(lane,), daemon=True) for lane in self._lanes[: len(tasks)]]
        try:
            self._begin(threads)
            for _ in tasks:
                done = ended.get()
                if isinstance(done, BaseException):
                    raise done
                yield done
        finally:
            stopped.set()

    def _begin(self, threads: Sequence[threading.Thread]) -> None:
        try:
            for thread in threads:
                thread.start()
                self._threads.append(thread)
        except RuntimeError as error:  # no memory for a thread
            raise _no_workers(str(error)) from None

    def _ready(self, lane: _Lane, stopped: threading.Event) -> bool:
        """Whether the lane has a worker. After MOST_FAILED_STARTS in a row a lane gives up, the last one by raising."""
        while not (lane.alive or stopped.is_set()):
            if self._counted(lane.start()) < MOST_FAILED_STARTS:
                continue
            if any(other.alive for other in self._lanes):
                return False
            raise _no_workers(lane.failed_start)
        return not stopped.is_set()

    def _counted(self, started: bool) -> int:
        """How many starts in a row have failed by now."""
        with self._counting:
            self._failed_starts = 0 if started else self._failed_starts + 1
            return self._failed_starts

    def close(self) -> None:
        """End all workers, in the middle of a task if need be, and remove what they left in temporary files."""
        for stopped in self._stops:
            stopped.set()
        os.close(self._held)
        for lane in self._lanes:
            lane.kill()
        for thread in self._threads:
            if thread.is_alive():  # it may just be starting a worker, which ends at once
                thread.join(_PATIENCE_SECONDS)
        for lane in self._lanes:
            lane.close()
        os.close(self._alive)
        self._scratch.cleanup()


def _one(lane: _Lane, function: Callable[[T], R], task: T) -> Done[T, R] | TraceBudgetError:
    found = lane.work(function, task)
    if found is None:
        return Done(task, None, DIED)
    return found.error or Done(task, found.value, found.unforeseen)


def _no_workers(reason: str) -> OutputError:
    return OutputError(
        "worker processes cannot start",
        expected=f"one that gets ready in {MOST_FAILED_STARTS} tries",
        found=reason,
        advice="Give them more memory (ulimit -v), or start fewer (-j 1). What is finished stays.",
    )


def start(jobs: int, scheduler: str | None) -> Processes:
    """Lanes on this machine."""
    del scheduler
    return Processes(jobs)
