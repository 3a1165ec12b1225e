"""The answer for a terminal: styled lines, tables that never exceed the width, caveats worst first."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from rich.console import Console
from rich.text import Text

from trace_budget.contracts import Renderer
from trace_budget.schema.cells import ShownColumn, hidden_rows, shown_columns
from trace_budget.schema.report import Line, Report, Table
from trace_budget.schema.trace import SEVERITIES, Caveat
from trace_budget.text import cells, safe, shortened, wrapped

WIDTH = 80
GAP = 2
NARROWEST_TEXT = 16
NARROWEST_NAME, MOST_NAME = 22, 72
EXAMPLE_WIDTH = 60
STYLES = {"title": "bold", "plain": "", "good": "green", "warn": "yellow", "bad": "bold red", "dim": "dim"}
SEVERITY_STYLES = {"error": "bad", "warning": "warn", "note": "dim"}


@dataclass(frozen=True, slots=True)
class _Column:
    shown: ShownColumn
    width: int
    narrowest: int


def render(report: Report) -> bytes:
    """Plain text for 80 columns: no colour, no terminal codes."""
    return _render(report, WIDTH, colour=False)


def for_screen(width: int, colour: bool) -> Renderer:
    """The same renderer for a terminal of `width` columns, with or without colour."""
    return Renderer("table", RENDERER.suffixes, lambda report: _render(report, width, colour))


def _render(report: Report, width: int, colour: bool) -> bytes:
    buffer = io.StringIO()
    console = Console(
        file=buffer,
        width=width,
        force_terminal=colour,
        color_system="standard" if colour else None,
        highlight=False,
        markup=False,
        emoji=False,
        soft_wrap=True,
        legacy_windows=False,
    )
    blocks: list[Callable[[], None]] = [
        *([lambda: _print_lines(console, report.lines, width)] if report.lines else []),
        *((lambda table=table: _print_table(console, table, width)) for table in report.tables if table.limit != 0),
        *([lambda: _print_lines(console, report.footer, width)] if report.footer else []),
        *([lambda: _print_lines(console, _caveat_lines(report.caveats), width)] if report.caveats else []),
    ]
    for index, block in enumerate(blocks):
        if index:
            console.print()
        block()
    return "".join(line.rstrip() + "\n" for line in buffer.getvalue().splitlines()).encode()


def _print_lines(console: Console, lines: Iterable[Line], width: int) -> None:
    for line in lines:
        console.print(Text(_wrapped(safe(line.text), width), STYLES.get(line.style, "")))


def _wrapped(text: str, width: int) -> str:
    """Longer lines go on below, indented a little more than they began."""
    if cells(text) <= width:
        return text
    indent = " " * (len(text) - len(text.lstrip()) + 2)
    return "\n".join(wrapped(text, width, indent))


def _caveat_lines(caveats: tuple[Caveat, ...]) -> list[Line]:
    ordered = sorted(caveats, key=lambda caveat: -SEVERITIES.index(caveat.severity))
    return [Line("Caveats", "title"), *(_caveat_line(caveat) for caveat in ordered)]


def _caveat_line(caveat: Caveat) -> Line:
    count = f" (x{caveat.count:,})" if caveat.count != 1 else ""
    example = f" (first: {shortened(caveat.example, EXAMPLE_WIDTH)})" if caveat.example else ""
    text = f"  {caveat.severity} {caveat.code}{count}: {caveat.text}{example}"
    return Line(text, SEVERITY_STYLES[caveat.severity])


def _print_table(console: Console, table: Table, width: int) -> None:
    if table.title:
        console.print(Text(_wrapped(safe(table.title), width), STYLES["title"]))
    for index, block in enumerate(_blocks(_columns(table, width), width)):
        if index:
            console.print()
        _print_block(console, block, width)
    if more := hidden_rows(table):
        console.print(Text(f"… {more:,} more rows; --format csv has them all", STYLES["dim"]))


def _columns(table: Table, width: int) -> list[_Column]:
    """The columns at their natural widths; headers break only where the table would not fit."""
    shown = shown_columns(table)
    whole = [_column(column, width, column.title) for column in shown]
    if sum(column.width + GAP for column in whole) - GAP <= width:
        return whole
    return [_column(column, width, *_pieces(column.title)) for column in shown]


def _column(shown: ShownColumn, width: int, *title: str) -> _Column:
    """Numbers are never cut; texts give way down to a readable stump, kernels as far as labels distinguish them."""
    if shown.among is None:
        size = _widest(*title, *shown.cells)
        return _Column(shown, size, size if shown.numeric else min(size, NARROWEST_TEXT))
    size = _widest(*title, *shown.short(MOST_NAME))
    narrow = min(NARROWEST_NAME, width * 2 // 5)
    least = min(_widest(*title, *shown.short(size)) for size in (narrow, 4 * narrow // 3, 5 * narrow // 3))
    return _Column(shown, size, min(size, least))


def _pieces(title: str) -> list[str]:
    """Where a header may break: at spaces and after slashes."""
    return title.replace("/", "/ ").split()


def _widest(*texts: str) -> int:
    return max((cells(text) for text in texts), default=0)


def _blocks(columns: list[_Column], width: int) -> list[list[_Column]]:
    """The columns in as few blocks as fit the width; each block after the first repeats the first column.

    What answers the question stands in the first block.
    """
    lead, *rest = columns
    if sum(column.narrowest + GAP for column in columns) - GAP > width:
        rest = sorted(rest, key=lambda column: not column.shown.answer)
    blocks = [[lead]]
    for column in rest:
        used = sum(other.narrowest + GAP for other in blocks[-1]) + column.narrowest
        if used > width and len(blocks[-1]) > 1:
            blocks.append([lead])
        blocks[-1].append(column)
    return blocks


def _print_block(console: Console, columns: list[_Column], width: int) -> None:
    """Bold header lines, then the rows; numbers to the right, texts to the left."""
    widths = _fitted(columns, width)
    heads = [_header_lines(column.shown.title, size) for column, size in zip(columns, widths, strict=True)]
    height = max(len(head) for head in heads)
    for line in zip(*([""] * (height - len(head)) + head for head in heads), strict=True):
        console.print(Text(_row(line, columns, widths), "bold"))
    bodies = [_cell_lines(column.shown, size) for column, size in zip(columns, widths, strict=True)]
    for cell_lines in zip(*bodies, strict=True):
        for line in zip_longest(*cell_lines, fillvalue=""):
            console.print(Text(_row(line, columns, widths)))


def _header_lines(title: str, width: int) -> list[str]:
    """The title on as few lines as its breaks allow."""
    lines = [""]
    for piece in _pieces(title):
        joint = "" if lines[-1].endswith("/") or not lines[-1] else " "
        longer = lines[-1] + joint + piece
        lines = [*lines[:-1], longer] if cells(longer) <= width or not lines[-1] else [*lines, piece]
    return lines


def _cell_lines(column: ShownColumn, width: int) -> list[list[str]]:
    """Each cell as the lines it takes: prose is wrapped, names are cut so that different ones look different."""
    if column.numeric:
        return [[cell] for cell in column.cells]
    if column.prose:
        return [wrapped(cell, width) or [""] for cell in column.cells]
    return [[cell] for cell in column.short(width)]


def _row(texts: Sequence[str], columns: list[_Column], widths: list[int]) -> str:
    padded = (
        _padded(text, size, column.shown.numeric) for text, column, size in zip(texts, columns, widths, strict=True)
    )
    return (" " * GAP).join(padded).rstrip()


def _padded(text: str, width: int, numeric: bool) -> str:
    gap = " " * (width - cells(text))
    return gap + text if numeric else text + gap


def _fitted(columns: list[_Column], width: int) -> list[int]:
    """Widths that fit: the widest texts shrink first, alike, and numbers keep theirs."""
    room = width - GAP * (len(columns) - 1)
    widths = [min(column.width, max(room, column.narrowest)) for column in columns]
    while sum(widths) > room:
        slack = [size - column.narrowest for size, column in zip(widths, columns, strict=True)]
        if not any(slack):
            break
        widest = max((i for i, free in enumerate(slack) if free), key=lambda i: widths[i])
        widths[widest] -= 1
    return widths


RENDERER = Renderer("table", (".txt",), render)
