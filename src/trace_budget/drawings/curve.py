"""What every saving per call is worth, in characters."""

from __future__ import annotations

from trace_budget.drawings import axis
from trace_budget.drawings.plain import PlainRow, Span, plain_rows
from trace_budget.labels import labels
from trace_budget.schema.page import Curve
from trace_budget.units import show_pct, show_us

MOST_LINES = 17


def text(picture: Curve, width: int = 80) -> str:
    """One line for each saving per call, with the expected share and the range."""
    points = picture.points.select("saving_us", "low_pct", "expected_pct", "high_pct").rows()
    values = [value for row in points for value in row[1:]]
    scale = axis.around([*values, picture.target_pct], 0.0, 1.0)
    kept = points[:: max(1, -(-len(points) // MOST_LINES))]
    rows = [
        PlainRow(
            f"{show_us(us)} us",
            show_pct(expected),
            [Span(scale.at(low), scale.at(high), solid=False), Span(scale.at(0.0), scale.at(expected))],
        )
        for us, low, expected, high in kept
    ]
    name = labels([picture.kernel], max(width - 24, 12))[0]
    foot = f"█ expected  ░ low to high  | wanted: {show_pct(picture.target_pct)} of {show_us(picture.token_us)} us"
    return plain_rows(f"{name}: saved a call", rows, width, [(scale.at(picture.target_pct), "|")], foot)
