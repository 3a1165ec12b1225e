"""Rows of bars as text for terminals: a name, its bar on a shared axis, and the figures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from trace_budget.text import cells, safe, shortened

EIGHTHS = " ▏▎▍▌▋▊▉█"
LEAST_BARS, LEAST_NAME = 12, 10


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of the axis in shares of it (0 to 1); `solid` ones are what is left, others a range or a loss."""

    first: float
    last: float
    solid: bool = True


@dataclass(frozen=True, slots=True)
class PlainRow:
    """One line: a name, what is drawn on the axis, single marks at places, and the figures."""

    name: str
    figure: str
    spans: Sequence[Span]
    marks: Sequence[tuple[float, str]] = ()


def plain_rows(title: str, rows: Sequence[PlainRow], width: int, lines: Sequence[tuple[float, str]], foot: str) -> str:
    """A title, the rows, and a foot; `lines` are marks that stand on every row where nothing else is drawn."""
    figures = max((cells(row.figure) for row in rows), default=0)
    widest = max((cells(safe(row.name)) for row in rows), default=0)
    names = max(min(widest, width - figures - 2 - max(width // 3, LEAST_BARS)), LEAST_NAME)
    size = max(width - names - figures - 2, LEAST_BARS)
    out = [safe(title)]
    for row in rows:
        label = shortened(row.name, names)
        drawn = _drawn(row, size, lines)
        gap = " " * (figures - cells(row.figure))
        out.append(f"{label}{' ' * (names - cells(label))} {drawn} {gap}{row.figure}".rstrip())
    return "\n".join([*out, *([foot] if foot else [])])


def _drawn(row: PlainRow, size: int, lines: Sequence[tuple[float, str]]) -> str:
    columns = [" "] * size
    for span in row.spans:
        begin, end = sorted((span.first * size, span.last * size))
        for place in range(int(begin), min(int(end) + 1, size)):
            covered = min(end, place + 1) - max(begin, place)
            if covered > 1e-9:
                columns[place] = _column(covered, begin > place, span.solid)
    for share, mark in lines:
        place = min(int(share * size), size - 1)
        columns[place] = mark if columns[place] == " " else columns[place]
    for share, mark in row.marks:
        columns[min(int(share * size), size - 1)] = mark
    return "".join(columns)


def _column(covered: float, begins: bool, solid: bool) -> str:
    """One column of a bar; the last one ends within it, by eighths."""
    if not solid:
        return "░"
    return "█" if begins else EIGHTHS[max(round(covered * 8), 1)]
