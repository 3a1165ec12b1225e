"""One candidate from the product on paper to what is left after integration, beside the target."""

from __future__ import annotations

from trace_budget.drawings import axis, rows, shapes
from trace_budget.drawings.plain import PlainRow, Span, plain_rows
from trace_budget.drawings.rows import Row
from trace_budget.labels import labels
from trace_budget.schema.pictures import Cascade, Stage
from trace_budget.units import show_pct, show_us


def svg(picture: Cascade, width: int = 640, dark: bool | None = True) -> str:
    """The picture as SVG of a width in px."""
    scale = _scale(picture, rows.EDGE, width - rows.EDGE)
    bottom = rows.row_top(len(picture.stages))
    parts = [
        *rows.head(
            width,
            f"{picture.verdict}: {_name(picture, rows.room(width) - 14)}",
            _under(picture),
            f"of a token of {show_us(picture.token_us)} us",
        ),
        *axis.below(scale, rows.HEAD, bottom, "us saved a token"),
    ]
    for index, stage in enumerate(picture.stages):
        parts += _bar(picture, scale, index, stage)
    parts.append(shapes.upright(scale.at(picture.wanted_us), rows.HEAD, bottom, "target line dash"))
    parts += rows.labelled(width, [Row(stage.title, _figure(picture, stage), stage.total) for stage in picture.stages])
    entries = [
        ("bar", "marked", "what is left"), ("bar", "loss pale", "taken away"),
        *([("bar", "good pale", "added")] if any(_added(stage) for stage in picture.stages) else []),
        ("upright", "target line dash", f"wanted: {show_us(picture.wanted_us)} us ({show_pct(picture.target_pct)})"),
        *([("line", "text line", "low to high")] if picture.projected_us.width else []),
    ]  # fmt: skip
    legend, end = rows.key(width, bottom + rows.FOOT + 12, entries)
    return shapes.document(width, end, f"Waterfall: {picture.kernel}", in_words(picture), [*parts, *legend], dark)


def text(picture: Cascade, width: int = 80) -> str:
    """The same for a terminal."""
    scale = _scale(picture, 0.0, 1.0)
    lines = [
        PlainRow(
            stage.title,
            _figure(picture, stage),
            [Span(scale.at(stage.before_us), scale.at(stage.after_us), stage.total or _added(stage))],
        )
        for stage in picture.stages
    ]
    foot = (
        f"| wanted: {show_us(picture.wanted_us)} us ({show_pct(picture.target_pct)}) of {show_us(picture.token_us)} us"
    )
    title = f"{picture.verdict}   {_name(picture, width - 12)}"
    return plain_rows(title, lines, width, [(scale.at(picture.wanted_us), "|")], foot)


def in_words(picture: Cascade) -> str:
    """What the picture says, in words."""
    return "; ".join(f"{stage.title}: {_figure(picture, stage)}" for stage in picture.stages)


def _name(picture: Cascade, size: int) -> str:
    return labels([picture.kernel], max(size, 12), picture.among)[0]


def _under(picture: Cascade) -> str:
    return f"from the product to what is left, of a token of {show_us(picture.token_us)} us"


def _scale(picture: Cascade, first: float, last: float) -> axis.Axis:
    values = [end for stage in picture.stages for end in (stage.before_us, stage.after_us)]
    return axis.around([*values, *picture.projected_us.ends, picture.wanted_us], first, last)


def _added(stage: Stage) -> bool:
    return not stage.total and stage.after_us > stage.before_us


def _figure(picture: Cascade, stage: Stage) -> str:
    us = stage.after_us - stage.before_us
    share = show_pct(100 * us / picture.token_us)
    if stage.total:
        return f"{show_us(us)} us = {share}"
    return "nothing" if us == 0 else f"{'+' if us > 0 else ''}{show_us(us)} us"


def _bar(picture: Cascade, scale: axis.Axis, index: int, stage: Stage) -> list[str]:
    top = rows.band_top(index)
    kind = "marked" if stage.total else "good pale" if _added(stage) else "loss pale"
    parts = [shapes.bar(scale.at(stage.before_us), scale.at(stage.after_us), top, rows.BAND, f"{kind} stage")]
    if index + 1 < len(picture.stages):
        parts.append(shapes.upright(scale.at(stage.after_us), top, rows.band_top(index + 1), "muted grid"))
    if stage.title == "projected" and picture.projected_us.width:
        low, high = scale.at(picture.projected_us.low), scale.at(picture.projected_us.high)
        middle = top + rows.BAND / 2
        parts += [shapes.level(middle, low, high, "text line"), *(_end(x, middle) for x in (low, high))]
    return parts


def _end(x: float, middle: float) -> str:
    return shapes.upright(x, middle - 5, middle + 5, "text line")
