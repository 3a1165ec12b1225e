"""One step in time, before and after on one axis: the whole step, one layer, one call."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import polars as pl

from trace_budget.drawings import axis, rows, shapes
from trace_budget.drawings.plain import PlainRow, Span, plain_rows
from trace_budget.labels import labels
from trace_budget.schema.page import Strip, View
from trace_budget.units import show_us

LANE = 34
BAR = 14
MOST_SPANS = 400


def svg(picture: Strip, width: int = 640, dark: bool | None = True) -> str:
    """A panel for each view; the background of a row is its idle time."""
    parts = rows.head(width, "One step in time", f"{_name(picture, width)} stands out; gaps are idle time")
    top = float(rows.HEAD)
    for view in picture.views:
        scale = axis.Axis(view.from_us, view.to_us, rows.EDGE, width - rows.EDGE)
        parts.append(
            shapes.text(rows.EDGE, top + 14, f"{view.title}, {show_us(view.to_us - view.from_us)} us", "title")
        )
        bottom = top + 22 + LANE * len(picture.rows)
        parts += axis.below(scale, top + 22, bottom, "us since the first op of the step")
        parts += _panel(picture, view, scale, top + 22)
        top = bottom + rows.FOOT
    entries = [("bar", "loss", "marked"), ("bar", "marked", "other work"), ("bar", "grid-fill", "idle")]
    legend, end = rows.key(width, top + 10, entries)
    return shapes.document(width, end, "One step in time", in_words(picture), [*parts, *legend], dark)


def text(picture: Strip, width: int = 80) -> str:
    """The whole step, one line a row, marked work as ▓."""
    end = max(picture.ends_us) or 1.0
    lines = []
    for row, title in enumerate(picture.rows):
        bars = picture.bars.filter(pl.col("row") == row)
        spans = [Span(b / end, (b + w) / end) for b, w in bars.select("start_us", "width_us").rows()]
        hit = bars.filter(pl.col("matched"))["start_us"].to_list()[:MOST_SPANS]
        lines.append(PlainRow(title, f"{show_us(picture.ends_us[row])} us", spans, [(b / end, "▓") for b in hit]))
    return plain_rows("One step in time", lines, width, [], f"▓ {_name(picture, 8 * width)}")


def in_words(picture: Strip) -> str:
    """What the picture says, in words."""
    return "; ".join(f"{title}: {show_us(end)} us" for title, end in zip(picture.rows, picture.ends_us, strict=True))


def _name(picture: Strip, width: int) -> str:
    return labels([picture.highlight], max(int(width / shapes.SMALL_PX) - 40, 16))[0]


def _panel(picture: Strip, view: View, scale: axis.Axis, top: float) -> Iterator[str]:
    for row, title in enumerate(picture.rows):
        y = top + row * LANE + 18
        end = min(picture.ends_us[row], view.to_us)
        if end > view.from_us:
            yield shapes.bar(scale.at(view.from_us), scale.at(end), y, BAR, "grid-fill")
        bars = picture.bars.filter(
            (pl.col("row") == row) & (pl.col("start_us") < view.to_us)
            & (pl.col("start_us") + pl.col("width_us") > view.from_us)
        )  # fmt: skip
        for matched, kind in ((False, "marked"), (True, "loss")):
            drawn = _merged(bars.filter(pl.col("matched") == matched), scale, least=1.0 if matched else 0.25)
            if drawn:
                yield shapes.path("".join(f"M{x:g} {y:g}h{w:g}v{BAR}h-{w:g}z" for x, w in drawn), f"{kind} bars")
        yield shapes.text(rows.EDGE, y - 4, title, "small")


def _merged(bars: pl.DataFrame, scale: axis.Axis, least: float) -> list[tuple[float, float]]:
    """(place, length) in px of what can be distinguished: bars that meet within a quarter of a px are one."""
    if bars.is_empty():
        return []
    ordered = bars.sort("start_us")
    start = ordered["start_us"].to_numpy()
    stop = start + ordered["width_us"].to_numpy()
    per_us = (scale.last - scale.first) / ((scale.high - scale.low) or 1.0)
    first = np.clip(scale.first + (start - scale.low) * per_us, scale.first, scale.last)
    last = np.clip(scale.first + (stop - scale.low) * per_us, scale.first, scale.last)
    last = np.maximum.accumulate(np.maximum(last, first + least))
    begins = np.concatenate(([True], first[1:] > last[:-1] + 0.25))
    ends = np.concatenate((begins[1:], [True]))
    return [(round(a, 2), round(b - a, 2)) for a, b in zip(first[begins].tolist(), last[ends].tolist(), strict=True)]
