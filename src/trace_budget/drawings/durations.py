"""Durations of single calls on a logarithmic axis: the marked calls above, all others below."""

from __future__ import annotations

from collections.abc import Iterator

from trace_budget.drawings import axis, rows, shapes
from trace_budget.drawings.plain import PlainRow, Span, plain_rows
from trace_budget.labels import labels
from trace_budget.schema.page import Histogram
from trace_budget.units import show_count, show_us

PANEL = 120
LEFT = 52
KINDS = ("target line dash", "text line", "good line dots")


def svg(picture: Histogram, width: int = 640, dark: bool | None = True) -> str:
    """Two histograms over one axis."""
    across = axis.LogAxis(*_ends(picture), LEFT, width - rows.EDGE)
    name = labels([picture.matched], max(rows.room(width) - 12, 16))[0]
    parts = rows.head(width, "How long single calls take", f"{name} above, other kernels below")
    top = rows.HEAD + 10.0
    for column, kind in (("matched", "loss"), ("others", "marked")):
        parts += _panel(picture, across, top, column, kind)
        top += PANEL + 24
    bottom = top - 24
    for us in across.ticks():
        parts.append(shapes.text(across.at(us), bottom + 17, axis.shown(us), "small tick", "middle"))
    parts.append(
        shapes.text((across.first + across.last) / 2, bottom + 37, "duration of a call, us", "small", "middle")
    )
    known = [mark for mark in picture.marks if mark.us > 0]
    for place, mark in enumerate(known):
        parts.append(shapes.upright(across.at(mark.us), rows.HEAD + 10, bottom, KINDS[place % len(KINDS)]))
    entries = [
        ("bar", "loss", "marked"), ("bar", "marked", "others"),
        *(("upright", KINDS[p % len(KINDS)], f"{m.title}: {show_us(m.us)} us") for p, m in enumerate(known)),
    ]  # fmt: skip
    legend, end = rows.key(width, bottom + rows.FOOT + 12, entries)
    return shapes.document(width, end, "How long single calls take", in_words(picture), [*parts, *legend], dark)


def text(picture: Histogram, width: int = 80) -> str:
    """One line a bin that is not empty, marked calls solid."""
    filled = [row for row in picture.bins.select("low_us", "high_us", "matched", "others").rows() if row[2] or row[3]]
    scale = axis.around([max(row[2], row[3]) for row in filled], 0.0, 1.0)
    lines = [
        PlainRow(
            f"{show_us(low)} to {show_us(high)} us",
            f"{show_count(matched)} / {show_count(others)}",
            [Span(scale.at(0.0), scale.at(others), solid=False), Span(scale.at(0.0), scale.at(matched))],
        )
        for low, high, matched, others in filled
    ]
    return plain_rows("How long single calls take", lines, width, [], "█ marked calls  ░ others")


def in_words(picture: Histogram) -> str:
    """What the picture says, in words."""
    return "; ".join(f"{mark.title}: {show_us(mark.us)} us" for mark in picture.marks)


def _ends(picture: Histogram) -> tuple[float, float]:
    return float(picture.bins["low_us"][0]), float(picture.bins["high_us"][-1])


def _panel(picture: Histogram, across: axis.LogAxis, top: float, column: str, kind: str) -> Iterator[str]:
    most = max(int(picture.bins[column].to_numpy().max()), 1)
    up = axis.Axis(0.0, float(most), top + PANEL, top)
    for us in across.ticks():
        yield shapes.upright(across.at(us), top, top + PANEL, "grid")
    for count in (0, most):
        yield shapes.level(up.at(count), LEFT, across.last, "grid")
        yield shapes.text(LEFT - 6, up.at(count) + 4, show_count(count), "small", "end")
    for low, high, count in picture.bins.select("low_us", "high_us", column).rows():
        if count:
            words = f"{show_us(low)} to {show_us(high)} us: {show_count(count)} calls"
            y = min(up.at(count), top + PANEL - 1)
            yield shapes.bar(across.at(low) + 0.5, across.at(high) - 0.5, y, top + PANEL - y, f"{kind} bin", words)
