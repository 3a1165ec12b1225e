"""Pictures whose rows carry their labels: name on the left, figures on the right, and the row's shapes below both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from trace_budget.drawings import shapes
from trace_budget.text import cells, safe, shortened, wrapped

EDGE = 14
HEAD = 52  # px of title and subtitle
ROW = 44
LIST_ROW = 20
BAND_TOP, BAND = 22, 14  # of a row: where its shapes begin, and how high they are
LEAST = 8  # characters of a name that are always shown
BOLD = 0.92  # of a line, what bold text leaves usable
FOOT = 48  # px of the axis


@dataclass(frozen=True, slots=True)
class Row:
    """What stands above the shapes of a row."""

    left: str
    right: str
    strong: bool = False


def row_top(index: int, pitch: float = ROW, first: float = HEAD) -> float:
    """Where a row begins; `pitch` px from the last, the first one at `first`."""
    return first + index * pitch


def band_top(index: int) -> float:
    """Where the shapes of a row begin."""
    return row_top(index) + BAND_TOP


def room(width: int, beside: str = "") -> int:
    """Characters that fit on a line of the picture, beside others."""
    return max(int((width - 2 * EDGE) / shapes.CHAR_PX) - (len(beside) + 2 if beside else 0), LEAST)


def fitted(entries: Sequence[Row], width: int) -> list[str]:
    """The names of rows, each cut to fit beside its figure; less is cut where two would become one."""
    cut = [_fitted(entry, width) for entry in entries]
    if len(set(cut)) == len({entry.left for entry in entries}):
        return cut
    return [shortened(entry.left, room(width, entry.right)) for entry in entries]


def _fitted(row: Row, width: int) -> str:
    """The name of a row, cut by how wide its letters are: capitals, digits and bold are wide."""
    size = room(width, row.right)
    left = (width - 2 * EDGE) * (BOLD if row.strong else 1) - shapes.width_px(row.right) - shapes.CHAR_PX
    while size > LEAST and shapes.width_px(shortened(row.left, size)) > left:
        size -= 1
    return shortened(row.left, size)


def labelled(width: int, rows: Sequence[Row], pitch: float = ROW, first: float = HEAD) -> list[str]:
    """The labels of all rows; names give way to figures."""
    parts = []
    for index, (row, name) in enumerate(zip(rows, fitted(rows, width), strict=True)):
        y = row_top(index, pitch, first) + 15
        kind = "title" if row.strong else ""
        parts.append(shapes.text(EDGE, y, name, kind))
        parts.append(shapes.text(width - EDGE, y, row.right, kind, "end"))
    return parts


def head(width: int, title: str, *under: str) -> list[str]:
    """The title of the picture and one line under it: the first of `under` that fits, else the last one cut."""
    size = int((width - 2 * EDGE) / shapes.SMALL_PX)
    line = next((each for each in under if cells(safe(each)) <= size), under[-1])
    return [
        shapes.text(EDGE, 21, shortened(title, int(room(width) * 0.9)), "title"),
        shapes.text(EDGE, 41, shortened(line, size), "small"),
    ]


def listed(width: int, top: float, entries: Sequence[Row]) -> tuple[list[str], float]:
    """Lines of names and figures, names cut where both do not fit; and where they end."""
    parts = []
    for place, (entry, name) in enumerate(zip(entries, fitted(entries, width), strict=True), 1):
        y, kind = top + LIST_ROW * place, "title" if entry.strong else ""
        parts += [
            shapes.text(EDGE, y, name, kind),
            shapes.text(width - EDGE, y, entry.right, kind, "end"),
        ]
    return parts, top + LIST_ROW * len(entries) + 12


def key(width: int, top: float, entries: Sequence[tuple[str, str, str]]) -> tuple[list[str], float]:
    """What shapes mean, (shape, class, words) each, on as many lines as they take; and where it ends."""
    parts: list[str] = []
    x, y = float(EDGE), top
    for shape, kind, words in entries:
        long = 30 + len(words) * shapes.SMALL_PX + 16
        if x > EDGE and x + long > width:
            x, y = float(EDGE), y + 20
        parts += [_sample(shape, kind, x, y), shapes.text(x + 30, y + 4, words, "small")]
        x += long
    return parts, y + 16


def _sample(shape: str, kind: str, x: float, y: float) -> str:
    if shape == "dot":
        return shapes.dot(x + 12, y, 5, kind)
    if shape == "upright":
        return shapes.upright(x + 12, y - 7, y + 7, kind)
    return shapes.bar(x, x + 24, y - 6, 12, kind) if shape == "bar" else shapes.level(y, x, x + 24, kind)


def lines(width: int, top: float, texts: Sequence[str]) -> tuple[list[str], float]:
    """Lines of small text, wrapped to the width; and where they end."""
    size = int((width - 2 * EDGE) / shapes.SMALL_PX)
    split = [line for one in texts for line in wrapped(safe(one), size, "  ")]
    parts = [shapes.text(EDGE, top + 12 + 17 * index, line, "small") for index, line in enumerate(split)]
    return parts, top + 17 * len(split) + 8
