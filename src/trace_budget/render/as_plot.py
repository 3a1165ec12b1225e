"""One picture as SVG, PNG or text, to paste in a pull request; the PNG is the SVG, drawn by resvg."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from importlib.resources import files
from importlib.util import find_spec

from trace_budget import drawings
from trace_budget.drawings.colours import style
from trace_budget.errors import OutputError
from trace_budget.schema.page import Picture
from trace_budget.schema.pictures import Drawn

PLAIN_WIDTH, LEAST_WIDTH = 80, 40
ZOOM = 2
OWN_FONT = "Lato"
INSTALL = "pip install resvg_py font-lato"


def svg(picture: Picture | Drawn) -> bytes:
    """The picture as SVG with title and description, in the colours of the viewer's light or dark scheme."""
    return drawings.svg(picture).encode()


def png(picture: Picture | Drawn, zoom: int = ZOOM) -> bytes:
    """The same picture in pixels and in light colours; raises OutputError without resvg or without any font."""
    return rasteriser()(drawings.svg(picture, dark=False), zoom)


def text(picture: Picture | Drawn) -> bytes:
    """The picture in characters, as wide as the terminal is."""
    width = max(shutil.get_terminal_size((PLAIN_WIDTH, 24)).columns, LEAST_WIDTH)
    return (drawings.text(picture, width) + "\n").encode()


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

    head = '<svg xmlns="http://www.w3.org/2000/svg" width="20" height="20" class="drawn">'
    begin = f"{head}<style>{style(dark=False)}</style>"
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


def drawing(suffix: str) -> Callable[[Picture | Drawn], bytes]:
    """How a file with this suffix is drawn."""
    return {".png": png, ".txt": text}.get(suffix.lower(), svg)
