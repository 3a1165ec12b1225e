"""Runs a command that must not outlive its parent: it is killed when stdin closes or after a time limit.

Started as a program of its own: `python trace_processor_guard.py SECONDS COMMAND …`, with a pipe from the parent as
stdin. The parent's end of the pipe closes when the parent lets go of it or dies, however it dies.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading

TIMED_OUT = 124


def main(arguments: list[str]) -> int:
    """Run the command until it ends, stdin closes, or the seconds are over; its exit code, or 124 for the last."""
    seconds, command = float(arguments[0]), arguments[1:]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL) as child:
        threading.Thread(target=_kill_at_end_of_input, args=(child,), daemon=True).start()
        try:
            return child.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            child.kill()
            return TIMED_OUT


def _kill_at_end_of_input(child: subprocess.Popen[bytes]) -> None:
    os.read(0, 1)  # unbuffered: a reader that waits inside sys.stdin would be a fatal error when this program ends
    child.kill()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
