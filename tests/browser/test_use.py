"""Using a page: keyboard, tables, resizing."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

from browser.chromium import Browser

Page = Callable[[str], Path]


@pytest.fixture
def seed(chromium: Browser, page: Page) -> Iterator[Browser]:
    """The browser on the sample's page, which must not complain whatever is done to it."""
    chromium.open(page("seed"))
    yield chromium
    assert chromium.console() == []


def press(browser: Browser, *keys: str) -> None:
    """Press keys, wherever the focus is."""
    for key in keys:
        ActionChains(browser.driver).send_keys(key).perform()


def test_tab_reaches_every_table(seed: Browser) -> None:
    reached: list[str] = []
    for _ in range(80):
        press(seed, Keys.TAB)
        reached.append(
            seed.run("const e = document.activeElement; return e.textContent.trim() + '@' + e.closest('figure')?.id")
        )
        if reached[-1] == "Numbers of this figure@steps":
            break
    for key in ("curve", "strip", "layers", "kernels", "durations", "steps"):
        assert f"Numbers of this figure@{key}" in reached
    assert reached[0] == "To the figures@undefined"


def test_a_bar_that_is_pointed_at_says_the_whole_name(seed: Browser) -> None:
    hints = seed.run("return [...document.querySelectorAll('#kernels svg rect title')].map(e => e.textContent)")
    assert hints
    assert max(map(len, hints)) > 100


def test_the_table_of_a_figure_opens_and_holds_its_numbers(seed: Browser) -> None:
    rows = "return document.querySelectorAll('#curve tbody tr').length"
    assert seed.run("return document.querySelector('#curve details').open") is False
    focus_summary = "document.querySelector('#curve summary').focus()"
    seed.run(focus_summary)
    press(seed, Keys.ENTER)
    assert seed.run("return document.querySelector('#curve details').open") is True
    assert seed.run(rows) > 5
    assert seed.run("return document.documentElement.scrollWidth <= innerWidth")


def test_figures_have_titles_and_descriptions(seed: Browser) -> None:
    told = seed.run(
        "return [...document.querySelectorAll('figure')].map(f => ['aria-labelledby', 'aria-describedby']"
        ".map(a => document.getElementById(f.getAttribute(a)).textContent.length))"
    )
    assert len(told) == 9
    assert all(title > 10 and text > 80 for title, text in told)
    ids = seed.run("return [...document.querySelectorAll('[id]')].map(e => e.id)")
    assert len(ids) == len(set(ids))


def test_a_narrower_window_gets_a_narrower_figure(seed: Browser) -> None:
    widths = "[...document.querySelectorAll('figure svg')].map(s => s.getBoundingClientRect().width).filter(w => w)"
    wide = seed.run(f"return {widths}")
    assert set(wide) == {860}
    seed.resize(420, "light")
    seed.wait(f"Math.max(...{widths}) < 420")
    assert len(seed.run(f"return {widths}")) == len(wide)
    seed.resize(1280, "light")
    seed.wait(f"Math.min(...{widths}) > 800")


def test_the_page_has_no_link_away_and_nothing_that_runs(seed: Browser) -> None:
    away = "a[href^=http], link, iframe, object, img[src^=http], script:not([type='application/json'])"
    assert seed.run("return document.querySelectorAll(arguments[0]).length", away) == 0
