"""Under `ulimit -v` a command answers or says in one line what is missing; workers that cannot start end a batch."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from batches.work_for_engines import square
from formats.answers import SAMPLES
from trace_budget.batches.engines import processes
from trace_budget.batches.engines.processes import Processes
from trace_budget.errors import OutputError
from trace_budget.io import little_memory
from trace_budget.io.little_memory import STUCK

TRACE = SAMPLES / "kineto/gdn_decode_gfx936.json.gz"
TOO_LITTLE, LITTLE, SCARCE = 60_000, 250_000, 350_000  # KiB: for NumPy, for Polars, for the work
PROJECT = ("project", str(TRACE), "--kernel", "gdn_fused", "--saving-us", "3.228")


def limited(kib: int, *arguments: str) -> subprocess.CompletedProcess[str]:
    script = f'ulimit -c 0; ulimit -v {kib}; exec "$0" -m trace_budget "$@"'
    command = ["bash", "-c", script, sys.executable, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


@pytest.mark.parametrize("kib", [TOO_LITTLE, LITTLE, SCARCE])
def test_a_projection_in_little_memory_is_one_line(kib: int) -> None:
    done = limited(kib, *PROJECT)
    assert (done.returncode, len(done.stderr.splitlines())) in ((0, 0), (3, 1)), done.stderr
    if kib < SCARCE:
        assert done.returncode == 3
        assert f"not enough memory: {kib:,} KiB are allowed" in done.stderr


@pytest.mark.parametrize(("held", "works", "code"), [(0.95, False, STUCK), (0.5, False, 7), (0.95, True, 7)])
def test_a_child_that_stands_still_with_its_memory_used_up_is_ended(
    held: float, works: bool, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    allowed = 600 << 20
    monkeypatch.setattr(little_memory, "_LOOK_SECONDS", 0.2)
    program = (
        "import mmap, sys, time\n"
        f"own = int(open('/proc/self/statm').read().split()[0]) * mmap.PAGESIZE\n"
        f"held = mmap.mmap(-1, int({held} * {allowed}) - own + (1 << 20))\n"
        f"end = time.monotonic() + 3\n"
        f"while time.monotonic() < end:\n    {'sum(range(100_000))' if works else 'time.sleep(3)'}\n"
        "sys.exit(7)"
    )
    with subprocess.Popen([sys.executable, "-c", program]) as child:
        try:
            assert little_memory._ended(child, allowed) == code
        finally:
            child.kill()


def test_a_limit_that_is_enough_changes_nothing() -> None:
    wide, none = (
        limited(3_000_000, *PROJECT),
        subprocess.run([sys.executable, "-m", "trace_budget", *PROJECT], capture_output=True, text=True, check=False),
    )
    assert (wide.returncode, wide.stdout, wide.stderr) == (none.returncode, none.stdout, none.stderr)
    wrong = limited(3_000_000, "project", str(TRACE), "--kernel", "nothing", "--free")
    assert wrong.returncode == 4
    assert wrong.stderr.startswith("trace-budget: ")


@pytest.mark.parametrize("kib", [TOO_LITTLE, LITTLE, SCARCE])
def test_a_batch_in_little_memory_is_one_line(kib: int, tmp_path: Path) -> None:
    done = limited(kib, "batch", str(TRACE), "-o", str(tmp_path / "out"), "-j", "2", "-q")
    assert (done.returncode, len(done.stderr.splitlines())) in ((0, 0), (3, 1), (5, 1)), done.stderr
    assert kib == SCARCE or done.returncode == 5


@pytest.mark.parametrize(
    ("program", "reason"),
    [("raise SystemExit('no room for me')", "exit code 1: no room for me"), ("import os; os.abort()", "SIGABRT")],
)
@pytest.mark.parametrize("jobs", [1, 4])
def test_three_workers_in_a_row_that_do_not_start_end_the_run(
    program: str, reason: str, jobs: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted = tmp_path / "started"
    monkeypatch.setattr(processes, "_PROGRAM", f"open({str(counted)!r}, 'a').write('x')\n{program}")
    team = Processes(jobs)
    with pytest.raises(OutputError, match="worker processes cannot start") as caught:
        list(team.run(square, range(1_000)))
    team.close()
    assert reason in caught.value.line()
    assert 3 <= len(counted.read_text()) <= 3 * jobs


def test_a_worker_that_starts_at_the_second_try_does_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    marker = tmp_path / "tried"
    once = f"import os\nif not os.path.exists({str(marker)!r}):\n    open({str(marker)!r}, 'w')\n    os.abort()\n"
    monkeypatch.setattr(processes, "_PROGRAM", once + processes._PROGRAM)
    team = Processes(1)
    assert [(done.task, done.value, done.died) for done in team.run(square, range(3))] == [
        (number, number * number, "") for number in range(3)
    ]
    team.close()
