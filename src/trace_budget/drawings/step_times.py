"""Step times in the order of the trace, with what does not count marked."""

from __future__ import annotations

from trace_budget.drawings import axis, rows, shapes
from trace_budget.drawings.plain import PlainRow, Span, plain_rows
from trace_budget.errors import OutputError
from trace_budget.schema.page import StepTimes
from trace_budget.units import ms_from_us, show_count, show_number, show_us

HEIGHT = 180
LEFT = 58
MOST_LINES = 30


def svg(picture: StepTimes, width: int = 640, dark: bool | None = True) -> str:
    """Dots for counted steps, crosses for those left out, a line at the median."""
    if picture.frame.height < 2:
        raise OutputError("one step alone makes no picture of many", where="--plot", advice="The table says it all.")
    steps, times = picture.frame["step_index"].to_list(), picture.frame["us"].to_list()
    top = rows.HEAD + 8.0
    bottom = top + HEIGHT
    across = axis.Axis(min(steps) - 0.5, max(steps) + 0.5, LEFT, width - rows.EDGE)
    up = axis.Axis(0.0, ms_from_us(max(times)) * 1.06 or 1.0, bottom, top)
    parts = rows.head(width, "Step after step", f"{picture.measure} of each step in ms; a cross does not count")
    for ms in axis.ticks(0.0, up.high, 4):
        parts += [
            shapes.level(up.at(ms), LEFT, across.last, "grid"),
            shapes.text(LEFT - 6, up.at(ms) + 4, axis.shown(ms), "small", "end"),
        ]
    for step in (each for each in axis.ticks(across.low, across.high, width // 80) if each == int(each)):
        parts.append(shapes.text(across.at(step), bottom + 17, axis.shown(step), "small tick", "middle"))
    parts.append(shapes.text((LEFT + across.last) / 2, bottom + 37, "step", "small", "middle"))
    parts.append(shapes.level(up.at(ms_from_us(picture.median_us)), LEFT, across.last, "text line dash"))
    dots: list[str] = []
    crosses: list[str] = []
    for step, us, why in picture.frame.select("step_index", "us", "why_out").rows():
        x, y = across.at(step), up.at(ms_from_us(us))
        (crosses if why else dots).append(
            f"M{x:.1f} {y:.1f}h0" if not why else f"M{x - 4:.1f} {y - 4:.1f}l8 8m0-8l-8 8"
        )
    parts += [shapes.path("".join(dots), "marked line dotted"), shapes.path("".join(crosses), "target line")]
    entries = [
        ("dot", "marked", "counts"), ("upright", "target line", "left out"),
        ("line", "text line dash", f"median {show_us(picture.median_us)} us"),
    ]  # fmt: skip
    legend, end = rows.key(width, bottom + rows.FOOT + 12, entries)
    return shapes.document(width, end, "Step after step", in_words(picture), [*parts, *legend], dark)


def text(picture: StepTimes, width: int = 80) -> str:
    """One line a step, the first of very many."""
    frame = picture.frame.head(MOST_LINES)
    scale = axis.around(frame["us"].to_list(), 0.0, 1.0)
    lines = [
        PlainRow(f"step {step}{': ' + why if why else ''}", f"{show_us(us)} us", [Span(0.0, scale.at(us), not why)])
        for step, us, why in frame.select("step_index", "us", "why_out").rows()
    ]
    more = picture.frame.height - frame.height
    foot = "█ counts  ░ left out  | median" + (f"; {show_count(more)} more steps" if more else "")
    return plain_rows("Step after step", lines, width, [(scale.at(picture.median_us), "|")], foot)


def in_words(picture: StepTimes) -> str:
    """What the picture says, in words."""
    return f"{picture.frame.height} steps, median {show_number(ms_from_us(picture.median_us), 3)} ms"
