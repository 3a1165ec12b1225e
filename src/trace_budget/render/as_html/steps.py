"""Step times in the order of the trace, with what does not count marked."""

from __future__ import annotations

import polars as pl

from trace_budget.render.as_html.drawing import Drawing, Json, Names, layout, shown, title, values
from trace_budget.schema.page import StepTimes
from trace_budget.units import US_PER_MS, ms_from_us, show_us


def draw(steps: StepTimes, _names: Names) -> Drawing:
    """Dots for counted steps, crosses for those left out, a line at the median."""
    counted, outside = (steps.frame.filter(pl.col("why_out") == ""), steps.frame.filter(pl.col("why_out") != ""))
    first, last = int(steps.frame["step_index"].to_numpy().min()), int(steps.frame["step_index"].to_numpy().max())
    median: Json = {
        "name": f"median {show_us(steps.median_us)} us", "x": [first - 0.5, last + 0.5],
        "y": [ms_from_us(steps.median_us)] * 2,
        "type": "scatter", "mode": "lines", "line": {"color": "@text", "width": 1, "dash": "dash"}, "hoverinfo": "skip",
    }  # fmt: skip
    data = [_dots(counted, "counted", "circle", "@marked"), _dots(outside, "left out", "x", "@target"), median]
    few: Json = {"tickmode": "linear", "dtick": 1} if last - first < 12 else {}
    axis = {**title("step"), "range": [first - 0.5, last + 0.5], **few}
    share = {**title(f"{steps.measure}, ms"), "rangemode": "tozero", "fixedrange": True}
    return Drawing(data, layout(axis, share, hovermode="closest"), 320)


def _dots(rows: pl.DataFrame, name: str, symbol: str, color: str) -> Json:
    labels = [shown(name)[:120] for name in rows["name"].fill_null("").to_list()]
    return {
        "name": name, "x": rows["step_index"].to_list(), "y": values(rows["us"] / US_PER_MS, 6), "type": "scatter",
        "mode": "markers", "marker": {"symbol": symbol, "size": 8, "color": color},
        "text": labels, "customdata": [why or "counted" for why in rows["why_out"].to_list()],
        "hovertemplate": "step %{x}: <b>%{y:,.4f} ms</b>, %{customdata}<br>%{text}<extra></extra>",
    }  # fmt: skip
