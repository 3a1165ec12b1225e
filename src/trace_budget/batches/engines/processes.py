"""Processes of this machine: one worker per lane, replaced when it dies, grows or gets old."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from queue import SimpleQueue
from typing import Generic

from trace_budget.batches.engines import Done, R, T
from trace_budget.errors import TraceBudgetError

RECYCLE_BYTES = 1 << 30
RECYCLE_TASKS = 1_000
DIED = "the worker process died while it worked on this file: out of memory, or killed"


@dataclass(frozen=True, slots=True)
class _Measured(Generic[R]):
    value: R
    held_bytes: int


def _measured(function: Callable[[T], R], task: T) -> _Measured[R]:
    """The value, and the memory this process holds after it."""
    value = function(task)
    return _Measured(value, held_bytes())


def held_bytes() -> int:
    """Memory of this process; 0 where the system has no /proc, so that workers end by age alone."""
    try:
        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    except OSError:
        return 0
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def _settle(alive: Connection, scratch: str) -> None:
    """First in a worker: one thread for Polars, no Ctrl-C, temporary files in one place, death with the parent."""
    os.environ["POLARS_MAX_THREADS"] = "1"
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    tempfile.tempdir = scratch
    threading.Thread(target=_die_with_parent, args=(alive, scratch), daemon=True).start()


def _die_with_parent(alive: Connection, scratch: str) -> None:
    """Nothing is ever sent: the wait ends when the parent closes its end, or is gone and cannot tidy up."""
    alive.poll(None)
    shutil.rmtree(scratch, ignore_errors=True)
    os._exit(1)


class _Lane:
    """One worker process at a time, fed with one task at a time."""

    def __init__(self, alive: Connection, scratch: str) -> None:
        self._arguments = (alive, scratch)
        self._pool: ProcessPoolExecutor | None = None
        self._tasks = 0

    def work(self, function: Callable[[T], R], task: T) -> R:
        """The value of one task; what the function raises is raised, BrokenProcessPool when the worker died."""
        if self._pool is None:
            context = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(1, context, _settle, self._arguments)
            self._tasks = 0
        try:
            measured = self._pool.submit(_measured, function, task).result()
        except BrokenProcessPool:
            self.close()
            raise
        self._tasks += 1
        if measured.held_bytes > RECYCLE_BYTES or self._tasks >= RECYCLE_TASKS:
            self.close()
        return measured.value

    def close(self) -> None:
        """End the worker."""
        pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown()


class Processes:
    """`jobs` lanes that take from one list of tasks."""

    def __init__(self, jobs: int) -> None:
        self._scratch = tempfile.TemporaryDirectory(prefix="trace-budget-batch-")
        alive, self._held = multiprocessing.Pipe(duplex=False)
        self._alive = alive
        self._lanes = [_Lane(alive, self._scratch.name) for _ in range(jobs)]

    def run(self, function: Callable[[T], R], tasks: Sequence[T]) -> Iterator[Done[T, R]]:
        """Each task as it ends; leaving the iteration stops the lanes behind their present task."""
        left, ended = iter(tasks), SimpleQueue[Done[T, R] | BaseException]()
        taking, stopped = threading.Lock(), threading.Event()

        def drive(lane: _Lane) -> None:
            while not stopped.is_set():
                with taking:
                    task = next(left, None)
                if task is None:
                    return
                ended.put(_one(lane, function, task))

        threads = [threading.Thread(target=drive, args=(lane,), daemon=True) for lane in self._lanes[: len(tasks)]]
        for thread in threads:
            thread.start()
        try:
            for _ in tasks:
                done = ended.get()
                if isinstance(done, BaseException):
                    raise done
                yield done
        finally:
            stopped.set()

    def close(self) -> None:
        """End all workers, in the middle of a task if need be, and remove what they left in temporary files."""
        self._held.close()
        for lane in self._lanes:
            lane.close()
        self._alive.close()
        self._scratch.cleanup()


def _one(lane: _Lane, function: Callable[[T], R], task: T) -> Done[T, R] | BaseException:
    try:
        return Done(task, lane.work(function, task))
    except TraceBudgetError as error:
        return error
    except BrokenProcessPool:
        return Done(task, None, DIED)
    except BaseException as error:  # noqa: BLE001  (an extension module may raise past Exception, for one file)
        return Done(task, None, f"{type(error).__name__}: {error}")


def start(jobs: int, scheduler: str | None) -> Processes:
    """Lanes on this machine."""
    del scheduler
    return Processes(jobs)
