"""Candidates of a ranking as ranges on one axis, beside the target and the noise of an A/B."""

from __future__ import annotations

import math

from trace_budget.drawings import axis, rows, shapes
from trace_budget.drawings.plain import PlainRow, Span, plain_rows
from trace_budget.drawings.rows import Row
from trace_budget.schema.band import Band
from trace_budget.schema.pictures import Forest
from trace_budget.units import show_pct

TOGETHER = "all together"
MOST_ROWS = 40
Ranged = tuple[str, Band, str]


def svg(picture: Forest, width: int = 640, dark: bool | None = True) -> str:
    """The picture as SVG of a width in px."""
    ranged = _rows(picture)
    scale = _scale(picture, rows.EDGE, width - rows.EDGE)
    bottom = rows.row_top(len(ranged))
    parts = [
        *rows.head(width, "What each candidate is worth", _under(picture)),
        *_noise(picture, scale, bottom),
        *axis.below(scale, rows.HEAD, bottom, "% of a token", " %"),
        shapes.upright(scale.at(picture.target_pct), rows.HEAD, bottom, "target line dash"),
        *rows.labelled(width, [Row(name, figure(band, word), name == TOGETHER) for name, band, word in ranged]),
    ]
    for index, (name, band, word) in enumerate(ranged):
        parts += _range(scale, index, band, f"{name}: {figure(band, word)}")
    entries = [
        ("dot", "marked", "expected"), ("line", "marked line", "low to high"),
        ("upright", "target line dash", f"wanted: {show_pct(picture.target_pct)}"),
        ("bar", "noise area", f"noise of an A/B: below {show_pct(picture.mde_pct)}"),
    ]  # fmt: skip
    legend, end = rows.key(width, bottom + rows.FOOT + 12, entries)
    return shapes.document(
        width, end, "Candidates: range, target and noise", in_words(picture), [*parts, *legend], dark
    )


def text(picture: Forest, width: int = 80) -> str:
    """The same for a terminal."""
    scale = _scale(picture, 0.0, 1.0)
    lines = [
        PlainRow(
            name,
            f"{show_pct(band.expected)} {word}",
            [Span(scale.at(band.low), scale.at(band.high), solid=False)],
            [(scale.at(band.expected), "●")],
        )
        for name, band, word in _rows(picture)
    ]
    marks = [(scale.at(picture.target_pct), "|"), (scale.at(picture.mde_pct), ":")]
    foot = f"● expected  ░ low to high  | wanted: {show_pct(picture.target_pct)}  : noise: {show_pct(picture.mde_pct)}"
    return plain_rows("What each candidate is worth, % of a token", lines, width, marks, foot)


def in_words(picture: Forest) -> str:
    """What the picture says, in words."""
    return "; ".join(f"{name}: {figure(band, word)}" for name, band, word in _rows(picture))


def figure(band: Band, word: str) -> str:
    """Expected value, range where there is one, and the verdict."""
    low, high = show_pct(band.low), show_pct(band.high)
    spread = f" ({low} to {high})" if low != high else ""
    return f"{show_pct(band.expected)}{spread} {word}".rstrip()


def _rows(picture: Forest) -> list[Ranged]:
    columns = ("candidate", "low_pct", "expected_pct", "high_pct", "verdict")
    ranged = [
        (name, Band(low, expected, high), verdict)
        for name, low, expected, high, verdict in picture.frame.select(columns).head(MOST_ROWS).rows()
    ]
    return ranged if picture.together is None else [*ranged, (TOGETHER, picture.together, "")]


def _under(picture: Forest) -> str:
    more = picture.frame.height - MOST_ROWS
    return "the range of each alone, expected and wanted" + (f"; {more} more are not shown" if more > 0 else "")


def _scale(picture: Forest, first: float, last: float) -> axis.Axis:
    values = [end for _, band, _ in _rows(picture) for end in band.ends]
    noise = [picture.mde_pct] if picture.mde_pct <= 4 * max(*values, picture.target_pct) else []
    return axis.around([*values, picture.target_pct, *noise], first, last)


def _noise(picture: Forest, scale: axis.Axis, bottom: float) -> list[str]:
    if not math.isfinite(picture.mde_pct) or picture.mde_pct <= 0:
        return []
    begin, end = scale.at(0.0), scale.at(picture.mde_pct)
    return [shapes.bar(begin, end, rows.HEAD, bottom - rows.HEAD, "noise area")]


def _range(scale: axis.Axis, index: int, band: Band, words: str) -> list[str]:
    middle = rows.band_top(index) + rows.BAND / 2
    low, high = scale.at(band.low), scale.at(band.high)
    ends = [shapes.upright(x, middle - 6, middle + 6, "marked line") for x in (low, high)] if band.width else []
    return [
        shapes.level(middle, low, high, "marked line range"),
        *ends,
        shapes.dot(scale.at(band.expected), middle, 5, "marked expected", words),
    ]
