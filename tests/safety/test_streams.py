"""Standard streams that are full, closed or read by nobody: 5 in one line, 141 silent; stderr decides none."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from formats.answers import SAMPLES

TRACE = str(SAMPLES / "kineto/same_run.json")
FULL = "trace-budget: stdout: cannot write: the disk is full. Free some space, or give another path.\n"
CLOSED = "trace-budget: stdout: cannot write: it is closed. Let it go to a terminal, a file or a pipe.\n"
TEXTS = ("--help", "--version", "kernels --help", "", "formats", f"kernels {TRACE}")
UNBUFFERED = pytest.mark.parametrize("unbuffered", ["", "1"], ids=["buffered", "unbuffered"])


def shell(line: str, unbuffered: str = "") -> subprocess.CompletedProcess[str]:
    """Run a line of bash in which TB is the program; its exit code is that of TB."""
    script = f'TB() {{ {sys.executable} -m trace_budget "$@"; }}; {line}; exit ${{PIPESTATUS[0]}}'
    environment = os.environ | {"PYTHONUNBUFFERED": unbuffered}
    return subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False, env=environment)


@UNBUFFERED
@pytest.mark.parametrize("arguments", TEXTS)
@pytest.mark.parametrize(("place", "line"), [("/dev/full", FULL), ("&-", CLOSED)], ids=["full", "closed"])
def test_a_stdout_that_takes_nothing(arguments: str, place: str, line: str, unbuffered: str) -> None:
    done = shell(f"TB {arguments} >{place}", unbuffered)
    assert (done.returncode, done.stderr) == (5, line)


@UNBUFFERED
@pytest.mark.parametrize("arguments", TEXTS)
def test_a_pipe_that_nobody_reads(arguments: str, unbuffered: str) -> None:
    done = shell(f"(sleep 0.3; TB {arguments}; echo $? >&2) | true", unbuffered)
    assert done.stderr == "141\n"


@pytest.mark.parametrize("place", ["&-", "/dev/full", "/dev/null"])
def test_without_stderr_the_answer_and_the_exit_code_are_the_same(place: str) -> None:
    answer = shell(f"TB kernels {TRACE}")
    assert answer.returncode == 0
    silent = shell(f"TB kernels -v {TRACE} 2>{place}")
    assert (silent.returncode, silent.stdout) == (0, answer.stdout)
    assert shell(f"TB kernels nowhere.json 2>{place}").returncode == 3
    assert shell(f"TB kernels --nothing 2>{place}").returncode == 2


def test_without_any_stream_the_file_is_written(tmp_path: Path) -> None:
    done = shell(f"TB kernels {TRACE} -v -o {tmp_path}/closed.json <&- >&- 2>&-")
    assert done.returncode == 0
    assert shell(f"TB kernels {TRACE} -o {tmp_path}/open.json").returncode == 0
    assert (tmp_path / "closed.json").read_bytes() == (tmp_path / "open.json").read_bytes()
