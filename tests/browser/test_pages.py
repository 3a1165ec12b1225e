"""Every page in a real browser: nothing on the console, nothing fetched, all figures drawn, nothing overlaps."""

import base64
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from browser.chromium import Browser
from shared_traces import needs_shared

Page = Callable[[str], Path]
REAL = [pytest.param(name, marks=needs_shared) for name in ("vllm", "sglang")]
FIGURES = ["curve", "strip", "layers", "kernels", "durations", "steps"]
SHOWN = {
    **dict.fromkeys(("seed", "invalid", "vllm", "sglang", "hostile", "many_steps", "long_steps"), FIGURES),
    "trace_alone": FIGURES[1:],
    "candidates": ["waterfall", *FIGURES],
}
INKS = ["text", "muted", "marked", "target", "ceiling", "candidate", "good", "warn", "bad"]
MADE = ["seed", "invalid", "trace_alone", "candidates", "hostile", "many_steps", "long_steps"]
PAPER = {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 23, 27)"}
TEXTS = """.annotation-text-g, .legendtext, .modebar, .cbaxis text, .cbtitle, .xtick, .ytick, .x2tick, .y2tick,
.xtitle, .ytitle, .x2title, .y2title"""
BACKGROUND = "getComputedStyle(document.querySelector('.main-svg')).backgroundColor"
RIGHT_ENDS = "[...document.querySelectorAll('.main-svg')].map(s => s.getBoundingClientRect().right)"
MARKS = ".main-svg .trace path, .main-svg .hm image"
DRAWN = f"return [...document.querySelectorAll('figure')].filter(f => f.querySelector('{MARKS}')).map(f => f.id)"


@pytest.mark.parametrize("name", [*MADE, *REAL])
def test_figures_are_drawn_without_errors_and_nothing_is_fetched(chromium: Browser, page: Page, name: str) -> None:
    chromium.open(page(name))
    assert chromium.console() == []
    assert chromium.requests() == [page(name).as_uri()]
    assert chromium.run(DRAWN) == SHOWN[name]
    assert page(name).stat().st_size < 6_000_000


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
    assert chromium.run("return document.querySelectorAll('.annotation-text-g').length") > 15
    assert chromium.run("return document.querySelectorAll('.legendtext').length") > 8
    assert chromium.overlaps(TEXTS) == []


def test_the_log_of_requests_would_see_one(chromium: Browser, tmp_path: Path) -> None:
    path = tmp_path / "asks.html"
    path.write_text("<html data-drawn=yes><img src='http://127.0.0.1:9/picture.png'></html>")
    chromium.open(path)
    chromium.wait("document.images[0].complete")
    assert "http://127.0.0.1:9/picture.png" in chromium.requests()
    assert chromium.console() != []


def test_the_overlap_finder_would_see_one(chromium: Browser, tmp_path: Path) -> None:
    path = tmp_path / "covers.html"
    boxes = "<b>under</b><b style='position:absolute;left:8px'>over</b>"
    path.write_text(f"<html data-drawn=yes><div class=plot id=p>{boxes}</div></html>")
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


def luminance(colour: str) -> float:
    """Relative luminance of #rrggbb: https://www.w3.org/TR/WCAG21/#dfn-relative-luminance."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_the_page_prints_light_and_comes_back(chromium: Browser, page: Page) -> None:
    chromium.open(page("seed"), 1280, "dark")
    chromium.run(
        "addEventListener('beforeprint', () => { window.printedAs = document.documentElement.dataset.scheme; })"
    )
    pdf = base64.b64decode(chromium.command("Page.printToPDF", printBackground=True)["data"])
    assert pdf.startswith(b"%PDF")
    assert chromium.run("return window.printedAs") == "light"
    chromium.wait("document.documentElement.dataset.scheme === undefined")
    chromium.wait(f"{BACKGROUND} === '{PAPER['dark']}'")
    assert chromium.console() == []


def test_a_screenshot_of_a_figure_is_not_blank(chromium: Browser, page: Page) -> None:
    chromium.open(page("seed"))
    box = chromium.run("return document.getElementById('curve-plot').getBoundingClientRect().toJSON()")
    clip = {**{side: box[side] for side in ("x", "y", "width", "height")}, "scale": 1}
    data = base64.b64decode(chromium.command("Page.captureScreenshot", clip=clip, captureBeyondViewport=True)["data"])
    assert struct.unpack(">II", data[16:24]) == (round(box["width"]), round(box["height"]))
    assert len(data) > 10_000
