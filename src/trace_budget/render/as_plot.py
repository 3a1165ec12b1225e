"""One picture as SVG, PNG or text, to paste in a pull request; the PNG is the SVG, drawn by resvg."""

from __future__ import annotations

import html
import math
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from importlib.util import find_spec

from trace_budget import drawings
from trace_budget.errors import OutputError
from trace_budget.schema.page import Curve
from trace_budget.schema.pictures import Drawn
from trace_budget.text import safe, shortened
from trace_budget.units import show_number, show_pct, show_us

PLAIN_WIDTH, LEAST_WIDTH = 80, 40
WIDTH, HEIGHT = 900, 540
LEFT, RIGHT, TOP, BOTTOM = 76, 876, 64, 392
TITLE_WIDTH = 76
DIAMOND = "m0-7l7 7l-7 7l-7-7z"
OWN_FONT = "Lato"
INSTALL = "pip install resvg_py font-lato"
LIGHT = {
    "paper": "#ffffff", "text": "#1b1f24", "grid": "#dde1e6", "muted": "#5d6670", "marked": "#0b66b5",
    "target": "#b34700", "ceiling": "#0a7a57", "candidate": "#a3268c", "noise": "#e19614",
}  # fmt: skip
DARK = {
    "paper": "#14171b", "text": "#e6e9ec", "grid": "#343b43", "muted": "#a3acb5", "marked": "#5fb3f6",
    "target": "#ff9a52", "ceiling": "#45cfa0", "candidate": "#ef8fdc", "noise": "#e6aa3c",
}  # fmt: skip
SHAPES = (
    "text{font:13px 'DejaVu Sans',Verdana,sans-serif}.title{font-size:15px;font-weight:bold}"
    ".line{fill:none;stroke-width:2}.grid{stroke-width:1}.area{opacity:.2}"
)


@dataclass(frozen=True, slots=True)
class _Scale:
    """From us and % to places on the picture."""

    full_us: float
    low_pct: float
    high_pct: float

    def x(self, us: float) -> float:
        return round(LEFT + (RIGHT - LEFT) * us / (self.full_us or 1.0), 2)

    def y(self, pct: float) -> float:
        share = (pct - self.low_pct) / (self.high_pct - self.low_pct)
        return round(BOTTOM - (BOTTOM - TOP) * share, 2)

    def path(self, us: Sequence[float], pct: Sequence[float]) -> str:
        return " ".join(f"{self.x(u)},{self.y(p)}" for u, p in zip(us, pct, strict=True))


def svg(picture: Curve | Drawn) -> bytes:
    """The picture as SVG with title and description, in the colours of the viewer's light or dark scheme."""
    if not isinstance(picture, Curve):
        return drawings.svg(picture).encode()
    style = f"{SHAPES}{_colours(LIGHT)}@media (prefers-color-scheme:dark){{{_colours(DARK)}}}"
    return _document(picture, style).encode()


def png(picture: Curve | Drawn, zoom: int = 2) -> bytes:
    """The same picture in pixels and in light colours; raises OutputError without resvg or without any font."""
    if not isinstance(picture, Curve):
        return rasteriser()(drawings.svg(picture, dark=False), zoom)
    return rasteriser()(_document(picture, SHAPES + _colours(LIGHT)), zoom)


def rasteriser() -> Callable[[str, int], bytes]:
    """What turns SVG text into PNG bytes; raises OutputError when there is none, or no font to write with."""
    try:
        from resvg_py import svg_to_bytes
    except ImportError as error:
        raise OutputError(
            "a PNG needs resvg_py, which is not installed",
            where="--plot",
            advice=f"{INSTALL} brings it; .svg needs nothing.",
        ) from error
    fonts = _font_files()

    def draw(text: str, zoom: int) -> bytes:
        return bytes(svg_to_bytes(svg_string=text, zoom=zoom, font_files=fonts, sans_serif_family=OWN_FONT))

    begin = f'<svg xmlns="http://www.w3.org/2000/svg" width="20" height="20"><style>{SHAPES}</style>'
    if draw(f'{begin}<text y="18">M</text></svg>', 1) == draw(f"{begin}</svg>", 1):
        advice = f"{INSTALL} brings one; .svg needs none."
        raise OutputError("no font on this machine to write with", where="--plot", advice=advice)
    return draw


