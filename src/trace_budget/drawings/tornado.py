"""What each assumption moves the answer by, around what is expected; most first."""

from __future__ import annotations

from trace_budget.drawings import axis, rows, shapes
from trace_budget.drawings.plain import PlainRow, Span, plain_rows
from trace_budget.drawings.rows import Row
from trace_budget.labels import labels
from trace_budget.schema.pictures import Swing, Tornado
from trace_budget.text import wrapped
from trace_budget.units import show_pct

SAME_PCT = 1e-9


def svg(picture: Tornado, width: int = 640, dark: bool | None = True) -> str:
    """The picture as SVG of a width in px."""
    moving = [swing for swing in picture.swings if _moves(swing)]
    scale = _scale(picture, rows.EDGE, width - rows.EDGE)
    bottom = rows.row_top(len(moving))
    middle = scale.at(picture.expected_pct)
    parts = [
        *rows.head(
            width,
            f"What is assumed: {_name(picture, rows.room(width) - 20)}",
            _under(picture),
            "projected again at both ends of each",
        ),
        *axis.below(scale, rows.HEAD, bottom, "expected % of a token", " %"),
        shapes.upright(scale.at(picture.target_pct), rows.HEAD, bottom, "target line dash"),
    ]
    for index, swing in enumerate(moving):
        top, words = rows.band_top(index), f"{_title(swing)}: {_figure(swing)}; {swing.ends}"
        for end in (swing.low_pct, swing.high_pct):
            kind = "loss" if end < picture.expected_pct else "good"
            parts.append(shapes.bar(middle, scale.at(end), top, rows.BAND, f"{kind} pale swing", words))
    parts.append(shapes.upright(middle, rows.HEAD, bottom, "marked line"))
    parts += rows.labelled(width, [Row(_title(swing), _figure(swing)) for swing in moving])
    entries = [
        ("upright", "marked line", f"expected: {show_pct(picture.expected_pct)}"),
        ("upright", "target line dash", f"wanted: {show_pct(picture.target_pct)}"),
    ]
    legend, end_px = rows.key(width, bottom + rows.FOOT + 12, entries)
    ends, end_px = rows.lines(width, end_px + 4, [_told_ends(swing) for swing in picture.swings])
    return shapes.document(
        width, end_px, f"Assumptions: {picture.kernel}", in_words(picture), [*parts, *legend, *ends], dark
    )


def text(picture: Tornado, width: int = 80) -> str:
    """The same for a terminal."""
    moving = [swing for swing in picture.swings if _moves(swing)]
    scale = _scale(picture, 0.0, 1.0)
    drawn = [
        PlainRow(_title(swing), _figure(swing), [Span(scale.at(swing.low_pct), scale.at(swing.high_pct), solid=False)])
        for swing in moving
    ]
    marks = [(scale.at(picture.expected_pct), "●"), (scale.at(picture.target_pct), "|")]
    ends = [line for swing in picture.swings for line in wrapped(_told_ends(swing), width, "  ")]
    foot = f"● expected: {show_pct(picture.expected_pct)}  | wanted: {show_pct(picture.target_pct)}"
    title = f"What is assumed: {_name(picture, width - 18)}"
    return "\n".join([plain_rows(title, drawn, width, marks, foot), *ends])


def in_words(picture: Tornado) -> str:
    """What the picture says, in words."""
    return "; ".join(f"{_title(swing)}: {_figure(swing)} ({swing.ends})" for swing in picture.swings)


def _moves(swing: Swing) -> bool:
    return swing.high_pct - swing.low_pct > SAME_PCT


def _title(swing: Swing) -> str:
    return f"{swing.question} {swing.title}".strip()


def _told_ends(swing: Swing) -> str:
    return f"{_title(swing)}{'' if _moves(swing) else ' moves nothing'}: {swing.ends}"


def _figure(swing: Swing) -> str:
    return f"{show_pct(swing.low_pct)} to {show_pct(swing.high_pct)}" if _moves(swing) else show_pct(swing.low_pct)


def _name(picture: Tornado, size: int) -> str:
    return labels([picture.kernel], max(size, 12), picture.among)[0]


def _under(picture: Tornado) -> str:
    return f"what each assumption makes of {show_pct(picture.expected_pct)}, projected at its two ends"


def _scale(picture: Tornado, first: float, last: float) -> axis.Axis:
    ends = [end for swing in picture.swings for end in (swing.low_pct, swing.high_pct)]
    return axis.around([*ends, picture.expected_pct, picture.target_pct], first, last)
