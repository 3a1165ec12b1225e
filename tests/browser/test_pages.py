"""Every page in a real browser: nothing on the console, nothing fetched, all figures drawn, nothing overlaps."""

import base64
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from browser.chromium import Browser
from shared_traces import needs_shared
from trace_budget.drawings.colours import DARK, LIGHT

Page = Callable[[str], Path]
REAL = [pytest.param(name, marks=needs_shared) for name in ("vllm", "sglang")]
FOUND = ["strip", "layers", "layer", "kernels", "durations", "steps"]
ASKED = ["curve", "cascade", "tornado", *FOUND]
SHOWN = {
    **dict.fromkeys(("seed", "hostile", "many_steps"), ASKED),
    **dict.fromkeys(("vllm", "sglang", "long_steps"), ASKED[:-1]),  # too few steps to be drawn
    "invalid": ["curve", *FOUND],
    "trace_alone": ["needed", *FOUND],
    "candidates": ["forest", "waterfall", "curve", *FOUND],
}
INKS = ["text", "muted", "marked", "good", "warn", "bad"]
DRAWN_INKS = ("text", "muted", "marked", "target", "good", "loss")
MADE = ["seed", "invalid", "trace_alone", "candidates", "hostile", "many_steps", "long_steps"]
PAPER = {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 23, 27)"}
BACKGROUND = "getComputedStyle(document.querySelector('figure .paper')).fill"
VISIBLE = "[...document.querySelectorAll('figure svg')].filter(s => s.getBoundingClientRect().width)"
RIGHT_ENDS = f"{VISIBLE}.map(s => s.getBoundingClientRect().right)"
DRAWN = (
    f"return {VISIBLE}.filter(s => s.querySelectorAll('rect, path, circle').length > 2)"
    ".map(s => s.closest('figure').id)"
)
NOT_DRAWN = "[...document.querySelectorAll('figure > p')].filter(p => p.textContent.includes('no picture'))"
MOST_BYTES = 1_500_000


@pytest.mark.parametrize("name", [*MADE, *REAL])
def test_figures_are_drawn_without_errors_and_nothing_is_fetched(chromium: Browser, page: Page, name: str) -> None:
    chromium.open(page(name))
    assert chromium.console() == []
    assert chromium.requests() == [page(name).as_uri()]
    assert chromium.run(DRAWN) == SHOWN[name]
    assert page(name).stat().st_size < MOST_BYTES


@pytest.mark.parametrize(("width", "scheme", "other"), [(1280, "light", "dark"), (400, "dark", "light")])
@pytest.mark.parametrize("name", [*MADE, *REAL])
def test_pages_fit_their_width_in_both_schemes(
    chromium: Browser, page: Page, name: str, width: int, scheme: str, other: str
) -> None:
    chromium.open(page(name), width, scheme)
    check_layout(chromium, width, scheme)
    chromium.resize(width, other)
    chromium.wait(f"{BACKGROUND} === '{PAPER[other]}'")
    check_layout(chromium, width, other)
    assert chromium.console() == []


def check_layout(chromium: Browser, width: int, scheme: str) -> None:
    """Nothing sticks out, nothing covers anything, colours are those of the scheme."""
    assert chromium.run("return document.documentElement.scrollWidth") <= width
    assert chromium.run(f"return Math.max(...{RIGHT_ENDS})") <= width
    assert chromium.run("return getComputedStyle(document.body).backgroundColor") == PAPER[scheme]
    assert chromium.run(f"return {BACKGROUND}") == PAPER[scheme]
    assert len(chromium.run(DRAWN)) + chromium.run(f"return {NOT_DRAWN}.length") == chromium.run(
        "return document.querySelectorAll('figure').length"
    )
    assert chromium.overlaps("text") == []


def test_the_log_of_requests_would_see_one(chromium: Browser, tmp_path: Path) -> None:
    path = tmp_path / "asks.html"
    path.write_text("<html><img src='http://127.0.0.1:9/picture.png'></html>")
    chromium.open(path)
    chromium.wait("document.images[0].complete")
    assert "http://127.0.0.1:9/picture.png" in chromium.requests()
    assert chromium.console() != []


def test_the_overlap_finder_would_see_one(chromium: Browser, tmp_path: Path) -> None:
    path = tmp_path / "covers.html"
    boxes = "<b>under</b><b style='position:absolute;left:8px'>over</b>"
    path.write_text(f"<html><div class=plot id=p>{boxes}</div></html>")
    chromium.open(path)
    assert chromium.overlaps("b") == ["p: under | over"]


def test_contrast_of_text_is_readable(chromium: Browser, page: Page) -> None:
    """WCAG AA asks for 4.5 between text and its background."""
    for scheme in ("light", "dark"):
        chromium.open(page("seed"), 1280, scheme)
        colours = chromium.run(
            "const s = getComputedStyle(document.documentElement);"
            "return arguments[0].map(n => s.getPropertyValue('--' + n).trim())",
            [*INKS, "paper"],
        )
        *inks, paper = [luminance(colour) for colour in colours]
        contrasts = [(max(ink, paper) + 0.05) / (min(ink, paper) + 0.05) for ink in inks]
        assert min(contrasts) >= 4.5
    for palette in (LIGHT, DARK):
        paper = luminance(palette["paper"])
        drawn = [luminance(palette[ink]) for ink in DRAWN_INKS]
        assert min((max(ink, paper) + 0.05) / (min(ink, paper) + 0.05) for ink in drawn) >= 4.5


def luminance(colour: str) -> float:
    """Relative luminance of #rrggbb: https://www.w3.org/TR/WCAG21/#dfn-relative-luminance."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_the_page_prints_light(chromium: Browser, page: Page) -> None:
    chromium.open(page("seed"), 1280, "dark")
    assert chromium.command("Page.printToPDF", printBackground=True)["data"].startswith(
        base64.b64encode(b"%PDF-")[:6].decode()
    )
    chromium.resize(700, "dark", "print")
    assert chromium.run(f"return {BACKGROUND}") == PAPER["light"]
    assert chromium.run("return getComputedStyle(document.body).backgroundColor") == PAPER["light"]
    chromium.resize(1280, "dark")
    assert chromium.run(f"return {BACKGROUND}") == PAPER["dark"]
    assert chromium.console() == []


def test_a_screenshot_of_a_figure_is_not_blank(chromium: Browser, page: Page) -> None:
    chromium.open(page("seed"))
    box = chromium.run("return document.querySelector('#curve svg').getBoundingClientRect().toJSON()")
    clip = {**{side: box[side] for side in ("x", "y", "width", "height")}, "scale": 1}
    data = base64.b64decode(chromium.command("Page.captureScreenshot", clip=clip, captureBeyondViewport=True)["data"])
    assert struct.unpack(">II", data[16:24]) == (round(box["width"]), round(box["height"]))
    assert len(data) > 10_000
