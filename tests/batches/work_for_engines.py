"""Functions that engine tests have workers run: a process of their own must be able to import them."""

import os
import signal
import time
from pathlib import Path

from trace_budget.errors import OutputError


def square(number: int) -> int:
    return number * number


def who(number: int) -> tuple[int, int]:
    return number, os.getpid()


def slow_who(number: int) -> tuple[int, int]:
    time.sleep(0.05)
    return who(number)


def die_on_three(number: int) -> int:
    if number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def fail_on_three(number: int) -> int:
    if number == 3:
        raise ZeroDivisionError("three")
    return number


def refuse_on_three(number: int) -> int:
    if number == 3:
        raise OutputError("the disk is full", where="out")
    time.sleep(0.05)
    return number


HELD: list[bytes] = []


def grow_on_three(number: int) -> tuple[int, int]:
    if number == 3:
        HELD.append(os.urandom(200 << 20))
    return number, os.getpid()


def die_once(marker: str) -> str:
    """Kill the worker the first time, succeed the second."""
    path = Path(marker)
    if not path.exists():
        path.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return "alive"
