"""One layer in time: its kernels as numbered bars on their streams, and their names below."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from trace_budget.drawings import axis, rows, shapes
from trace_budget.drawings.plain import PlainRow, Span, plain_rows
from trace_budget.drawings.rows import Row
from trace_budget.labels import labels
from trace_budget.schema.pictures import OneLayer
from trace_budget.units import show_us

LANE = 40
BAR = 26
MOST_NAMES = 24


def svg(picture: OneLayer, width: int = 640, dark: bool | None = True) -> str:
    """The picture as SVG of a width in px."""
    scale = axis.Axis(0.0, picture.end_us or 1.0, rows.EDGE, width - rows.EDGE)
    bottom = rows.HEAD + 6.0 + LANE * len(picture.rows) + (18 * len(picture.rows) if len(picture.rows) > 1 else 0)
    parts = [
        *rows.head(
            width, _title(picture), _under(picture), f"{picture.bars.height} ops in {show_us(picture.end_us)} us"
        ),
        *axis.below(scale, rows.HEAD, bottom, "us since the layer begins"),
        *_bars(picture, scale),
    ]
    listed, end = _list(picture, width, bottom + rows.FOOT)
    return shapes.document(width, end, _title(picture), in_words(picture), [*parts, *listed], dark)


def text(picture: OneLayer, width: int = 80) -> str:
    """The same for a terminal: one line a kernel, where in the layer it runs."""
    kernels = picture.kernels.head(MOST_NAMES)
    named = labels(kernels["kernel"].to_list(), max(width // 2 - 4, 16), picture.among)
    end = picture.end_us or 1.0
    lines = []
    for name, (kernel, calls, us) in zip(named, kernels.select("kernel", "calls", "us").rows(), strict=True):
        spans = [
            Span(start / end, (start + long) / end)
            for start, long in picture.bars.filter(pl.col("kernel") == kernel).select("start_us", "us").rows()
        ]
        lines.append(PlainRow(name, _figure(calls, us), spans))
    return plain_rows(f"{_title(picture)}: {_under(picture)}", lines, width, [], _more(picture))


def in_words(picture: OneLayer) -> str:
    """What the picture says, in words."""
    shown = picture.kernels.head(MOST_NAMES).select("kernel", "calls", "us").rows()
    return "; ".join(f"{kernel}: {_figure(calls, us)}" for kernel, calls, us in shown)


def _title(picture: OneLayer) -> str:
    return f"Layer {picture.layer} of {picture.layers}, step {picture.step}"


def _under(picture: OneLayer) -> str:
    return f"{picture.bars.height} ops in {show_us(picture.end_us)} us, as measured; gaps are idle time"


def _more(picture: OneLayer) -> str:
    left = picture.kernels.height - MOST_NAMES
    return f"{left} more kernels are not named" if left > 0 else ""


def _figure(calls: int, us: float) -> str:
    return f"{show_us(us)} us" if calls == 1 else f"{calls} calls, {show_us(us)} us"


def _bars(picture: OneLayer, scale: axis.Axis) -> Iterator[str]:
    several = len(picture.rows) > 1
    for row, title in enumerate(picture.rows):
        if several:
            yield shapes.text(rows.EDGE, _top(row, several) - 4, title, "small")
    columns = ("row", "start_us", "us", "kernel", "number", "matched")
    for row, start, us, kernel, number, matched in picture.bars.select(columns).rows():
        begin, end = scale.at(start), scale.at(start + us)
        kind = "loss" if matched else "marked" if number % 2 else "good"
        top = _top(row, several)
        yield shapes.bar(begin, max(end, begin + 1.0), top, BAR, f"{kind} pale op", f"{kernel}: {show_us(us)} us")
        if end - begin >= 7.5 * len(str(number)) + 3:
            yield shapes.text((begin + end) / 2, top + 18, str(number), "small number", "middle")


def _top(row: int, several: bool) -> float:
    return rows.HEAD + 8.0 + row * LANE + (18.0 * (row + 1) if several else 0.0)


def _list(picture: OneLayer, width: int, top: float) -> tuple[list[str], float]:
    kernels = picture.kernels.head(MOST_NAMES)
    shown = kernels.select("number", "calls", "us", "matched").rows()
    named = labels(kernels["kernel"].to_list(), max(rows.room(width) - 16, 16), picture.among)
    entries = [
        Row(f"{number} {name}", _figure(calls, us), matched)
        for name, (number, calls, us, matched) in zip(named, shown, strict=True)
    ]
    parts, end = rows.listed(width, top, entries)
    if not _more(picture):
        return parts, end
    return [*parts, shapes.text(rows.EDGE, end + 8, _more(picture), "small")], end + 20
