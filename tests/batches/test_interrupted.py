"""Ctrl-C reaches the whole process group of a terminal: a batch ends with 130, says nothing and leaves no process."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from batches.datasets import OPTIONS
from batches.test_resume import descendants, gone

ENGINES = ["processes", *(["dask"] if importlib.util.find_spec("distributed") else [])]


def interrupted(folder: Path, out: Path, engine: str, seconds: float) -> tuple[int, str, list[int]]:
    """The exit code and stderr of a batch whose group is interrupted `seconds` after its first child, and children."""
    command = [sys.executable, "-m", "trace_budget", "batch", str(folder), "-o", str(out), *OPTIONS, "-q", "-j", "2"]
    process = subprocess.Popen(
        [*command, "--engine", engine], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True
    )
    while not (children := descendants(process.pid)) and process.poll() is None:
        time.sleep(0.002)
    time.sleep(seconds)
    children = sorted({*children, *descendants(process.pid)})
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=120)
    return process.returncode, err.decode(), children


@pytest.mark.parametrize("seconds", [0.0, 0.05, 0.3, 1.0])
@pytest.mark.parametrize("engine", ENGINES)
def test_the_whole_group_while_workers_start_and_work(few: Path, tmp_path: Path, engine: str, seconds: float) -> None:
    code, err, children = interrupted(few, tmp_path / "out", engine, seconds)
    assert (code, err) == (130, "")
    assert children
    assert gone(children)


def test_a_command_interrupted_while_a_class_is_made_ends_with_its_own_code() -> None:
    """Python would kill itself by the signal, since a text that dataclasses evaluate was interrupted."""
    program = (
        "import os, signal, sys\n"
        "from trace_budget import __main__ as entry\n"
        "def interrupted(_):\n"
        "    exec('import os, signal; os.kill(os.getpid(), signal.SIGINT)')\n"
        "entry._within_memory = interrupted\n"
        "sys.argv[1:] = ['formats']\n"
        "sys.exit(entry.main())\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "")
