"""A guarded command ends with its parent's end of the pipe, with its own time limit, or by itself."""

from __future__ import annotations

import subprocess
import sys

import pytest

from trace_budget.io.perfetto import guard as trace_processor_guard


def guarded(seconds: float, *command: str) -> subprocess.Popen[bytes]:
    guard = [sys.executable, "-I", "-S", trace_processor_guard.__file__, str(seconds)]
    return subprocess.Popen([*guard, *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def test_hands_on_what_the_command_says_and_its_exit_code() -> None:
    with guarded(60, sys.executable, "-c", "print('done'); raise SystemExit(3)") as guard:
        assert guard.stdout is not None
        assert guard.stdout.read() == b"done\n"
        assert guard.wait(timeout=60) == 3


@pytest.mark.parametrize("ending", ["pipe closes", "time is over"])
def test_the_command_ends_when(ending: str) -> None:
    """The command holds the pipe's other end open: reading to the end of it proves that it is gone."""
    sleep = "print('up', flush=True); import time; time.sleep(300)"
    with guarded(60 if ending == "pipe closes" else 1, sys.executable, "-c", sleep) as guard:
        assert guard.stdin is not None
        assert guard.stdout is not None
        if ending == "pipe closes":
            assert guard.stdout.readline() == b"up\n"
            guard.stdin.close()
        guard.stdout.read()
        assert guard.wait(timeout=60) == (trace_processor_guard.TIMED_OUT if ending == "time is over" else 256 - 9)
