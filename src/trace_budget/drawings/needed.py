"""Needed speed-up against share of the token: which kernels can reach the target, and how hard it would be."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from trace_budget.drawings import axis, rows, shapes
from trace_budget.drawings.plain import PlainRow, Span, plain_rows
from trace_budget.drawings.rows import Row
from trace_budget.errors import OutputError
from trace_budget.labels import labels
from trace_budget.schema.pictures import Needed
from trace_budget.units import show_number, show_pct

HEIGHT = 250
LEFT = 52
NAMED = 10  # kernels with a number and a line below
MOST_DOTS = 400
APART = 15.0  # px between two numbers
MOST_SPEEDUP = 20.0
KINDS = {"yes": "good", "on paper": "marked", "only if removed": "loss", "no": "muted"}
WORDS = {
    "yes": "can", "on paper": "can on paper, not after integration", "only if removed": "only without the launch",
    "no": "cannot",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Dot:
    kernel: str
    share: float
    speedup: float | None
    can: str


def svg(picture: Needed, width: int = 640, dark: bool | None = True) -> str:
    """The picture as SVG of a width in px."""
    dots = _dots(picture)
    top, bottom = rows.HEAD + 8.0, rows.HEAD + 8.0 + HEIGHT
    across = axis.LogAxis(*_shares(picture, dots), LEFT, width - rows.EDGE)
    up = axis.LogAxis(1.0, MOST_SPEEDUP, bottom, top + 18)
    named = labels([one.kernel for one in dots[:NAMED]], max(rows.room(width) - 30, 16), picture.among)
    parts = [
        *rows.head(
            width,
            f"What it takes for {show_pct(picture.target_pct)} of a token",
            _under(picture, dots),
            "share and needed speed-up",
        ),
        *_frame(across, up, top, bottom),
        *_lines(picture, across, up, top),
        *_points(dots, across, up, top),
    ]
    entries = [("dot", KINDS[word], text) for word, text in WORDS.items() if any(one.can == word for one in dots)]
    entries += [("line", "muted line", "needed"), ("line", "muted line dash", f"with {picture.dilution:g} left")]
    legend, end = rows.key(width, bottom + rows.FOOT + 12, entries)
    entries_below = [
        Row(f"{n} {name}", _figure(one)) for n, (name, one) in enumerate(zip(named, dots, strict=False), 1)
    ]
    listed, end = rows.listed(width, end + 4, entries_below)
    return shapes.document(
        width, end, "Needed speed-up against share", in_words(picture), [*parts, *legend, *listed], dark
    )


def text(picture: Needed, width: int = 80) -> str:
    """The same for a terminal: the share of each kernel as a bar, what is needed beside it."""
    dots = _dots(picture)[: 2 * NAMED]
    named = labels([one.kernel for one in dots], max(width // 2 - 6, 16), picture.among)
    scale = axis.around([*(one.share for one in dots), picture.target_pct], 0.0, 1.0)
    lines = [
        PlainRow(name, _figure(one), [Span(0.0, scale.at(one.share))]) for name, one in zip(named, dots, strict=True)
    ]
    foot = f"█ % of a token  | wanted: {show_pct(picture.target_pct)}"
    title = "Share of a token, the speed-up it needs, and if it can"
    return plain_rows(title, lines, width, [(scale.at(picture.target_pct), "|")], foot)


def in_words(picture: Needed) -> str:
    """What the picture says, in words."""
    return "; ".join(f"{one.kernel}: {_figure(one)}" for one in _dots(picture)[:NAMED])


def _dots(picture: Needed) -> list[_Dot]:
    frame = picture.frame.head(MOST_DOTS).select("kernel", "share_pct", "speedup", "can")
    if frame.height < 2:
        raise OutputError("one kernel alone makes no picture of many", where="--plot", advice="The table says it all.")
    return [_Dot(*row) for row in frame.rows()]


def _figure(one: _Dot) -> str:
    needs = f"{show_number(one.speedup, 2)}x" if one.speedup is not None else "-"
    return f"{show_pct(one.share)} {needs} {one.can}"


def _under(picture: Needed, dots: Sequence[_Dot]) -> str:
    more = picture.frame.height - len(dots)
    return "each kernel by its share and the speed-up it needs" + (f"; {more} smaller are not shown" if more else "")


def _shares(picture: Needed, dots: Sequence[_Dot]) -> tuple[float, float]:
    """The ends of the axis of shares: kernels far below the target stand at its left end."""
    shares = [one.share for one in dots]
    low = max(min(shares), picture.target_pct / 50)
    return min(low, picture.target_pct / 2) / 1.1, max(*shares, 2 * picture.target_pct) * 1.15


def _frame(across: axis.LogAxis, up: axis.LogAxis, top: float, bottom: float) -> list[str]:
    parts = []
    for share in across.ticks():
        x = across.at(share)
        parts += [
            shapes.upright(x, top, bottom, "grid"),
            shapes.text(x, bottom + 17, axis.shown(share), "small tick", "middle"),
        ]
    for speedup in (1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0):
        y = up.at(speedup)
        parts += [
            shapes.level(y, LEFT, across.last, "grid"),
            shapes.text(LEFT - 6, y + 4, f"{speedup:g}x", "small", "end"),
        ]
    parts.append(shapes.text(LEFT - 6, top + 4, "none", "small", "end"))
    return [*parts, shapes.text((LEFT + across.last) / 2, bottom + 37, "% of a token", "small", "middle")]


def _lines(picture: Needed, across: axis.LogAxis, up: axis.LogAxis, top: float) -> Iterator[str]:
    """The target as a line, and the speed-up that each share needs, on paper and after integration."""
    yield shapes.upright(across.at(picture.target_pct), top, up.first, "target line dash")
    for left, kind in ((1.0, "muted line"), (picture.dilution, "muted line dash")):
        if left > 0:
            yield shapes.path(_curve(picture.target_pct / left, across, up), kind)


def _curve(target: float, across: axis.LogAxis, up: axis.LogAxis) -> str:
    """Needed is share / (share - target), from where it is in the picture."""
    first = target * MOST_SPEEDUP / (MOST_SPEEDUP - 1)
    if first >= across.high:
        return "M0 0"
    ratio = (across.high / first) ** (1 / 40)
    shares = [first * ratio**step for step in range(41)]
    return "M" + "L".join(f"{across.at(s):.1f} {up.at(s / (s - target)):.1f}" for s in shares)


def _points(dots: Sequence[_Dot], across: axis.LogAxis, up: axis.LogAxis, top: float) -> list[str]:
    """A dot a kernel, the largest in front; numbers where they find room."""
    parts: list[str] = []
    numbers: list[tuple[float, float]] = []
    for place, one in enumerate(dots, 1):
        x, y = across.at(one.share), top if one.speedup is None else up.at(one.speedup)
        words = f"{one.kernel}: {_figure(one)}"
        parts.insert(0, shapes.dot(x, y, 6 if place <= NAMED else 3.5, f"{KINDS[one.can]} kernel", words))
        if place <= NAMED and all(abs(x - a) >= APART or abs(y - b) >= APART for a, b in numbers):
            numbers.append((x, y))
            parts.append(shapes.text(x, y + (22 if one.speedup is None else -9), str(place), "small", "middle"))
    return parts