def _font_files() -> list[str]:
    """The font that comes with the extra, for machines that have none of those named; empty where it is missing."""
    if find_spec("font_lato") is None:
        return []
    folder = files("font_lato") / "files"
    return [str(folder / f"{OWN_FONT}-{weight}.ttf") for weight in ("Regular", "Bold")]


def _colours(palette: dict[str, str]) -> str:
    rules = [f"text{{fill:{palette['text']}}}.paper{{fill:{palette['paper']}}}"]
    rules += [
        f".{name}.area,.{name}.dot{{fill:{value}}}.{name}.line,.{name}.grid{{stroke:{value}}}"
        for name, value in palette.items()
    ]
    return "".join(rules)


def _text(x: float, y: float, text: str, anchor: str = "start", kind: str = "") -> str:
    look = f' class="{kind}"' if kind else ""
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}"{look}>{_escaped(text)}</text>'


def _escaped(text: str) -> str:
    """Untrusted text for XML, of which U+FFFE and U+FFFF are no characters."""
    return html.escape(safe(text).translate({0xFFFE: "?", 0xFFFF: "?"}))


def _document(curve: Curve, style: str) -> str:
    scale = _scale(curve)
    parts = [
        f'<rect width="{WIDTH}" height="{HEIGHT}" class="paper"/>', *_axes(scale), *_shapes(curve, scale), *_key(curve),
        _text(LEFT, 30, shortened(curve.kernel, TITLE_WIDTH), kind="title"),
        _text(LEFT, 50, f"{_candidate(curve)} of a token of {show_us(curve.token_us)} us{_partial(curve)}"),
    ]  # fmt: skip
    named = f"<title>{_escaped(curve.kernel)}</title><desc>{_escaped(_told(curve))}</desc>"
    size = f'viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">'
    return f"{head}\n{named}\n<style>{style}</style>\n" + "\n".join(parts) + "\n</svg>\n"


def _partial(curve: Curve) -> str:
    return "" if curve.complete else " (the file is PARTIAL)"


def _told(curve: Curve) -> str:
    ends = curve.points.select("saving_us", "expected_pct").rows()
    line = (
        f"Expected: from {show_pct(ends[0][1])} at 0 us to {show_pct(ends[-1][1])} at {show_us(ends[-1][0])} us a call."
    )
    levels = f"Target {show_pct(curve.target_pct)}, ceiling {show_pct(curve.ceiling_pct)}{_partial(curve)}."
    return f"{_candidate(curve)}. {line} {levels}"


def _scale(curve: Curve) -> _Scale:
    """Room for all that is drawn, and a little above."""
    shown = [0.0, curve.target_pct, curve.ceiling_pct, curve.mde_pct if math.isfinite(curve.mde_pct) else 0.0]
    for column in ("low_pct", "high_pct"):
        shown += curve.points[column].to_list()
    shown += [curve.stated.low_pct, curve.stated.high_pct] if curve.stated else []
    low, high = min(shown), max(shown)
    full_us = max(curve.full_us, curve.stated.saving_us if curve.stated else 0.0)
    return _Scale(full_us, low, high + 0.05 * (high - low or 1.0))


def _axes(scale: _Scale) -> list[str]:
    parts: list[str] = []
    for us in _ticks(0.0, scale.full_us, 8):
        x = scale.x(us)
        parts += [f'<path d="M{x} {TOP}V{BOTTOM}" class="grid"/>', _text(x, BOTTOM + 18, _number(us), "middle")]
    for pct in _ticks(scale.low_pct, scale.high_pct, 6):
        y = scale.y(pct)
        parts += [f'<path d="M{LEFT} {y}H{RIGHT}" class="grid"/>', _text(LEFT - 8, y + 4, f"{_number(pct)} %", "end")]
    return [*parts, _text((LEFT + RIGHT) / 2, BOTTOM + 40, "saved per call, us", "middle")]


def _ticks(low: float, high: float, most: int) -> list[float]:
    """Round numbers (1, 2, 5 x 10^n apart) from low to high, at most `most` and one more."""
    if high <= low:
        return [low]
    raw = (high - low) / most
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= raw)
    return [index * step for index in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]


def _number(value: float) -> str:
    return show_number(round(value, 9), 6).rstrip("0").rstrip(".") if value else "0"


