"""Names from a trace that try to become markup, scripts, templates or terminal commands stay text."""

from collections.abc import Callable
from pathlib import Path

import pytest

from browser.chromium import Browser
from browser.pages import HOSTILE
from trace_budget.text import safe

Page = Callable[[str], Path]


@pytest.fixture
def hostile(chromium: Browser, page: Page) -> Browser:
    chromium.open(page("hostile"))
    return chromium


def test_nothing_of_them_runs_or_becomes_an_element(hostile: Browser) -> None:
    assert "owned" not in hostile.run("return document.title").split()
    assert hostile.run("return document.querySelectorAll('img, iframe, object, embed').length") == 0
    assert hostile.run("return document.scripts.length") == 1
    assert hostile.run("return document.querySelectorAll(`a[href^='javascript'], svg a`).length") == 0
    assert hostile.run("return document.querySelectorAll('figure').length") == 9
    assert hostile.console() == []


def test_they_are_shown_as_they_are(hostile: Browser) -> None:
    names = hostile.run(
        "return [...document.querySelectorAll('#kernels td:first-child')].map(e => e.title || e.textContent)"
    )
    assert sorted(names) == sorted([*(safe(name) for name in HOSTILE), "plain"])
    labels = hostile.run("return [...document.querySelectorAll('#kernels svg text')].map(e => e.textContent)")
    for name in HOSTILE:
        assert any(label.startswith(safe(name)[:12]) for label in labels)
    assert not [label for label in labels if "&lt;" in label.replace("&lt;b&gt;", "")]


def test_no_control_character_is_in_the_page(page: Page) -> None:
    text = page("hostile").read_text(encoding="utf-8")
    assert not [char for char in "\x1b\x9b\x07\u202e\u200b" if char in text]


def test_the_policy_stops_a_script_that_got_in(chromium: Browser, page: Page, tmp_path: Path) -> None:
    """Were escaping to fail, the page's own policy would still refuse to run or fetch anything."""
    broken = (
        page("seed").read_text().replace("<main id", f"{HOSTILE[0]}<img src='http://127.0.0.1:9/x.png'><main id", 1)
    )
    path = tmp_path / "broken.html"
    path.write_text(broken)
    chromium.open(path)
    assert chromium.run("return document.querySelectorAll('img').length") == 2
    assert "owned" not in chromium.run("return document.title")
    refused = [line for line in chromium.console() if "Content Security Policy" in line]
    assert any("127.0.0.1:9/x.png" in line and "img-src" in line for line in refused)
    assert any("script-src" in line for line in refused)
