"""One step in time: a row of bars per state and stream on one axis."""

from __future__ import annotations

import polars as pl

from trace_budget.render.as_html.drawing import (
    LEGEND_NAME,
    ROW,
    Drawing,
    Json,
    Names,
    layout,
    row_labels,
    rows_axis,
    shown,
    title,
    values,
)
from trace_budget.schema.page import Strip
from trace_budget.text import shortened


def draw(strip: Strip, names: Names) -> Drawing:
    """Bars over time; the background of a row is its idle time."""
    rows, highlight = len(strip.rows), shown(shortened(strip.highlight, LEGEND_NAME))
    idle: Json = {
        "name": "idle", "x": list(strip.ends_us), "y": list(range(rows)), "hoverinfo": "skip", "type": "bar",
        "orientation": "h", "width": 0.5, "marker": {"color": "@idle"},
    }  # fmt: skip
    data = [
        idle,
        _bars(strip.bars.filter(~pl.col("matched")), "other kernels and copies", "@other", 0, names),
        _bars(strip.bars.filter(pl.col("matched")), highlight, "@marked", 1, names),
    ]
    end = max(strip.ends_us)
    axis = {**title("since the first op of the step, us"), "range": [0, end], "minallowed": 0, "maxallowed": end}
    figure = layout(axis, rows_axis(rows), barmode="overlay", hovermode="closest", bargap=0)
    figure["annotations"] = row_labels(strip.rows, [False] * rows)
    figure["margin"] = {"l": 12, "r": 16, "t": 16, "b": 44}
    views: list[Json] = [{"title": v.title, "range": [v.from_us, v.to_us]} for v in strip.views]
    return Drawing(data, figure, 130 + (ROW + 14) * rows, views, read=2)


def _bars(bars: pl.DataFrame, name: str, color: str, outline: int, names: Names) -> Json:
    return {
        "name": name, "type": "bar", "orientation": "h", "width": 0.5, "y": bars["row"].to_list(),
        "base": values(bars["start_us"], 3), "x": values(bars["width_us"], 3), "text": names.of(bars["kernel"]),
        "textposition": "none", "customdata": bars["ops"].to_list(),
        "marker": {"color": color, "line": {"width": outline, "color": color}},
        "hovertemplate": "%{text}<br>from %{base:,.2f} us, <b>%{value:,.2f} us</b>, %{customdata} op(s)<extra></extra>",
    }  # fmt: skip
