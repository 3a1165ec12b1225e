"""Candidates one after the other, what they share, and what they save together."""

from __future__ import annotations

from collections.abc import Iterator

from trace_budget.drawings import axis, rows, shapes
from trace_budget.drawings.plain import PlainRow, Span, plain_rows
from trace_budget.drawings.rows import Row
from trace_budget.schema.page import Waterfall
from trace_budget.units import show_pct, show_us

REMAINDER, TOGETHER = "difference to the sum", "all together"
Bar = tuple[str, float, float, str]


def svg(picture: Waterfall, width: int = 640, dark: bool | None = True) -> str:
    """Each candidate starts where the one above ended; the remainder goes back to what all save at once."""
    bars = _bars(picture)
    scale = _scale(bars, rows.EDGE, width - rows.EDGE)
    bottom = rows.row_top(len(bars))
    parts = [
        *rows.head(width, "Candidates together", f"of a token of {show_us(picture.token_us)} us"),
        *axis.below(scale, rows.HEAD, bottom, "us saved a token"),
        *_drawn(bars, scale),
        *rows.labelled(width, [Row(name, _figure(picture, b, e), name == TOGETHER) for name, b, e, _ in bars]),
    ]
    entries = [
        ("bar", "loss pale", "one alone"),
        ("bar", "target pale", "savings do not add"),
        ("bar", "marked", "all"),
    ]
    legend, end = rows.key(width, bottom + rows.FOOT + 12, entries)
    return shapes.document(width, end, "Candidates together", in_words(picture), [*parts, *legend], dark)


def text(picture: Waterfall, width: int = 80) -> str:
    """The same for a terminal."""
    bars = _bars(picture)
    scale = _scale(bars, 0.0, 1.0)
    lines = [
        PlainRow(name, _figure(picture, b, e), [Span(scale.at(b), scale.at(e), name == TOGETHER)])
        for name, b, e, _ in bars
    ]
    return plain_rows("Candidates together, us a token", lines, width, [], "")


def in_words(picture: Waterfall) -> str:
    """What the picture says, in words."""
    return "; ".join(f"{name}: {_figure(picture, begin, end)}" for name, begin, end, _ in _bars(picture))


def _bars(picture: Waterfall) -> list[Bar]:
    out, at = [], 0.0
    for name, us in picture.frame.select("candidate", "expected_us").rows():
        out.append((name, at, at + us, "loss pale"))
        at += us
    if picture.remainder_us:
        out.append((REMAINDER, at, at + picture.remainder_us, "target pale"))
    return [*out, (TOGETHER, 0.0, picture.together_us, "marked")]


def _scale(bars: list[Bar], first: float, last: float) -> axis.Axis:
    return axis.around([end for _, begin, stop, _ in bars for end in (begin, stop)], first, last)


def _figure(picture: Waterfall, begin: float, end: float) -> str:
    return f"{show_us(end - begin)} us = {show_pct(100 * (end - begin) / picture.token_us)}"


def _drawn(bars: list[Bar], scale: axis.Axis) -> Iterator[str]:
    for index, (name, begin, end, kind) in enumerate(bars):
        top = rows.band_top(index)
        yield shapes.bar(scale.at(begin), scale.at(end), top, rows.BAND, f"{kind} stage", name)
        if index + 1 < len(bars):
            yield shapes.upright(scale.at(end), top, rows.band_top(index + 1), "muted grid")
