"""A Dask cluster, started here or reached by its scheduler's address; the tasks of lost workers go to others."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from itertools import islice
from multiprocessing import resource_tracker
from typing import Any

from trace_budget._version import VERSION
from trace_budget.batches.engines import Done, R, T
from trace_budget.batches.engines.attempt import DIED, Attempt, attempt
from trace_budget.errors import InputError, OutputError, UsageError

RETRIES = 2
AHEAD = 8
_WAIT_SECONDS = 30


def installed_version() -> str:
    """The version a worker would run; it must be the one that asks."""
    return VERSION


class Dask:
    """Submits tasks a few ahead of the workers, so that neither scheduler nor client holds more than it must."""

    def __init__(self, client: Any, cluster: Any) -> None:
        self._client = client
        self._cluster = cluster

    def run(self, function: Callable[[T], R], tasks: Sequence[T]) -> Iterator[Done[T, R]]:
        """Each task as it ends; those of a worker that is lost are run again elsewhere."""
        left = iter(tasks)
        workers = max(len(self._client.scheduler_info()["workers"]), 1)
        asked = {self._submit(function, task): task for task in islice(left, AHEAD * workers)}
        ended: Any = _library().as_completed(list(asked))
        for future in ended:
            task = asked.pop(future)
            for another in islice(left, 1):
                following = self._submit(function, another)
                asked[following] = another
                ended.add(following)
            yield _done(task, future)

    def close(self) -> None:
        """Leave the cluster, and end it when it is our own."""
        self._client.close()
        if self._cluster is not None:
            self._cluster.close()

    def _submit(self, function: Callable[[T], R], task: T) -> Any:
        return self._client.submit(attempt, function, task, pure=False, retries=RETRIES)


def _library() -> Any:
    """Dask's distributed scheduler, whose functions carry no types."""
    try:
        return import_module("distributed")
    except ImportError as error:
        advice = "Install it: pip install 'trace-budget[dask]'"
        raise UsageError("Dask is not installed", found=str(error), advice=advice) from None


def _done(task: T, future: Any) -> Done[T, Any]:
    error = future.exception()
    if error is not None:  # its workers died, time and again
        return Done(task, None, DIED)
    found: Attempt[Any] = future.result()
    if found.error is not None:
        raise found.error
    return Done(task, found.value, found.unforeseen)


def start(jobs: int, scheduler: str | None) -> Dask:
    """A client of the scheduler at an address, else of `jobs` workers started on this machine.

    Raises UsageError without the package or with workers of another version, InputError when nobody answers.
    """
    distributed = _library()
    if scheduler is None:
        # Any free port: without an address Dask takes 8787, and warns where another batch has it.
        try:
            with _deaf_to_interrupts():
                cluster = distributed.LocalCluster(
                    n_workers=jobs, threads_per_worker=1, dashboard_address="127.0.0.1:0", silence_logs="CRITICAL"
                )
            return Dask(distributed.Client(cluster), cluster)
        except (OSError, RuntimeError, TimeoutError) as error:
            advice = "Give them more memory (ulimit -v), or start fewer (-j 1)."
            raise OutputError("Dask's workers cannot start", found=str(error), advice=advice) from None
    try:
        client = distributed.Client(scheduler, timeout=_WAIT_SECONDS)
        client.wait_for_workers(1, timeout=_WAIT_SECONDS)
    except (OSError, TimeoutError, ValueError) as error:
        advice = "Is the scheduler running there, and at least one worker with it?"
        raise InputError("no Dask cluster answers", where=scheduler, found=str(error), advice=advice) from None
    _check_versions(client)
    return Dask(client, None)


@contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    """Threads and processes that start in the block never see a Ctrl-C; this thread sees it at the end of the block."""
    resource_tracker.ensure_running()  # as it starts it lets the signal through again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _check_versions(client: Any) -> None:
    found = {str(version) for version in client.run(installed_version).values()}
    if found != {VERSION}:
        client.close()
        raise UsageError("workers run another version", expected=VERSION, found=", ".join(sorted(found)))
