"""Ctrl-C at moments when Python alone would print a traceback, or lose it: exit 130 without a word."""

from __future__ import annotations

import subprocess
import sys

import pytest

INTERRUPT = "import os, signal, sys, time, types, weakref\ndef interrupt(*_): os.kill(os.getpid(), signal.SIGINT)\n"
IMPORTING = """
class Finder:
    def find_spec(name, path=None, target=None):
        if name == {module!r}:
            interrupt()
sys.meta_path.insert(0, Finder)
"""
# what the command asks for is made while the interrupt comes
ASKED = """
from trace_budget.questions import formats
def stuck():
    {moment}
formats.formats = stuck
"""
LOST = {
    "in a callback": """
    class Thing: pass
    thing = Thing()
    watch = weakref.ref(thing, interrupt)
    del thing
    time.sleep(300)""",
    "in a finaliser": """
    class Thing: __del__ = interrupt
    Thing()
    time.sleep(300)""",
    "made another error": """
    try: interrupt()
    except BaseException: raise ImportError("cannot load") from None""",
    "dropped": """
    try: interrupt()
    except BaseException: pass""",
}
RUN = "from trace_budget.__main__ import main\nsys.exit(main({arguments!r}))\n"


def ran(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    code = INTERRUPT + program + RUN.format(arguments=list(arguments))
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=100)


@pytest.mark.parametrize("module", ["trace_budget.errors", "typer", "rich", "trace_budget.questions.formats"])
def test_while_it_starts(module: str) -> None:
    done = ran(IMPORTING.format(module=module), "formats", "--help-all")
    assert (done.returncode, done.stderr) == (130, "")


@pytest.mark.parametrize("moment", LOST)
def test_an_interrupt_that_is_lost_on_the_way(moment: str) -> None:
    done = ran(ASKED.format(moment=LOST[moment]), "formats")
    assert (done.returncode, done.stderr) == (130, "")


def test_who_was_started_to_ignore_it_goes_on() -> None:
    ignoring = "signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
    done = ran(ignoring + IMPORTING.format(module="typer"), "--version")
    assert (done.returncode, done.stderr) == (0, "")


def test_after_the_answer_nothing_is_left_to_undo() -> None:
    """The interpreter ends by itself then; the system's own way to stop a process leaves no traceback."""
    code = (
        f"{INTERRUPT}import atexit; atexit.register(interrupt)\n"
        "sys.argv[1:] = ['--version']\nfrom trace_budget.__main__ import main\nsys.exit(main())\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=100)
    assert (done.returncode, done.stderr) == (-2, "")


def test_one_that_came_in_a_callback_at_the_very_end_is_not_raised_again_in_what_follows() -> None:
    program = ASKED.format(moment=LOST["in a callback"].replace("time.sleep(300)", "raise ValueError"))
    done = ran(f"{program}import atexit; atexit.register(time.sleep, 0.2)\n", "formats")
    assert (done.returncode, done.stderr) == (130, "")
