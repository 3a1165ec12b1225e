"""The sensitivity curve: band, expected line, what to reach, and where the candidate stands."""

from __future__ import annotations

from trace_budget.render.as_html.drawing import Drawing, Json, Names, layout, title, values
from trace_budget.schema.page import Curve, Stated
from trace_budget.units import show_pct, show_us


def draw(curve: Curve, _names: Names) -> Drawing:
    """Saved us per call against % of the token."""
    x = values(curve.points["saving_us"])
    data: list[Json] = [
        {
            "name": f"noise: an A/B of {curve.runs} runs sees nothing below {show_pct(curve.mde_pct)}",
            "x": [0, curve.full_us], "y": [curve.mde_pct] * 2, "fill": "tozeroy", "fillcolor": "@noise", **_plain(0),
        },
        {"x": x, "y": values(curve.points["low_pct"]), "showlegend": False, **_plain(0)},
        {
            "name": "low to high bound", "x": x, "y": values(curve.points["high_pct"]), "fill": "tonexty",
            "fillcolor": "@band", **_plain(0),
        },
        {"name": "naive product", "x": x, "y": values(curve.points["naive_pct"]), **_plain(1, "@muted", "dot")},
        _expected(curve, x),
        _level(curve, curve.target_pct, f"target {show_pct(curve.target_pct)}", "@target", "dash"),
        _level(curve, curve.ceiling_pct, f"ceiling {show_pct(curve.ceiling_pct)}: it is free", "@ceiling", "longdash"),
    ]  # fmt: skip
    if curve.knees:
        data.append(_knees(curve))
    if curve.stated:
        data.append(_stated(curve.stated))
    furthest = max(curve.full_us, curve.stated.saving_us * 1.02 if curve.stated else 0.0)
    axes = {**title("saved per call, us"), "range": [0, furthest]}
    share = {**title("saved, % of the token"), "ticksuffix": " %", "rangemode": "tozero"}
    return Drawing(data, layout(axes, share, hovermode="closest"), {"wide": 480, "narrow": 560}, read=4)


def _plain(width: float, color: str = "@marked", dash: str = "solid") -> Json:
    """A line that is only looked at."""
    return {
        "type": "scatter",
        "mode": "lines",
        "hoverinfo": "skip",
        "line": {"width": width, "color": color, "dash": dash},
    }


def _expected(curve: Curve, x: list[object]) -> Json:
    bounds = zip(*(values(curve.points[c]) for c in ("low_pct", "high_pct", "expected_us_per_step")), strict=True)
    return {
        "name": "expected", "x": x, "y": values(curve.points["expected_pct"]), "type": "scatter",
        "mode": "lines+markers",
        "line": {"width": 2.5, "color": "@marked"}, "marker": {"size": 5, "color": "@marked"},
        "customdata": [list(row) for row in bounds],
        "hovertemplate": "%{x:.3f} us a call: expected <b>%{y:.3f} %</b><br>low %{customdata[0]:.3f} %, "
        "high %{customdata[1]:.3f} %<br>%{customdata[2]:,.2f} us a step<extra></extra>",
    }  # fmt: skip


def _level(curve: Curve, pct: float, name: str, color: str, dash: str) -> Json:
    return {"name": name, "x": [0, curve.full_us], "y": [pct, pct], **_plain(1.5, color, dash)}


def _knees(curve: Curve) -> Json:
    return {
        "name": "knee: something else takes over", "x": [k.saving_us for k in curve.knees],
        "y": [k.expected_pct for k in curve.knees], "type": "scatter", "mode": "markers",
        "marker": {"symbol": "diamond-open", "size": 12, "line": {"width": 2}, "color": "@text"},
        "hovertemplate": "knee at %{x:.3f} us a call, %{y:.3f} %<extra></extra>",
    }  # fmt: skip


def _stated(stated: Stated) -> Json:
    return {
        "name": f"the candidate: {show_us(stated.saving_us)} us a call, {show_pct(stated.expected_pct)}",
        "x": [stated.saving_us], "y": [stated.expected_pct], "type": "scatter", "mode": "markers",
        "marker": {"symbol": "circle", "size": 12, "color": "@candidate", "line": {"width": 2, "color": "@paper"}},
        "error_y": {
            "type": "data", "symmetric": False, "array": [stated.high_pct - stated.expected_pct],
            "arrayminus": [stated.expected_pct - stated.low_pct], "color": "@candidate", "thickness": 2,
        },
        "hovertemplate": f"the candidate: %{{x:.3f}} us a call, expected %{{y:.3f}} %<br>low {stated.low_pct:.3f} %, "
        f"high {stated.high_pct:.3f} %<extra></extra>",
    }  # fmt: skip
