"""The entry point: the only place that prints errors and decides exit codes."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False  # importing `typing` for it would double the time that `--help` takes
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import FrameType
    from typing import Self

INTERRUPTED = 130
TERMINATED = 143
HELP = "cli/help.txt"
_AGAIN_SECONDS = 0.01


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line (default: the process's own arguments) and return the exit code.

    A bug is the one thing that is not caught: its traceback is printed by Python, which then exits with 1.
    """
    try:
        return _main(arguments)
    except KeyboardInterrupt:  # before or after it is heeded below
        return _interrupted()


def _main(arguments: Sequence[str] | None) -> int:
    given = sys.argv[1:] if arguments is None else list(arguments)
    if given == ["--help"]:
        return _help()
    with _Interrupts(last=arguments is None) as interrupts:
        try:
            _open_what_is_closed()
            code = _guarded(given) if arguments is not None else _within_memory(given)
        except BaseException as error:
            if not interrupts.came and not isinstance(error, KeyboardInterrupt):
                raise
            code = INTERRUPTED
    return _interrupted() if interrupts.came else code


def _interrupted() -> int:
    """The exit code of a Ctrl-C, and Python made to keep it.

    Python notes a KeyboardInterrupt that leaves a text it evaluates (as dataclasses do while modules are loaded), and
    would kill itself by the signal in the end, caught or not; it forgets that when it evaluates another one.
    """
    from collections import namedtuple

    namedtuple("Nothing", ())  # which evaluates a text
    return INTERRUPTED


class _Interrupts:
    """Ctrl-C in the block is a KeyboardInterrupt, and noted: libraries drop it, or make another error of it.

    `last` says that the process ends after the block, and nothing is left that a Ctrl-C would have to undo.
    """

    def __init__(self, *, last: bool) -> None:
        self.came = self._armed = False
        self._last = last

    def __enter__(self) -> Self:
        import signal

        self._hook, sys.unraisablehook = sys.unraisablehook, self._unraisable
        self._installed = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # else whoever started it says
        if self._installed:
            signal.signal(signal.SIGINT, self._take)
        return self

    def __exit__(self, *_: object) -> None:
        import signal

        sys.unraisablehook = self._hook
        if self._armed:
            signal.setitimer(signal.ITIMER_REAL, 0)  # noted already
        if self._installed:
            signal.signal(signal.SIGINT, signal.SIG_DFL if self._last else signal.default_int_handler)

    def _take(self, _signal: int, _frame: FrameType | None) -> None:
        self.came = True
        raise KeyboardInterrupt

    def _unraisable(self, lost: sys.UnraisableHookArgs) -> None:
        """In a callback or a finaliser Python can only print it: it is raised again a moment later."""
        import signal

        if not isinstance(lost.exc_value, KeyboardInterrupt):
            self._hook(lost)
        else:
            self._armed = True
            signal.signal(signal.SIGALRM, self._take)
            signal.setitimer(signal.ITIMER_REAL, _AGAIN_SECONDS)


def _open_what_is_closed() -> None:
    """A standard stream that was closed (`>&-`) must not be the next file that is opened; stdout reports that it is."""
    for name, flags in (("stdin", os.O_RDONLY), ("stdout", os.O_RDONLY), ("stderr", os.O_WRONLY)):
        if getattr(sys, name) is None:
            mode = "r" if name == "stdin" else "w"
            setattr(sys, name, open(os.open(os.devnull, flags), mode, encoding="utf-8", closefd=False))  # noqa: SIM115


def _help() -> int:
    """Print the help as docs/make/help_page.py took it from the command line: at once, before anything is imported."""
    try:
        _open_what_is_closed()
        with open(f"{__file__.removesuffix('__main__.py')}{HELP}", encoding="utf-8") as page:  # noqa: PTH123  (pathlib is slow)
            text = page.read()
        encoding = sys.stdout.encoding or "ascii"
        sys.stdout.write(text.encode(encoding, "replace").decode(encoding))
        sys.stdout.flush()
    except OSError as error:
        return _told(error)
    return 0


def _told(error: OSError) -> int:
    from trace_budget.io.std_streams import stdout_failed

    failure = stdout_failed(error)
    if isinstance(failure, SystemExit):
        raise failure
    return _fail(failure.line(), failure.exit_code)


def _within_memory(arguments: list[str]) -> int:
    """The command, in a child where little memory is allowed: libraries abort then, and no handler sees it."""
    from trace_budget.io.little_memory import allowed_bytes, run_apart

    allowed = allowed_bytes()
    if allowed is None:
        return _guarded(arguments)
    code, line = run_apart(arguments, allowed)
    return _fail(line, code) if line else code


def _guarded(arguments: list[str]) -> int:
    import signal

    from trace_budget.errors import TraceBudgetError

    signal.signal(signal.SIGTERM, _terminate)
    try:
        return _run(arguments)
    except TraceBudgetError as error:
        return _fail(error.line(), error.exit_code, error.choices)


def _run(arguments: list[str]) -> int:
    import typer

    from trace_budget.cli import NAMES, PROGRAM, build
    from trace_budget.errors import UsageError
    from trace_budget.io.std_streams import told_stdout

    asked = arguments[:1] if arguments[:1] and arguments[0] in NAMES else []
    wanted = asked or NAMES
    try:
        with told_stdout():
            code = typer.main.get_command(build(wanted))(arguments, prog_name=PROGRAM, standalone_mode=False)
    except typer.Abort:
        return INTERRUPTED
    except Exception as error:
        # Typer's own usage errors; their class is public in no version range wide enough to import it.
        message = getattr(error, "format_message", None)
        if message is None:
            raise
        command = " ".join((PROGRAM, *asked))
        return _fail(f"{_sentence(message())} See `{command} --help`.", UsageError.exit_code)
    return code if isinstance(code, int) else 0


def _fail(text: str, code: int, choices: tuple[str, ...] = ()) -> int:
    from trace_budget.io.std_streams import say
    from trace_budget.text import safe

    say(f"trace-budget: {safe(' '.join(text.splitlines()))}")
    for choice in choices:
        say(f"  {safe(choice)}")
    return code


def _sentence(text: str) -> str:
    return text if text.endswith((".", "?")) else f"{text}."


def _terminate(_signal: int, _frame: FrameType | None) -> None:
    """SIGTERM unwinds the stack, so that half-written files vanish."""
    raise SystemExit(TERMINATED)


if __name__ == "__main__":
    sys.exit(main())
