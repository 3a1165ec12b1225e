"""What a picture becomes: the traces and layout of one Plotly figure as plain JSON, with three conventions of ours.

Below a key that ends in `color`, `@name` stands for the style sheet's colour `--name`, so that a figure follows the
light and the dark scheme. `{"wide": a, "narrow": b}` is one or the other by the room there is. `{"names": [0, 4]}` is
the list of those kernel names, each of which the page holds once.
"""

from __future__ import annotations

import html
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field

import polars as pl

from trace_budget.text import cut_distinct, safe, shortened

Json = dict[str, object]
WIDE_NAME, NARROW_NAME, LEGEND_NAME = 96, 23, 40
HOVER_WIDTH, HOVER_LINES = 60, 8
LEGEND = {
    "orientation": "h", "x": 0, "xanchor": "left", "y": 1, "yref": "container", "yanchor": "top",
    "traceorder": "normal", "font": {"size": 11},
}  # fmt: skip
HOVER = {"align": "left", "bgcolor": "@raised", "bordercolor": "@grid", "font": {"color": "@text", "size": 12}}
ROW = 34  # px of a row that carries its label above it


@dataclass(frozen=True, slots=True)
class Drawing:
    """One figure: Plotly's `data` and `layout`, the height in px, and ranges of x worth a button.

    `read` is the trace whose points the arrow keys walk along, `axis` the one that is zoomed.
    """

    data: list[Json]
    layout: Json
    height: object
    views: list[Json] = field(default_factory=list)
    read: int = 0
    axis: str = "xaxis"

    def as_json(self) -> Json:
        """The figure as the page's script takes it."""
        return {
            "data": self.data, "layout": self.layout, "height": self.height, "views": self.views, "read": self.read,
            "axis": self.axis,
        }  # fmt: skip


class Names:
    """Kernel names as the page holds them: each once, made safe and wrapped for a hover label."""

    def __init__(self) -> None:
        self._place: dict[str, int] = {}

    def of(self, kernels: pl.Series) -> Json:
        """The reference to these names."""
        place = self._place
        return {"names": [place.setdefault(name, len(place)) for name in kernels.cast(pl.String).to_list()]}

    def listed(self) -> list[str]:
        """All names in the order of their numbers."""
        return [wrapped(name) for name in self._place]


def shown(text: str) -> str:
    """Text from a trace for Plotly, which reads tags and entities in every label."""
    return html.escape(safe(text), quote=False)


def wrapped(name: str) -> str:
    """A name over several lines, cut in the middle when it takes too many."""
    text = shortened(name, HOVER_WIDTH * HOVER_LINES)
    lines = textwrap.wrap(text, HOVER_WIDTH, break_on_hyphens=False, drop_whitespace=False)
    return "<br>".join(html.escape(line, quote=False) for line in lines)


def values(series: pl.Series, digits: int = 4) -> list[object]:
    """Numbers as the page holds them: rounded, unknown ones null."""
    return series.cast(pl.Float64).fill_nan(None).round(digits).to_list()


def layout(x: Json, y: Json, **more: object) -> Json:
    """The layout every figure starts from: colours of the scheme, legend below, little margin."""
    axis: Json = {"gridcolor": "@grid", "zerolinecolor": "@grid", "linecolor": "@grid", "automargin": True}
    return {
        "font": {"family": "system-ui, sans-serif", "size": 12, "color": "@text"},
        "paper_bgcolor": "@paper", "plot_bgcolor": "@paper",
        "margin": {"l": 56, "r": 16, "t": 4, "b": 44},
        "legend": LEGEND, "hoverlabel": HOVER,
        "dragmode": {"wide": "zoom", "narrow": False},
        "xaxis": {**axis, **x}, "yaxis": {**axis, **y}, **more,
    }  # fmt: skip


def title(text: str) -> Json:
    """An axis title."""
    return {"title": {"text": text, "standoff": 12}}


def row_labels(names: Sequence[str], marked: Sequence[bool], rights: Sequence[str] = ()) -> list[Json]:
    """A label above each row: the name cut in the middle on the left, a figure on the right; marked ones stand out."""
    wide, narrow = (
        cut_distinct([safe(n) for n in names], WIDE_NAME),
        cut_distinct([safe(n) for n in names], NARROW_NAME),
    )
    lefts = [
        _label(row, {"wide": _told(wide[row], hit), "narrow": _told(narrow[row], hit)}, 0, "left", hit)
        for row, hit in enumerate(marked)
    ]
    return lefts + [_label(row, text, 1, "right", marked[row]) for row, text in enumerate(rights)]


def _told(text: str, hit: bool) -> str:
    escaped = html.escape(text, quote=False)
    return f"<b>{escaped}</b>" if hit else escaped


def _label(row: int, text: object, x: float, anchor: str, hit: bool) -> Json:
    return {
        "text": text, "x": x, "xref": "paper", "xanchor": anchor, "y": row - 0.5, "yref": "y", "yanchor": "middle",
        "showarrow": False, "font": {"size": 11, "color": "@marked" if hit else "@text"}, "align": anchor,
    }  # fmt: skip


def rows_axis(count: int) -> Json:
    """The y axis of a figure whose rows carry labels: first row on top, room for its label, nothing beside it."""
    return {"range": [count - 0.5, -0.9], "visible": False, "fixedrange": True}
