"""The colours of all drawings, for light and dark paper, as one style sheet; printed on white."""

from __future__ import annotations

LIGHT = {
    "paper": "#ffffff", "text": "#1b1f24", "grid": "#dde1e6", "muted": "#5d6670", "marked": "#0b66b5",
    "target": "#b34700", "good": "#0a7a57", "loss": "#a3268c", "noise": "#e19614", "heat": "#cfe0f0",
}  # fmt: skip
DARK = {
    "paper": "#14171b", "text": "#e6e9ec", "grid": "#343b43", "muted": "#a3acb5", "marked": "#5fb3f6",
    "target": "#ff9a52", "good": "#45cfa0", "loss": "#ef8fdc", "noise": "#e6aa3c", "heat": "#2b4a66",
}  # fmt: skip
SHADES = 6
_SHAPES = (
    ".drawn text{font:14px 'DejaVu Sans',Verdana,sans-serif}.drawn .title{font-weight:bold}"
    ".drawn .small{font-size:12px}.drawn .line{fill:none;stroke-width:2}.drawn .grid{fill:none;stroke-width:1}"
    ".drawn .dash{stroke-dasharray:6 4}.drawn .dots{stroke-dasharray:2 3}"
    ".drawn .dotted{stroke-width:7;stroke-linecap:round}.drawn .area{opacity:.2}.drawn .pale{opacity:.45}"
)


def style(dark: bool = True) -> str:
    """The style sheet of the drawings; with `dark`, those on a dark screen follow it, and print does not."""
    light = _rules(LIGHT)
    if not dark:
        return _SHAPES + light
    return f"{_SHAPES}{light}@media screen and (prefers-color-scheme:dark){{{_rules(DARK)}}}"


def _between(palette: dict[str, str], share: float) -> str:
    """A colour on the way from the pale to the strong one."""
    ends = [[int(palette[name][place : place + 2], 16) for place in (1, 3, 5)] for name in ("heat", "marked")]
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in zip(*ends, strict=True))


def _rules(palette: dict[str, str]) -> str:
    halo = f"paint-order:stroke;stroke:{palette['paper']};stroke-width:4px;stroke-linejoin:round"
    out = [f".drawn text{{fill:{palette['text']};{halo}}}"]
    out.append(f".drawn .grid-fill{{fill:{palette['grid']};opacity:.5}}")
    out += [f".drawn .heat{shade}{{fill:{_between(palette, shade / (SHADES - 1))}}}" for shade in range(SHADES)]
    for name, value in palette.items():
        out.append(f".drawn .{name}{{fill:{value}}}.drawn .{name}.line,.drawn .{name}.grid{{fill:none;stroke:{value}}}")
    return "".join(out)
