"""Writes src/trace_budget/cli/help.txt, what `trace-budget --help` prints at once: `python docs/make/help_page.py`."""

from __future__ import annotations

import os
from pathlib import Path

# Before Rich is imported: the page is plain text of one width, whatever the terminal of who writes it.
os.environ.update(COLUMNS="80", NO_COLOR="1", TERM="dumb")

PAGE = Path(__file__).parents[2] / "src" / "trace_budget" / "cli" / "help.txt"


def page() -> str:
    """The help of the whole command line."""
    from typer.testing import CliRunner  # noqa: PLC0415  (after COLUMNS is set)

    from trace_budget.cli import PROGRAM, build  # noqa: PLC0415

    shown = CliRunner().invoke(build(), ["--help"], prog_name=PROGRAM).output
    return "\n".join(line.rstrip() for line in shown.strip("\n").splitlines()) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