def _shapes(curve: Curve, scale: _Scale) -> list[str]:
    us = curve.points["saving_us"].to_list()
    low, expected, high, naive = (curve.points[f"{n}_pct"].to_list() for n in ("low", "expected", "high", "naive"))
    noise = min(curve.mde_pct, scale.high_pct)
    band = scale.path([*us, *reversed(us)], [*high, *reversed(low)])
    parts = [
        f'<path d="M{LEFT} {scale.y(0.0)}H{RIGHT}V{scale.y(noise)}H{LEFT}Z" class="noise area"/>',
        f'<polygon points="{band}" class="marked area"/>',
        _level(scale, curve.ceiling_pct, "ceiling", "12 6"), _level(scale, curve.target_pct, "target", "6 4"),
        f'<polyline points="{scale.path(us, naive)}" class="muted line" stroke-dasharray="2 3"/>',
        f'<polyline points="{scale.path(us, expected)}" class="marked line"/>',
    ]  # fmt: skip
    for knee in curve.knees:
        x, y = scale.x(knee.saving_us), scale.y(knee.expected_pct)
        parts.append(f'<path d="M{x} {y}{DIAMOND}" class="text line"/>')
    if curve.stated:
        x = scale.x(curve.stated.saving_us)
        ends = (scale.y(curve.stated.low_pct), scale.y(curve.stated.high_pct))
        parts.append(f'<path d="M{x} {ends[0]}V{ends[1]}" class="candidate line"/>')
        parts.append(f'<circle cx="{x}" cy="{scale.y(curve.stated.expected_pct)}" r="6" class="candidate dot"/>')
    return parts


def _level(scale: _Scale, pct: float, name: str, dash: str) -> str:
    return f'<path d="M{LEFT} {scale.y(pct)}H{RIGHT}" class="{name} line" stroke-dasharray="{dash}"/>'


def _candidate(curve: Curve) -> str:
    """The candidate's place in words."""
    at = curve.stated
    if at is None:
        return "what a saving per call is worth,"
    bounds = f"{show_pct(at.low_pct)} to {show_pct(at.high_pct)}"
    return f"{show_us(at.saving_us)} us saved a call: {show_pct(at.expected_pct)} ({bounds})"


def _key(curve: Curve) -> list[str]:
    """What the lines mean, in two columns below the axis."""
    line, area = '<path d="M{x} {y}h24" class="{k} line"{d}/>', '<path d="M{x} {y}m0-6h24v12h-24z" class="{k} area"/>'
    dot, diamond = (
        '<circle cx="{c}" cy="{y}" r="6" class="{k} dot"/>',
        f'<path d="M{{c}} {{y}}{DIAMOND}" class="{{k}} line"/>',
    )
    rows = [
        (line, "marked", "", "expected"),
        (area, "marked", "", "low to high bound"),
        (line, "muted", "2 3", "naive product: us per call x calls"),
        (line, "target", "6 4", f"target {show_pct(curve.target_pct)}"),
        (line, "ceiling", "12 6", f"ceiling {show_pct(curve.ceiling_pct)}: the kernel is free"),
        (area, "noise", "", f"noise: an A/B of {curve.runs} runs sees nothing below {show_pct(curve.mde_pct)}"),
    ]
    if curve.knees:
        rows.append((diamond, "text", "", "knee: something else takes over the pace"))
    if curve.stated:
        rows.append((dot, "candidate", "", f"the candidate: {show_us(curve.stated.saving_us)} us a call"))
    parts: list[str] = []
    for place, (shape, kind, dash, text) in enumerate(rows):
        x, y = (LEFT, LEFT + 380)[place % 2], BOTTOM + 66 + 22 * (place // 2)
        look = f' stroke-dasharray="{dash}"' if dash else ""
        parts += [shape.format(x=x, y=y, c=x + 12, k=kind, d=look), _text(x + 32, y + 4, text)]
    return parts


def drawing(suffix: str) -> Callable[[Curve | Drawn], bytes]:
    """How a file with this suffix is drawn."""
    return {".png": png, ".txt": text}.get(suffix.lower(), svg)


def text(picture: Curve | Drawn) -> bytes:
    """The picture in characters, as wide as the terminal is."""
    width = max(shutil.get_terminal_size((PLAIN_WIDTH, 24)).columns, LEAST_WIDTH)
    return (drawings.text(picture, width) + "\n").encode()
