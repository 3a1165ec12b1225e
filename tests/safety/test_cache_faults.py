"""The cache under kills, full disks and folders that cannot be written: the answer is that without it, always."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

SAMPLES = Path(__file__).resolve().parents[2] / "sample_traces"
TRACE = SAMPLES / "kineto" / "gdn_decode_gfx936.json.gz"
# keeps traces of any size and age, and makes bytes sure slowly, so that a kill falls anywhere in the writing
COMMAND = """
import os, resource, signal, sys, time
from trace_budget.inputs import cache
cache.SMALLEST_BYTES, cache._SETTLED_NS = 1, -10**12
whole = os.fsync
def slow(descriptor):
    time.sleep(float(os.environ.get("SLOW", "0")))
    whole(descriptor)
os.fsync = slow
if "LARGEST" in os.environ:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(os.environ["LARGEST"]),) * 2)
from trace_budget.__main__ import main
sys.exit(main(["kernels", *sys.argv[1:], "--format", "csv"]))
"""


@pytest.fixture(scope="module")
def answer() -> str:
    return asked(TRACE, "off").stdout


def environment(home: object, more: dict[str, str]) -> dict[str, str]:
    return os.environ | {"TRACE_BUDGET_CACHE": str(home)} | more


def asked(path: Path, home: object, **more: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-c", COMMAND, str(path)],
        capture_output=True,
        text=True,
        check=False,
        env=environment(home, more),
    )
    assert done.returncode == 0, done.stderr
    return done


def kept(home: Path) -> list[str]:
    return sorted(entry.name for entry in (home / "traces").iterdir() if not entry.name.startswith("."))


def test_kills_at_random_moments_leave_a_cache_that_answers_right(tmp_path: Path, answer: str) -> None:
    path, home = Path(shutil.copy(TRACE, tmp_path)), tmp_path / "home"
    rng = random.Random(5)
    for _ in range(4):
        command = [sys.executable, "-c", COMMAND, str(path)]
        with subprocess.Popen(command, env=environment(home, {"SLOW": "0.15"}), stdout=subprocess.DEVNULL) as running:
            until = time.monotonic() + 60
            while not (home / "traces").exists() and running.poll() is None and time.monotonic() < until:
                time.sleep(0.01)
            time.sleep(rng.uniform(0, 1.2))
            running.kill()
        assert asked(path, home, LARGEST="1").stdout == answer  # reads what is there, writes nothing
    assert asked(path, home).stdout == answer
    assert len(kept(home)) == 1
    assert asked(path, home).stdout == answer


def test_a_disk_too_full_for_the_entry_costs_nothing_and_leaves_nothing(tmp_path: Path, answer: str) -> None:
    home = tmp_path / "home"
    done = asked(TRACE, home, LARGEST="600")
    assert (done.stdout, done.stderr) == (answer, "")
    assert list((home / "traces").iterdir()) == []
    assert asked(TRACE, home).stdout == answer
    assert len(kept(home)) == 1


@pytest.mark.parametrize("place", ["a file", "/proc/self/nowhere", "/dev/null", "below/a file"])
def test_a_place_that_cannot_be_a_folder_is_as_good_as_none(tmp_path: Path, place: str, answer: str) -> None:
    (tmp_path / "a file").write_text("kept")
    home = (
        Path(place) if place.startswith("/") else tmp_path / place.replace("below/", "") / ("x" * place.count("below"))
    )
    done = asked(TRACE, home)
    assert (done.stdout, done.stderr) == (answer, "")
    assert (tmp_path / "a file").read_text() == "kept"


def test_four_first_looks_at_once_give_one_entry(tmp_path: Path, answer: str) -> None:
    home = tmp_path / "home"
    command = [sys.executable, "-c", COMMAND, str(TRACE)]
    running = [
        subprocess.Popen(command, env=environment(home, {"SLOW": "0.05"}), stdout=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    assert [process.communicate()[0] for process in running] == [answer] * 4
    assert len(kept(home)) == 1
    assert not [entry for entry in (home / "traces").iterdir() if entry.name.startswith(".")]
