"""Writes docs/cli.md from the command line itself: `python docs/make/cli_page.py`."""

from __future__ import annotations

import inspect
from pathlib import Path

from trace_budget import cli, questions
from trace_budget.cli._command import fields_of
from trace_budget.cli._signature import NEEDED, signature_of
from trace_budget.schema.option import Argument, Option

PAGE = Path(__file__).parents[1] / "cli.md"
INTRO = """# Command line

Written by `docs/make/cli_page.py` from the program's own help; do not edit by hand.

`trace-budget COMMAND --help` explains the options most used and names the others, `--help-all` explains all of them.
Data goes to stdout, everything else to stderr; an output file is never overwritten without `--force` and never left
half-written. `--format` wins over the suffix of `-o`, which wins over `table`. Defaults for several options can stand
in `trace-budget.toml` or in `[tool.trace-budget]` of `pyproject.toml` in the working directory: `target_pct`,
`noise_pct`, `runs`, `dilution`, `token_ms`, `tokens_per_step`, and `step_patterns` (a list of regular expressions).
An option given on the command line wins."""
EXIT_CODES = """## Exit codes

| code | meaning |
| ---: | :--- |
| 0 | it ran, whatever the verdict |
| 1 | a bug: please report the traceback, with the output of `trace-budget doctor` |
| 2 | usage: an option is missing, contradicts another, or has a value that makes no sense |
| 3 | an input cannot be read, is of no known format, is empty or ambiguous |
| 4 | the trace lacks what was asked for: the kernel, the steps, the layers |
| 5 | the output cannot or will not be written |
| 10 | a gate was missed (`--fail-unless`, `--fail-below`) |
| 130, 143, 141 | interrupted (Ctrl-C), terminated, or the reader of the pipe left |

`check` with several files goes on past one it cannot read, lists it, and ends with 3.
"""


def page() -> str:
    """The whole page as Markdown."""
    rows = [f"| [`{name}`](#{name}) | {_doc(name).splitlines()[0]} |" for name in cli.NAMES]
    overview = "\n".join(["| command | question |", "| :--- | :--- |", *rows])
    return "\n".join([INTRO, overview, "", *(_section(name) for name in cli.NAMES), EXIT_CODES])


def _doc(name: str) -> str:
    return inspect.getdoc(cli.command(name)) or ""


def _section(name: str) -> str:
    fields = fields_of(signature_of(cli.command(name)))
    arguments = "".join(f" {each.info.metavar}" for each in fields if isinstance(each.info, Argument))
    panels = list(dict.fromkeys(each.info.panel for each in fields if isinstance(each.info, Option)))
    shown = sorted((each for each in fields if isinstance(each.info, Option)), key=lambda e: panels.index(e.info.panel))
    options = [_row(each.info, each.default is NEEDED) for each in shown]
    lines = [
        f"## {name}",
        "",
        _doc(name),
        "",
        "```text",
        f"trace-budget {name} [OPTIONS]{arguments}",
        "",
        *questions.examples(name),
        "```",
        "",
    ]
    return "\n".join([*lines, "| | option | meaning |", "| :--- | :--- | :--- |", *options, ""])


def _row(info: Option, needed: bool) -> str:
    usage = f"{', '.join(info.flags)} {info.metavar}".strip().replace("|", "\\|")
    return f"| {info.panel} | `{usage}` | {info.help}{' **Needed.**' if needed else ''} |"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
