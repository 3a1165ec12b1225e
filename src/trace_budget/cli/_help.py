"""What `COMMAND --help` shows: the options most used first, the others by name; `--help-all` explains every one."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

import typer
from typer.core import TyperCommand

ALL = "--help-all"
MOST_USED = (
    "kernel", "saving_us", "new_us", "baseline_us", "bench", "target_pct", "token_ms", "hit_rate", "limit",
    "candidates", "glob", "steps", "phase", "plot", "layers", "output", "format",
)  # fmt: skip
MOST_SHOWN = 8
FEW = 12  # options that are all explained at once
PLAIN_WIDTH, MOST_WIDTH, LEAST_WIDTH = 80, 100, 50
INDENT = "  "


class ShortHelp(TyperCommand):
    """A command whose help fits two screens."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the short help."""
        formatter.write("\n".join(_lines(self, ctx)) + "\n")

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Print the whole help where it is asked for, and end."""
        given = args[: args.index("--")] if "--" in args else args
        if ALL in given:
            super().format_help(ctx, ctx.make_formatter())
            raise typer.Exit
        return super().parse_args(ctx, args)


def _wrapped(text: str, width: int, initial_indent: str = "", subsequent_indent: str = "") -> list[str]:
    """The text on lines; no option is broken at its hyphens."""
    return textwrap.wrap(
        text, width, initial_indent=initial_indent, subsequent_indent=subsequent_indent, break_on_hyphens=False
    )


def _lines(command: Any, ctx: Any) -> Iterator[str]:
    width = min(max(shutil.get_terminal_size((PLAIN_WIDTH, 24)).columns, LEAST_WIDTH), MOST_WIDTH)
    options = [each for each in command.params if each.param_type_name == "option" and each.name != "help"]
    arguments = [each for each in command.params if each.param_type_name == "argument"]
    first = _first(options)
    usage = " ".join(["Usage:", ctx.command_path, "[OPTIONS]", *(each.metavar or "" for each in arguments)])
    yield from _wrapped(usage, width, subsequent_indent=INDENT)
    for paragraph in (command.help or "").split("\n\n"):
        yield ""
        yield from _wrapped(" ".join(paragraph.split()), width)
    yield ""
    yield from _explained([(each.metavar or "", each.help or "") for each in arguments], width)
    yield from _explained([(_spelled(each), each.help or "") for each in first], width)
    yield from _named([each for each in options if each not in first], ctx.command_path, width)
    if command.epilog:
        title, *examples = [line for line in command.epilog.splitlines() if line.strip()]
        yield ""
        yield title
        for example in examples:
            yield from _wrapped(example, width, initial_indent=INDENT, subsequent_indent=INDENT * 3)


def _first(options: Sequence[Any]) -> list[Any]:
    """The options that are explained: all of few, else those that are needed and those most used."""
    if len(options) <= FEW:
        return list(options)
    known = {each.name: each for each in options}
    needed = [each for each in options if each.required]
    usual = [known[name] for name in MOST_USED if name in known and known[name] not in needed]
    return [*needed, *usual][:MOST_SHOWN]


def _spelled(option: Any) -> str:
    short = [each for each in option.opts if not each.startswith("--")]
    long = [each for each in (*option.opts, *option.secondary_opts) if each.startswith("--")]
    return " ".join([", ".join([*short, *long]), *([option.metavar] if option.metavar else [])])


def _explained(rows: Sequence[tuple[str, str]], width: int) -> Iterator[str]:
    """Names on the left, what they say on the right."""
    left = min(max((len(name) for name, _ in rows), default=0), width // 3) + len(INDENT) + 2
    for name, text in rows:
        head = f"{INDENT}{name}"
        said = _wrapped(text, width - left) or [""]
        if len(head) > left - 2:
            yield head
            head = ""
        yield f"{head:<{left}}{said[0]}".rstrip()
        yield from (" " * left + line for line in said[1:])


def _named(options: Sequence[Any], path: str, width: int) -> Iterator[str]:
    """The other options under their headings."""
    if not options:
        return
    panels: dict[str, list[str]] = {}
    for each in options:
        panels.setdefault(each.rich_help_panel or "Options", []).append(each.opts[0])
    left = max(map(len, panels)) + len(INDENT) + 2
    yield ""
    yield f"More ({path} {ALL} explains them)"
    for panel, names in panels.items():
        lines = _wrapped(" ".join(names), width - left)
        yield f"{INDENT + panel:<{left}}{lines[0]}"
        yield from (" " * left + line for line in lines[1:])
