"""Kernels by time per step as bars, in front of their cumulative share."""

from __future__ import annotations

from trace_budget.drawings import axis, rows, shapes
from trace_budget.drawings.plain import PlainRow, Span, plain_rows
from trace_budget.drawings.rows import Row
from trace_budget.labels import labels
from trace_budget.schema.page import KernelBars
from trace_budget.units import show_number, show_us

PITCH = 34
BAND = 9
WIDEST = 60


def svg(picture: KernelBars, width: int = 640, dark: bool | None = True) -> str:
    """One row per kernel: name and figures above, bar below, the share of all up to it behind."""
    frame, count = picture.frame, picture.frame.height
    scale = axis.around(frame["us_per_step"].to_list(), rows.EDGE, width - rows.EDGE)
    shade = axis.Axis(0.0, 100.0, rows.EDGE, width - rows.EDGE)
    bottom = rows.row_top(count, PITCH)
    columns = ("kernel", "us_per_step", "pct_of_step", "cumulative_pct", "matched")
    shown = frame.select(columns).rows()
    named = labels(frame["kernel"].to_list(), min(rows.room(width) - 24, WIDEST))
    parts = rows.head(
        width,
        "Where the time of a step goes",
        "the shade is the share of all kernel time up to there",
        "the shade adds up their shares",
    )
    for index, (_, _, _, cumulative, _) in enumerate(shown):
        if cumulative is not None:
            parts.append(shapes.bar(shade.first, shade.at(cumulative), rows.row_top(index, PITCH), PITCH, "grid-fill"))
    parts += axis.below(scale, rows.HEAD, bottom, "us per step")
    for index, (kernel, us, pct, _, matched) in enumerate(shown):
        kind = "loss" if matched else "marked"
        top = rows.row_top(index, PITCH) + 21
        parts.append(
            shapes.bar(scale.at(0.0), scale.at(us), top, BAND, f"{kind} kernel", f"{kernel}: {_figure(us, pct)}")
        )
    parts += rows.labelled(
        width,
        [Row(name, _figure(us, pct), hit) for name, (_, us, pct, _, hit) in zip(named, shown, strict=True)],
        PITCH,
    )
    return shapes.document(
        width, bottom + rows.FOOT + 4, "Where the time of a step goes", in_words(picture), parts, dark
    )


def text(picture: KernelBars, width: int = 80) -> str:
    """The same for a terminal."""
    scale = axis.around(picture.frame["us_per_step"].to_list(), 0.0, 1.0)
    named = labels(picture.frame["kernel"].to_list(), max(width // 2, 16))
    figures = picture.frame.select("us_per_step", "pct_of_step").rows()
    lines = [
        PlainRow(name, _figure(us, pct), [Span(scale.at(0.0), scale.at(us))])
        for name, (us, pct) in zip(named, figures, strict=True)
    ]
    return plain_rows("Where the time of a step goes, us per step", lines, width, [], "")


def in_words(picture: KernelBars) -> str:
    """What the picture says, in words."""
    rows_ = picture.frame.head(10).select("kernel", "us_per_step", "pct_of_step").rows()
    return "; ".join(f"{kernel}: {_figure(us, pct)}" for kernel, us, pct in rows_)


def _figure(us: float, pct: float | None) -> str:
    return f"{show_us(us)} us  {show_number(pct, 2)} %"
