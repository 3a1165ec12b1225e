"""Durations of single calls on a logarithmic axis: the marked calls above, all others below."""

from __future__ import annotations

import math

import numpy as np
import polars as pl

from trace_budget.render.as_html.drawing import LEGEND_NAME, Drawing, Json, Names, layout, shown, title
from trace_budget.schema.page import Histogram, Mark
from trace_budget.text import shortened
from trace_budget.units import show_number, show_us

COLOURS = ("@target", "@text", "@candidate")
DASHES = ("dash", "solid", "dot")


def draw(histogram: Histogram, _names: Names) -> Drawing:
    """Two histograms over one axis, which is linear in the logarithm so that bars have equal width."""
    bins = histogram.bins
    name = shown(shortened(histogram.matched, LEGEND_NAME))
    data = [_bars(bins, "matched", name, "@marked", "y"), _bars(bins, "others", "other kernels", "@other", "y2")]
    for place, mark in enumerate(mark for mark in histogram.marks if mark.us > 0):  # 0 has no place on the axis
        data += [_line(mark, place, bins[column], axis) for column, axis in (("matched", "y"), ("others", "y2"))]
    low, high = math.log10(bins["low_us"][0]), math.log10(bins["high_us"][-1])
    ticks, texts = _ticks(low, high)
    axis = {
        **title("duration of a call, us"),
        "range": [low, high],
        "tickvals": ticks,
        "ticktext": texts,
        "anchor": "y2",
    }
    counts = {**title("calls"), "domain": [0.54, 1], "rangemode": "tozero", "fixedrange": True}
    figure = layout(axis, counts, hovermode="closest", bargap=0.05)
    figure["yaxis2"] = {
        **counts,
        "domain": [0, 0.46],
        "automargin": True,
        "gridcolor": "@grid",
        "zerolinecolor": "@grid",
    }
    return Drawing(data, figure, 440)


def _bars(bins: pl.DataFrame, column: str, name: str, color: str, axis: str) -> Json:
    edges = np.log10(np.column_stack((bins["low_us"].to_numpy(), bins["high_us"].to_numpy())))
    return {
        "name": name, "type": "bar", "x": edges.mean(axis=1).round(4).tolist(), "y": bins[column].to_list(),
        "yaxis": axis,
        "marker": {"color": color},
        "customdata": [[show_us(low), show_us(high)] for low, high in bins.select("low_us", "high_us").rows()],
        "hovertemplate": "%{customdata[0]} to %{customdata[1]} us: <b>%{y:,} call(s)</b><extra></extra>",
    }  # fmt: skip


def _line(mark: Mark, place: int, counts: pl.Series, axis: str) -> Json:
    """A vertical line as high as the bars; named once."""
    top = max(int(counts.to_numpy().max()), 1)
    x = math.log10(mark.us)
    look = {"color": COLOURS[place % len(COLOURS)], "dash": DASHES[place % len(DASHES)], "width": 1.5}
    return {
        "name": f"{mark.title} {show_us(mark.us)} us", "type": "scatter", "mode": "lines", "x": [x, x], "y": [0, top],
        "yaxis": axis, "line": look, "hoverinfo": "skip", "showlegend": axis == "y",
    }  # fmt: skip


def _ticks(low: float, high: float) -> tuple[list[float], list[str]]:
    """Ticks at 1, 2, 5 x 10^n us, at powers of ten only over a wide range."""
    factors = (1, 2, 5) if high - low <= 2 else (1,)
    us = [m * 10.0**e for e in range(math.floor(low), math.ceil(high) + 1) for m in factors]
    inside = [t for t in us if low - 0.01 <= math.log10(t) <= high + 0.01]
    texts = [show_number(t, 0 if t >= 1 else -math.floor(math.log10(t))) for t in inside]
    return [round(math.log10(t), 4) for t in inside], texts
