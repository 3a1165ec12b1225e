"""The same work on a Dask cluster: the same dataset, also when a worker is lost, also by a scheduler's address."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from batches.datasets import QUESTION, content
from batches.work_for_engines import die_on_three, die_once, fail_on_three, refuse_on_three, square
from trace_budget.batches.engines import dask
from trace_budget.batches.engines.attempt import DIED
from trace_budget.batches.run import ANALYSING, Workers, batch
from trace_budget.errors import InputError, OutputError

distributed = pytest.importorskip("distributed")
# Dask itself warns about ports and sockets it leaves to the garbage collector
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")


def test_a_cluster_on_this_machine_gives_the_same_dataset_although_a_worker_is_killed_midway(
    few: Path, few_answered: Path, tmp_path: Path
) -> None:
    out, killed = tmp_path / "out", list[int]()

    def kill_one(stage: str, done: int, _: int) -> None:
        if stage == ANALYSING and done == 8 and not killed:
            killed.append(min(worker_pids()))
            os.kill(killed[0], signal.SIGKILL)

    batch(few, out, QUESTION, Workers("dask", jobs=2, progress=kill_one))
    assert len(killed) == 1
    assert content(out) == content(few_answered)


def worker_pids() -> list[int]:
    """Worker processes of the clusters of this process, by their command lines."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().split(b"\0")
            parent = int((path.parent / "stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, IndexError):
            continue
        if parent == os.getpid() and any(b"spawn_main" in word for word in words):
            found.append(int(path.parent.name))
    return found


def test_errors_of_the_dataset_end_the_run_and_lost_work_is_done_again(tmp_path: Path) -> None:
    team = dask.start(1, None)
    assert {each.task: each.value for each in team.run(square, range(20))} == {n: n * n for n in range(20)}
    (again,) = team.run(die_once, [str(tmp_path / "marker")])
    assert (again.value, again.died) == ("alive", "")
    with pytest.raises(OutputError, match="the disk is full"):
        list(team.run(refuse_on_three, range(6)))
    team.close()


def test_a_task_that_kills_its_workers_and_one_that_fails_are_told_as_by_processes(
    capfd: pytest.CaptureFixture[str],
) -> None:
    team = dask.start(1, None)
    died = list(team.run(die_on_three, [3]))
    failed = list(team.run(fail_on_three, [3, 4]))
    team.close()
    assert [(each.value, each.died) for each in died] == [(None, DIED)]
    assert {(each.value, each.died) for each in failed} == {(None, "ZeroDivisionError: three"), (4, "")}
    assert "Traceback" not in capfd.readouterr().err


def test_a_second_batch_on_the_machine_is_no_trouble() -> None:
    """The port that Dask takes when left alone is taken; with warnings as errors that would end the batch."""
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            taken.bind(("", 8787))
            taken.listen()
        except OSError:
            pass  # another program has it already
        team = dask.start(1, None)
        assert {each.value for each in team.run(square, range(3))} == {0, 1, 4}
        team.close()


def test_a_scheduler_and_workers_started_by_hand(few: Path, few_answered: Path, tmp_path: Path) -> None:
    port = free_port()
    address, out = f"tcp://127.0.0.1:{port}", tmp_path / "out"
    scheduler = [sys.executable, "-m", "distributed.cli.dask_scheduler"]
    worker = [sys.executable, "-m", "distributed.cli.dask_worker", address, "--nthreads", "1", "--no-dashboard"]
    commands = [[*scheduler, "--host", "127.0.0.1", "--port", str(port), "--no-dashboard"], worker]
    running = [subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for command in commands]
    try:
        batch(few, out, QUESTION, Workers("dask", scheduler=address))
    finally:
        for process in reversed(running):
            process.terminate()
            process.wait(timeout=30)
    assert content(out) == content(few_answered)


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def test_a_scheduler_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dask, "_WAIT_SECONDS", 1)
    begin = time.monotonic()
    with pytest.raises(InputError, match="no Dask cluster answers"):
        dask.start(1, f"tcp://127.0.0.1:{free_port()}")
    assert time.monotonic() - begin < 30
