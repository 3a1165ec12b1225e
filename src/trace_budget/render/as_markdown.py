"""GitHub-flavoured Markdown that survives being pasted in a PR and reads well as plain text too."""

from __future__ import annotations

import re
from collections.abc import Iterable

from trace_budget.contracts import Renderer
from trace_budget.schema.cells import ShownColumn, hidden_rows, shown_columns
from trace_budget.schema.report import Line, Report, Table
from trace_budget.schema.trace import SEVERITIES, Caveat
from trace_budget.text import cells, safe

NAME_WIDTH = 64
_MARKS = re.compile(r"[\\`*_<>\[\]~#|&]")
# what becomes a link or calls somebody although it holds no mark
_LINKS = re.compile(r"@|://|www\.")


def render(report: Report) -> bytes:
    """Headings for title lines, fenced text for other lines, pipe tables, a list of caveats; UTF-8."""
    blocks = [
        *_lines(report.lines),
        *(_table(table) for table in report.tables if table.limit != 0),
        *_lines(report.footer),
        *_caveats(report.caveats),
    ]
    return "\n\n".join(blocks).encode() + b"\n"


def _lines(lines: Iterable[Line]) -> list[str]:
    """Title lines become headings; what stands between them keeps its alignment in a fenced block."""
    blocks: list[str] = []
    plain: list[str] = []
    for line in lines:
        if line.style != "title":
            plain.append(safe(line.text))
            continue
        blocks += [*_fenced(plain), f"### {_escaped(safe(line.text))}"]
        plain = []
    return blocks + _fenced(plain)


def _fenced(lines: list[str]) -> list[str]:
    text = "\n".join(lines).strip("\n")
    if not text:
        return []
    fence = "`" * max(3, _longest_run(text, "`") + 1)
    return [f"{fence}text\n{text}\n{fence}"]


def _longest_run(text: str, char: str) -> int:
    return max((len(run) for run in re.findall(f"{re.escape(char)}+", text)), default=0)


def _table(table: Table) -> str:
    columns = [_column(column) for column in shown_columns(table)]
    rows = ["| " + " | ".join(row) + " |" for row in zip(*columns, strict=True)]
    more = hidden_rows(table)
    tail = [f"\n{more} more rows; `--format csv` has them all."] if more else []
    title = [f"**{_escaped(safe(table.title))}**\n"] if table.title else []
    return "\n".join([*title, *rows, *tail])


def _column(column: ShownColumn) -> list[str]:
    """Header, ruler and cells of one column, padded to one width so that the source lines up as well."""
    header = _escaped(column.title)
    texts = [_escaped(value) for value in column.cells] if column.prose else _names(column)
    width = max(3, *(cells(text) for text in (header, *texts)))
    ruler = "-" * (width - 1) + ":" if column.numeric else ":" + "-" * (width - 1)
    head, *body = (_padded(text, width, column.numeric) for text in (header, *texts))
    return [head, ruler, *body]


def _padded(text: str, width: int, numeric: bool) -> str:
    gap = " " * (width - cells(text))
    return gap + text if numeric else text + gap


def _names(column: ShownColumn) -> list[str]:
    """Cells that are no prose: as code, all of them, where one of them holds marks or would become a link."""
    if column.numeric:
        return column.cells
    names = column.short(NAME_WIDTH)
    return [_code(name) for name in names] if any(_read(name) for name in names) else names


def _read(name: str) -> bool:
    """Whether Markdown would read the text as more than text."""
    return _MARKS.search(name) is not None or _LINKS.search(name) is not None


def _code(text: str) -> str:
    """A code span, in which only the pipe needs escaping inside a table."""
    ticks = "`" * (_longest_run(text, "`") + 1)
    space = " " if "`" in text else ""
    return f"{ticks}{space}{text}{space}{ticks}".replace("|", "\\|")


def _escaped(text: str) -> str:
    return _MARKS.sub(lambda found: "\\" + found.group(), text)


def _caveats(caveats: tuple[Caveat, ...]) -> list[str]:
    """Worst first; one block, so that the list stays one list."""
    ordered = sorted(caveats, key=lambda caveat: -SEVERITIES.index(caveat.severity))
    rows = [f"- {c.severity} `{c.code}` (x{c.count:,}): {_escaped(safe(c.text))}" for c in ordered]
    return ["**Caveats**\n\n" + "\n".join(rows)] if rows else []


RENDERER = Renderer("markdown", (".md", ".markdown"), render)
