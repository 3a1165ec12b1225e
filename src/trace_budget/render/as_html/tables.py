"""The parts of the page that are text and tables; everything is escaped here."""

from __future__ import annotations

import html

from trace_budget.schema.cells import ShownColumn, hidden_rows, shown_columns
from trace_budget.schema.page import Page
from trace_budget.schema.report import Line, Table
from trace_budget.schema.trace import SEVERITIES, Caveat
from trace_budget.text import cut_middle, safe

NAME_WIDTH = 88
TITLE_WIDTH = 100


def text(value: str) -> str:
    """Untrusted text as HTML: markup escaped, what could steer a terminal or hide text replaced."""
    return html.escape(safe(value))


def head(page: Page) -> str:
    """The answer in words: title, verdict first, then the arithmetic and the tables."""
    answer = page.answer
    titles = [line.text for line in answer.lines if line.style == "title"]
    name = safe(titles[0] if titles else page.title)
    short = cut_middle(name, TITLE_WIDTH)
    whole = [f'<p class="dim name">{html.escape(name)}</p>'] if short != name else []
    verdict = [_line(line) for line in answer.footer]
    facts = [_line(line) for line in answer.lines if line.style != "title"]
    shown = [table(each) for each in answer.tables if each.limit != 0]
    return "\n".join([f"<h1>{html.escape(short)}</h1>", *verdict, *facts, *shown, *whole])


def navigation(page: Page) -> str:
    """Links to the figures."""
    return "\n".join(f'<li><a href="#{text(f.key)}">{text(f.title)}</a></li>' for f in page.figures)


def tail(page: Page) -> str:
    """Caveats, worst first, and the notes on method."""
    ordered = sorted(page.answer.caveats, key=lambda caveat: -SEVERITIES.index(caveat.severity))
    caveats = (
        "\n".join(_caveat(caveat) for caveat in ordered) or "<li>None: nothing in the trace speaks against it.</li>"
    )
    notes = "\n".join(f"<li>{text(line.text)}</li>" for line in page.notes)
    return (
        f'<section id="caveats"><h2>Caveats</h2>\n<ul>\n{caveats}\n</ul></section>\n'
        f'<section id="method"><h2>How the figures were come by</h2>\n<ul>\n{notes}\n</ul></section>'
    )


def _line(line: Line) -> str:
    return f'<p class="{text(line.style)}">{text(line.text)}</p>'


def _caveat(caveat: Caveat) -> str:
    count = f" ({caveat.count:,} times)" if caveat.count != 1 else ""
    first = f' <span class="dim">First: {text(caveat.example)}</span>' if caveat.example else ""
    kind = text(caveat.severity)
    html = f"<b>{kind}</b> <code>{text(caveat.code)}</code>{count}: {text(caveat.text)}{first}"
    return f'<li class="{kind}">{html}</li>'


def table(shown: Table) -> str:
    """A table that scrolls by itself where it is too wide; names are cut in the middle, with the whole on hover."""
    columns = shown_columns(shown)
    heads = "".join(f'<th scope="col"{_kind(c)}>{html.escape(c.title)}</th>' for c in columns)
    cells = [_cells(column) for column in columns]
    rows = "\n".join(f"<tr>{''.join(row)}</tr>" for row in zip(*cells, strict=True))
    caption = f"<caption>{text(shown.title)}</caption>" if shown.title else ""
    more = hidden_rows(shown)
    rest = f'<p class="dim">{more:,} more rows are not shown here.</p>' if more else ""
    name = text(shown.title or shown.name)
    look = ' class="wordy"' if any(column.prose for column in columns) else ""
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{name}"><table{look}>{caption}'
        f"<thead><tr>{heads}</tr></thead><tbody>\n{rows}\n</tbody></table></div>{rest}\n"
    )


def _kind(column: ShownColumn) -> str:
    return ' class="number"' if column.numeric else ' class="prose"' if column.prose else ""


def _cells(column: ShownColumn) -> list[str]:
    if column.numeric or column.prose:
        return [f"<td{_kind(column)}>{html.escape(cell)}</td>" for cell in column.cells]
    short = column.short(NAME_WIDTH)
    return [_named(cut, full) for cut, full in zip(short, column.cells, strict=True)]


def _named(cut: str, full: str) -> str:
    hover = f' title="{html.escape(full)}"' if cut != full else ""
    return f"<td{hover}>{html.escape(cut)}</td>"
