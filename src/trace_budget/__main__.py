"""The entry point: the only place that prints errors and decides exit codes."""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence
from types import FrameType

from trace_budget.errors import TraceBudgetError, UsageError
from trace_budget.text import safe_lines

INTERRUPTED = 130
TERMINATED = 143


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line (default: the process's own arguments) and return the exit code.

    A bug is the one thing that is not caught: its traceback is printed by Python, which then exits with 1.
    """
    signal.signal(signal.SIGTERM, _terminate)
    try:
        return _run(sys.argv[1:] if arguments is None else list(arguments))
    except TraceBudgetError as error:
        return _fail(error.line(), error.exit_code)
    except KeyboardInterrupt:
        return INTERRUPTED


def _run(arguments: list[str]) -> int:
    import typer

    from trace_budget.cli import PROGRAM, build

    try:
        code = typer.main.get_command(build())(arguments, prog_name=PROGRAM, standalone_mode=False)
    except typer.Abort:
        return INTERRUPTED
    except Exception as error:
        # Typer's own usage errors; their class is public in no version range wide enough to import it.
        message = getattr(error, "format_message", None)
        if message is None:
            raise
        return _fail(f"{_sentence(message())} See `{PROGRAM} --help`.", UsageError.exit_code)
    return code if isinstance(code, int) else 0


def _fail(text: str, code: int) -> int:
    sys.stderr.write(f"trace-budget: {safe_lines(text)}\n")
    return code


def _sentence(text: str) -> str:
    return text if text.endswith((".", "?")) else f"{text}."


def _terminate(_signal: int, _frame: FrameType | None) -> None:
    """SIGTERM unwinds the stack, so that half-written files vanish."""
    raise SystemExit(TERMINATED)


if __name__ == "__main__":
    sys.exit(main())
