"""Candidates one after the other, what they share, and what they save together."""

from __future__ import annotations

import numpy as np
import polars as pl

from trace_budget.render.as_html.drawing import ROW, Drawing, Json, Names, layout, row_labels, rows_axis, title, values
from trace_budget.schema.page import Waterfall
from trace_budget.units import show_pct, show_us

LAST = ("difference to the sum", "all together")


def draw(waterfall: Waterfall, names: Names) -> Drawing:
    """Each candidate starts where the one above ended; the remainder goes back to what all save at once."""
    frame = waterfall.frame
    alone = frame["expected_us"].to_numpy()
    ends = np.cumsum(alone)
    labels = [*frame["candidate"].to_list(), *LAST]
    bases = [*(ends - alone).tolist(), float(ends[-1]), 0.0]
    lengths = [*alone.tolist(), waterfall.remainder_us, waterfall.together_us]
    tips = [*bases, *(base + length for base, length in zip(bases, lengths, strict=True))]
    bars: Json = {
        "type": "bar", "orientation": "h", "y": list(range(len(labels))), "width": 0.4,
        "base": [round(b, 4) for b in bases],
        "x": [round(v, 4) for v in lengths], "text": names.of(pl.Series(labels, dtype=pl.String)),
        "textposition": "none",
        "name": "expected", "customdata": _ranges(waterfall), "marker": _looks(frame["measured"].to_list()),
        "hovertemplate": "%{text}<br><b>%{customdata[0]} us a token</b>, %{customdata[1]}<extra></extra>",
    }  # fmt: skip
    axis = {**title("saved per token, us"), "range": [min(tips), max(tips) * 1.02 or 1]}
    figure = layout(axis, rows_axis(len(labels)), hovermode="closest", bargap=0, showlegend=False)
    rights = [f"{show_us(v)} us  {show_pct(100 * v / waterfall.token_us)}" for v in lengths]
    figure["annotations"] = row_labels(labels, [False] * frame.height + [False, True], rights)
    figure["margin"] = {"l": 12, "r": 16, "t": 24, "b": 44}
    return Drawing([bars], figure, 90 + ROW * len(labels))


def _looks(measured: list[bool]) -> Json:
    """Hatched where projected, solid where measured."""
    hatches = ["" if m else "/" for m in measured]
    colors = ["@candidate" for _ in measured]
    return {
        "color": [*colors, "@target", "@marked"],
        "pattern": {"shape": [*hatches, "x", "/"], "fillmode": "overlay", "solidity": 0.25},
    }


def _ranges(waterfall: Waterfall) -> list[list[object]]:
    rows = zip(*(values(waterfall.frame[c], 2) for c in ("expected_us", "low_us", "high_us")), strict=True)
    told: list[list[object]] = [[expected, f"low {low}, high {high}"] for expected, low, high in rows]
    return [
        *told,
        [round(waterfall.remainder_us, 2), "savings do not add"],
        [round(waterfall.together_us, 2), "expected"],
    ]
