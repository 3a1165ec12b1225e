"""Kernels by time per step as bars, in front of their cumulative share."""

from __future__ import annotations

import polars as pl

from trace_budget.labels import labels
from trace_budget.render.as_html.drawing import (
    ROW,
    WIDE_NAME,
    Drawing,
    Json,
    Names,
    layout,
    row_labels,
    rows_axis,
    title,
    values,
)
from trace_budget.schema.page import KernelBars
from trace_budget.units import show_number, show_us


def draw(bars: KernelBars, names: Names) -> Drawing:
    """One row per kernel: name and figures above, bar below."""
    frame = bars.frame
    data = [_shade(frame), _rows(frame, names)]
    longest = float(frame["us_per_step"].to_numpy().max())
    above: Json = {
        "side": "top", "range": [0, 100], "ticksuffix": " %", "dtick": 20, "showgrid": False, "fixedrange": True,
        **title("cumulative share of kernel time (shade)"),
    }  # fmt: skip
    figure = layout(above, rows_axis(frame.height), barmode="overlay", hovermode="closest", bargap=0, showlegend=False)
    # What overlays is drawn in front: the bars, not their shade.
    figure["xaxis2"] = {
        "overlaying": "x", "side": "bottom", "range": [0, longest * 1.02 or 1], "gridcolor": "@grid",
        "tickmode": "auto",
        "automargin": True, **title("us per step"),
    }  # fmt: skip
    rights = [
        f"{show_us(us)} us  {show_number(pct, 2)} %"
        for us, pct in zip(frame["us_per_step"], frame["pct_of_step"], strict=True)
    ]
    figure["annotations"] = row_labels(labels(frame["kernel"].to_list(), WIDE_NAME), frame["matched"].to_list(), rights)
    figure["margin"] = {"l": 12, "r": 16, "t": 52, "b": 44}
    return Drawing(data, figure, 110 + ROW * frame.height, read=1, axis="xaxis2")


def _shade(frame: pl.DataFrame) -> Json:
    return {
        "type": "bar", "orientation": "h", "x": values(frame["cumulative_pct"], 2), "width": 1, "offset": -0.75,
        "y": list(range(frame.height)), "marker": {"color": "@shade"}, "hoverinfo": "skip", "name": "cumulative",
    }  # fmt: skip


def _rows(frame: pl.DataFrame, names: Names) -> Json:
    facts = zip(*(values(frame[c]) for c in ("pct_of_step", "cumulative_pct", "calls_per_step")), strict=True)
    return {
        "type": "bar", "orientation": "h", "xaxis": "x2", "x": values(frame["us_per_step"]),
        "y": list(range(frame.height)), "width": 0.4,
        "name": "us per step", "text": names.of(frame["kernel"]), "textposition": "none",
        "customdata": [list(row) for row in facts],
        "marker": {"color": ["@marked" if hit else "@other" for hit in frame["matched"]]},
        "hovertemplate": "%{text}<br><b>%{x:,.2f} us a step</b>, %{customdata[2]} call(s)<br>"
        "%{customdata[0]:.2f} % of the step, %{customdata[1]:.1f} % cumulative<extra></extra>",
    }  # fmt: skip
