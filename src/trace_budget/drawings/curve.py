"""What every saving per call is worth: the expected share inside its bounds, beside target, ceiling and noise."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from trace_budget.drawings import axis, rows, shapes
from trace_budget.drawings.plain import PlainRow, Span, plain_rows
from trace_budget.labels import labels
from trace_budget.schema.page import Curve
from trace_budget.text import shortened
from trace_budget.units import show_pct, show_us

MOST_LINES = 17
HEIGHT = 300
LEFT = 58
DIAMOND = "m0-7l7 7l-7 7l-7-7z"


def svg(picture: Curve, width: int = 640, dark: bool | None = True) -> str:
    """The picture as SVG of a width in px."""
    across, up = scales(picture, width)
    title = shortened(picture.kernel, int(rows.room(width) * 0.9))
    legend, end = rows.key(width, up.first + rows.FOOT + 12, _entries(picture))
    parts = [*rows.head(width, title, *_under(picture)), *_axes(across, up), *_areas(picture, across, up)]
    return shapes.document(
        width, end, picture.kernel, in_words(picture), [*parts, *_lines(picture, across, up), *legend], dark
    )


def text(picture: Curve, width: int = 80) -> str:
    """One line for each saving per call, with the expected share and the range."""
    points = picture.points.select("saving_us", "low_pct", "expected_pct", "high_pct").rows()
    values = [value for row in points for value in row[1:]]
    scale = axis.around([*values, picture.target_pct], 0.0, 1.0)
    kept = points[:: max(1, -(-len(points) // MOST_LINES))]
    drawn = [
        PlainRow(
            f"{show_us(us)} us",
            show_pct(expected),
            [Span(scale.at(low), scale.at(high), solid=False), Span(scale.at(0.0), scale.at(expected))],
        )
        for us, low, expected, high in kept
    ]
    name = labels([picture.kernel], max(width - 24, 12))[0]
    foot = f"█ expected  ░ low to high  | wanted: {show_pct(picture.target_pct)} of {show_us(picture.token_us)} us"
    return plain_rows(f"{name}: saved a call", drawn, width, [(scale.at(picture.target_pct), "|")], foot)


def in_words(picture: Curve) -> str:
    """What the picture says, in words."""
    ends = picture.points.select("saving_us", "expected_pct").rows()
    line = (
        f"Expected: from {show_pct(ends[0][1])} at 0 us to {show_pct(ends[-1][1])} at {show_us(ends[-1][0])} us a call."
    )
    levels = f"Target {show_pct(picture.target_pct)}, ceiling {show_pct(picture.ceiling_pct)}{_partial(picture)}."
    return f"{_candidate(picture)}. {line} {levels}"


def scales(picture: Curve, width: int = 640) -> tuple[axis.Axis, axis.Axis]:
    """The axes: us saved a call across, % of the token up, with room for all that is drawn."""
    shown = [0.0, picture.target_pct, picture.ceiling_pct, picture.mde_pct if math.isfinite(picture.mde_pct) else 0.0]
    for column in ("low_pct", "high_pct"):
        shown += picture.points[column].to_list()
    shown += [picture.stated.low_pct, picture.stated.high_pct] if picture.stated else []
    low, high = min(shown), max(shown)
    full_us = max(picture.full_us, picture.stated.saving_us if picture.stated else 0.0) or 1.0
    top = rows.HEAD + 8.0
    return (
        axis.Axis(0.0, full_us, LEFT, width - rows.EDGE - 6),
        axis.Axis(low, high + 0.05 * (high - low or 1.0), top + HEIGHT, top),
    )


def _partial(picture: Curve) -> str:
    return "" if picture.complete else " (the file is PARTIAL)"


def _candidate(picture: Curve) -> str:
    """The candidate's place in words."""
    at = picture.stated
    if at is None:
        return "what a saving per call is worth"
    low, high = show_pct(at.low_pct), show_pct(at.high_pct)
    return f"{show_us(at.saving_us)} us saved a call: {show_pct(at.expected_pct)} ({low} to {high})"


def _under(picture: Curve) -> tuple[str, ...]:
    """The same in fewer and fewer words."""
    full = f"{_candidate(picture)} of {show_us(picture.token_us)} us{_partial(picture)}"
    if picture.stated is None:
        return (full, _candidate(picture))
    brief = f"{show_us(picture.stated.saving_us)} us a call: {show_pct(picture.stated.expected_pct)}{_partial(picture)}"
    return full, f"{_candidate(picture)}{_partial(picture)}", brief


def _axes(across: axis.Axis, up: axis.Axis) -> Iterator[str]:
    for pct in axis.ticks(up.low, up.high, 6):
        y = up.at(pct)
        yield shapes.level(y, across.first, across.last, "grid")
        yield shapes.text(LEFT - 6, y + 4, f"{axis.shown(pct)} %", "small", "end")
    yield from axis.below(across, up.last, up.first, "us saved per call")


def _areas(picture: Curve, across: axis.Axis, up: axis.Axis) -> Iterator[str]:
    noise = min(picture.mde_pct, up.high)
    yield shapes.bar(across.first, across.last, up.at(noise), up.at(0.0) - up.at(noise), "noise area")
    us = picture.points["saving_us"].to_list()
    low, high = picture.points["low_pct"].to_list(), picture.points["high_pct"].to_list()
    around = _through([*us, *reversed(us)], [*high, *reversed(low)], across, up)
    yield f'<polygon points="{around}" class="marked area"/>'


def _lines(picture: Curve, across: axis.Axis, up: axis.Axis) -> Iterator[str]:
    us = picture.points["saving_us"].to_list()
    yield shapes.level(up.at(picture.ceiling_pct), across.first, across.last, "good line dash")
    yield shapes.level(up.at(picture.target_pct), across.first, across.last, "target line dash")
    for column, kind in (("naive_pct", "muted line dots"), ("expected_pct", "marked line")):
        yield f'<polyline points="{_through(us, picture.points[column].to_list(), across, up)}" class="{kind}"/>'
    for knee in picture.knees:
        yield shapes.path(f"M{across.at(knee.saving_us):.2f} {up.at(knee.expected_pct):.2f}{DIAMOND}", "text line")
    at = picture.stated
    if at:
        x = across.at(at.saving_us)
        yield shapes.upright(x, up.at(at.low_pct), up.at(at.high_pct), "loss line")
        yield shapes.dot(x, up.at(at.expected_pct), 6, "loss candidate", _candidate(picture))


def _through(us: Sequence[float], pct: Sequence[float], across: axis.Axis, up: axis.Axis) -> str:
    return " ".join(f"{across.at(u):.2f},{up.at(p):.2f}" for u, p in zip(us, pct, strict=True))


def _entries(picture: Curve) -> list[tuple[str, str, str]]:
    """What the lines mean."""
    return [
        ("line", "marked line", "expected"), ("bar", "marked area", "low to high"),
        ("line", "muted line dots", "product on paper"),
        ("line", "target line dash", f"wanted: {show_pct(picture.target_pct)}"),
        ("line", "good line dash", f"ceiling: {show_pct(picture.ceiling_pct)}"),
        ("bar", "noise area", f"noise: {picture.runs} runs see {show_pct(picture.mde_pct)}"),
        *([("line", "text line", "knee: another path takes over")] if picture.knees else []),
        *([("dot", "loss", "the candidate")] if picture.stated else []),
    ]  # fmt: skip
