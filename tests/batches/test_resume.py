"""Killed at any moment, run twice at once, run again: the dataset is that of an undisturbed run, byte for byte."""

import os
import random
import signal
import time
from dataclasses import replace
from pathlib import Path

import pytest

from batches.datasets import QUESTION, content, finished, runs_in, started
from trace_budget.batches.run import ANALYSING, Workers, batch
from trace_budget.errors import InputError
from trace_budget.io.store import STALE_SECONDS, TEMPORARY
from trace_budget.schema.options import Policy


def kill_after(folder: Path, out: Path, more_runs: int, delay_s: float) -> bool:
    """Start a batch, kill it with SIGKILL when `more_runs` more traces are finished; whether it was still running."""
    goal = runs_in(out) + more_runs
    process = started(folder, out, "-j", "2")
    while process.poll() is None and runs_in(out) < goal:
        time.sleep(0.005)
    time.sleep(delay_s)
    alive = process.poll() is None
    process.kill()
    process.communicate()
    return alive


def test_ten_kills_at_random_moments_end_in_the_same_dataset(
    few: Path, few_answered: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))
    rng, out = random.Random(5), tmp_path / "out"
    kills = sum(kill_after(few, out, rng.randint(0, 3), rng.uniform(0, 0.06)) for _ in range(10))
    assert kills == 10
    before = runs_in(out)
    assert before < 36
    code, err = finished(few, out, "-j", "2")
    assert code == 3, err  # the broken files
    assert content(out) == content(few_answered)
    deadline = time.monotonic() + 60
    while any(scratch.glob("*/*")) and time.monotonic() < deadline:
        time.sleep(0.05)  # workers whose parent was killed tidy up as they end
    assert list(scratch.glob("*/*")) == []  # a folder may stay whose parent was killed before it had a worker


def test_nothing_finished_is_done_again(few: Path, few_answered: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in few_answered.glob("table=*/**/*.parquet")}
    heard: list[tuple[str, int, int]] = []
    again = batch(few, few_answered, QUESTION, Workers(jobs=1, progress=lambda *told: heard.append(told)))
    assert {path: path.stat().st_mtime_ns for path in few_answered.glob("table=*/**/*.parquet")} == before
    assert [told for told in heard if told[0] == ANALYSING] == []
    assert again.table("runs").height == 36
    assert again.resumed == 36 + 5 + 3  # with the records of graph capture, and what was found broken in reading


def test_another_question_is_answered_beside_the_first(few_answered: Path, few: Path, tmp_path: Path) -> None:
    before = content(few_answered)
    name = next(path.name for path in sorted(few.iterdir()) if "_bs" in path.name)
    (tmp_path / name).symlink_to(few / name)
    batch(tmp_path / name, few_answered, replace(QUESTION, policy=Policy(target_pct=0.1)), Workers("here"))
    after = content(few_answered)
    assert before.items() <= after.items()
    added = [path for path in after if path not in before]
    assert added
    for path in added:
        (few_answered / path).unlink()


def test_two_runs_at_once_neither_lose_nor_corrupt(few: Path, few_answered: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    both = [started(few, out, "-j", "1"), started(few, out, "-j", "1")]
    codes = [(process.communicate(timeout=300), process.returncode)[1] for process in both]
    assert codes == [3, 3]
    assert content(out) == content(few_answered)
    assert list((out / TEMPORARY).iterdir()) == []


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_batch_ends_at_once_and_leaves_no_process(
    few: Path, tmp_path: Path, number: int, code: int
) -> None:
    out = tmp_path / "out"
    process = started(few, out, "-j", "2")
    while process.poll() is None and runs_in(out) < 1:
        time.sleep(0.01)
    children = descendants(process.pid)
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err.decode()) == (code, "")
    assert children
    assert gone(children)


def test_workers_die_with_a_killed_parent(few: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    process = started(few, out, "-j", "2")
    while process.poll() is None and runs_in(out) < 1:
        time.sleep(0.01)
    children = descendants(process.pid)
    process.kill()
    process.communicate()
    assert len(children) >= 2
    assert gone(children)


def descendants(pid: int) -> list[int]:
    """Child processes, and theirs, by /proc."""
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in task.read_text().split():
            found += [int(child), *descendants(int(child))]
    return found


def gone(pids: list[int], patience_s: float = 20) -> bool:
    """Whether all have ended, or do so soon."""
    until = time.monotonic() + patience_s
    while time.monotonic() < until:
        if not any(running(pid) for pid in pids):
            return True
        time.sleep(0.05)
    return False


def running(pid: int) -> bool:
    try:
        return " Z " not in Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_what_killed_runs_left_half_written_goes_after_a_day(few: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    (out / TEMPORARY).mkdir(parents=True)
    old, young = out / TEMPORARY / "1-a.part", out / TEMPORARY / "2-b.part"
    for path, age_s in ((old, STALE_SECONDS + 60), (young, 60)):
        path.write_bytes(b"half")
        os.utime(path, (time.time() - age_s,) * 2)
    with pytest.raises(InputError, match="no trace found"):
        batch(few / "notes", out, QUESTION, Workers("here"))
    assert [path.name for path in (out / TEMPORARY).iterdir()] == ["2-b.part"]
