"""One file = one picture, drawn without a script: `svg` of a width in px, and `text` for a terminal."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

from trace_budget.schema.page import Picture
from trace_budget.schema.pictures import Drawn

FILES = {
    "Curve": "curve",
    "Waterfall": "joint",
    "Strip": "strip",
    "LayerMap": "layer_map",
    "KernelBars": "kernel_bars",
    "Histogram": "durations",
    "StepTimes": "step_times",
    "Cascade": "waterfall",
    "Forest": "forest",
    "Tornado": "tornado",
    "Needed": "needed",
    "OneLayer": "one_layer",
}
WIDTH = 640
WIDE, NARROW = 860, 380
PAGE_STYLE = (
    ".drawn{max-width:100%;height:auto}.drawn-narrow{display:none}"
    "@media screen and (max-width:640px){.drawn-narrow{display:block}.drawn-wide{display:none}}\n"
)


def svg(picture: Picture | Drawn, width: int = WIDTH, dark: bool | None = True) -> str:
    """The picture as SVG; `dark` None leaves the style sheet to the page around it (`colours.style`)."""
    drawn: str = _file(picture).svg(picture, width, dark)
    return drawn


def for_page(picture: Picture | Drawn) -> str:
    """The picture for a wide window and for a narrow one, of which `PAGE_STYLE` shows the one that fits."""
    widths = ((WIDE, "drawn-wide"), (NARROW, "drawn-narrow"))
    return "".join(f'<div class="{kind}">{svg(picture, width, dark=None)}</div>' for width, kind in widths)


def text(picture: Picture | Drawn, width: int = 80) -> str:
    """The picture in characters."""
    drawn: str = _file(picture).text(picture, width)
    return drawn


def _file(picture: Picture | Drawn) -> ModuleType:
    return import_module(f"trace_budget.drawings.{FILES[type(picture).__name__]}")
