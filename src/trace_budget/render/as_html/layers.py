"""The layer x kernel map: a row of cells per call site, coloured by time."""

from __future__ import annotations

import math

import numpy as np

from trace_budget.labels import labels
from trace_budget.render.as_html.drawing import ROW, WIDE_NAME, Drawing, Json, Names, layout, row_labels, rows_axis
from trace_budget.schema.page import LayerMap
from trace_budget.units import show_number

# The library puts the title of this axis between the ticks; as a text of its own it stands below them.
TITLE: Json = {
    "text": "layer", "x": 0.5, "xref": "paper", "y": 0, "yref": "paper", "yanchor": "top", "yshift": -24,
    "showarrow": False, "font": {"size": 14},
}  # fmt: skip
SCALE = [[0, "@heat-low"], [0.5, "@heat-middle"], [1, "@heat-high"]]


def draw(layers: LayerMap, names: Names) -> Drawing:
    """Time per layer on a logarithmic colour scale; a missing cell says that the layer does not run the call site."""
    sites = layers.sites.height
    us, calls = (np.full((sites, layers.layers), np.nan) for _ in range(2))
    place = (layers.cells["site"].to_numpy(), layers.cells["layer_index"].to_numpy())
    us[place], calls[place] = layers.cells["us"].to_numpy(), layers.cells["calls"].to_numpy()
    hover = names.of(layers.sites["kernel"])
    data: list[Json] = [
        {
            "type": "heatmap", "z": _plain(np.log10(np.maximum(us, 1e-3))), "x": list(range(layers.layers)),
            "y": list(range(sites)), "xgap": 1, "ygap": 16, "colorscale": SCALE, "hoverongaps": False,
            "text": {"rows": hover, "length": layers.layers}, "customdata": _pairs(us, calls), "colorbar": _bar(us),
            "hovertemplate": "%{text}<br>layer %{x}: <b>%{customdata[0]:,.2f} us</b>, %{customdata[1]} call(s)"
            "<extra></extra>",
        }
    ]  # fmt: skip
    axis = {"showgrid": False, "zeroline": False, "range": [-0.5, layers.layers - 0.5], "rangemode": "tozero"}
    figure = layout(axis, rows_axis(sites), hovermode="closest")
    hit = layers.sites["matched"].to_list()
    labels = [f"{position}  {kernel}" for position, kernel in zip(*_named(layers), strict=True)]
    rights = [f"{count} of {layers.layers}" for count in layers.sites["layers_hit"]]
    figure["annotations"] = [*row_labels(labels, hit, rights), TITLE]
    figure["margin"] = {"l": 12, "r": 16, "t": 48, "b": 48}
    return Drawing(data, figure, 120 + ROW * sites)


def _named(layers: LayerMap) -> tuple[list[int], list[str]]:
    return layers.sites["position"].to_list(), labels(layers.sites["kernel"].to_list(), WIDE_NAME)


def _plain(grid: np.ndarray) -> list[list[float | None]]:
    return [[None if math.isnan(v) else round(v, 4) for v in row] for row in grid.tolist()]


def _pairs(us: np.ndarray, calls: np.ndarray) -> list[list[list[float | None]]]:
    return [[list(pair) for pair in zip(*rows, strict=True)] for rows in zip(_plain(us), _plain(calls), strict=True)]


def _bar(us: np.ndarray) -> Json:
    """A colour bar above the map, with ticks at 1, 2, 5 x 10^n us."""
    known = us[~np.isnan(us)]
    low, high = float(np.log10(max(known.min(), 1e-3))), float(np.log10(max(known.max(), 1e-3)))
    steps = [m * 10.0**e for e in range(math.floor(low) - 1, math.ceil(high) + 1) for m in (1, 2, 5)]
    ticks = [t for t in steps if low <= math.log10(t) <= high] or [10**high]
    return {
        "orientation": "h", "x": 0, "xanchor": "left", "y": 1, "yanchor": "bottom", "ypad": 6, "thickness": 10,
        "len": 0.6,
        "title": {"text": "us in a layer", "side": "top", "font": {"size": 11}}, "tickfont": {"size": 11},
        "outlinewidth": 0,
        "tickvals": [round(math.log10(t), 4) for t in ticks],
        "ticktext": [show_number(t, 0 if t >= 1 else -math.floor(math.log10(t))) for t in ticks],
    }  # fmt: skip
