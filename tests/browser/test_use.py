"""Using a page: keyboard, hover, zoom, views, tables, resizing."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from browser.chromium import Browser

Page = Callable[[str], Path]
RANGE = "document.getElementById('{}-plot').layout.{}.range"
HOVER = "[...document.querySelectorAll('#{}-plot .hovertext')].map(e => e.textContent).join()"
KEYED = [("curve", "xaxis"), ("strip", "xaxis"), ("kernels", "xaxis2"), ("durations", "xaxis"), ("steps", "xaxis")]


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


def focus(browser: Browser, key: str) -> None:
    """Put the focus on a figure."""
    browser.run("document.getElementById(arguments[0] + '-plot').focus()", key)


def limits(browser: Browser, key: str, axis: str = "xaxis") -> list[float]:
    """What stretch of x a figure shows."""
    shown: list[float] = browser.run(f"return {RANGE.format(key, axis)}")
    return shown


def test_tab_reaches_every_figure_its_buttons_and_its_table(seed: Browser) -> None:
    reached: list[str] = []
    for _ in range(120):
        press(seed, Keys.TAB)
        reached.append(
            seed.run(
                "const e = document.activeElement; return e.id || e.textContent.trim() + '@' + e.closest('figure')?.id"
            )
        )
        if "steps-plot" in reached and reached[-1].startswith("Numbers"):
            break
    for key in ("curve", "strip", "layers", "kernels", "durations", "steps"):
        assert f"{key}-plot" in reached
        assert f"Numbers of this figure@{key}" in reached
    views = [text for text in reached if text.endswith("@strip")][:3]
    assert views == ["whole step@strip", "one layer@strip", "one call@strip"]
    assert reached[0] == "To the figures@undefined"


@pytest.mark.parametrize(("key", "axis"), KEYED)
def test_plus_minus_and_0_zoom_about_the_middle(seed: Browser, key: str, axis: str) -> None:
    focus(seed, key)
    low, high = limits(seed, key, axis)
    press(seed, "+")
    near = limits(seed, key, axis)
    assert near == pytest.approx([low + (high - low) / 4, high - (high - low) / 4])
    press(seed, "-")
    assert limits(seed, key, axis) == pytest.approx([low, high], abs=1e-6)
    press(seed, "-")
    assert limits(seed, key, axis) == pytest.approx([low, high], abs=1e-6)
    press(seed, "+", "+", "0")
    assert limits(seed, key, axis) == pytest.approx([low, high], abs=1e-6)


@pytest.mark.parametrize(
    ("key", "keys", "words"),
    [
        ("curve", [Keys.ARROW_RIGHT], "0.000 us a call: expected 0.000 %"),
        ("curve", [Keys.ARROW_LEFT], "2.2"),
        ("strip", [Keys.ARROW_RIGHT], "gdn_fused"),
        ("kernels", [Keys.ARROW_RIGHT, Keys.ARROW_RIGHT], "us a step"),
        ("durations", [Keys.ARROW_RIGHT], "call(s)"),
        ("steps", [Keys.ARROW_RIGHT], "step 1"),
    ],
)
def test_arrows_read_values(seed: Browser, key: str, keys: list[str], words: str) -> None:
    focus(seed, key)
    press(seed, *keys)
    seed.wait(f"{HOVER.format(key)}.length > 0")
    assert words in seed.run(f"return {HOVER.format(key)}")
    press(seed, Keys.ESCAPE)
    seed.wait(f"{HOVER.format(key)}.length === 0")


def test_the_mouse_shows_the_name_of_a_kernel_in_full(seed: Browser) -> None:
    bars = seed.driver.find_elements(By.CSS_SELECTOR, "#kernels-plot .trace.bars .point path")
    longest = bars[len(bars) // 2]
    seed.run("arguments[0].scrollIntoView({block: 'center'})", longest)
    ActionChains(seed.driver).move_to_element(longest).perform()
    seed.wait(f"{HOVER.format('kernels')}.length > 0")
    first = seed.run("return document.getElementById('kernels-plot').data[1].text[0]").replace("<br>", "")
    shown = seed.run(f"return {HOVER.format('kernels')}")
    assert len(first) > 100
    assert first in shown


def test_buttons_show_one_layer_and_one_call_before_and_after(seed: Browser) -> None:
    whole = limits(seed, "strip")
    buttons = seed.driver.find_elements(By.CSS_SELECTOR, "#strip-views button")
    assert [button.text for button in buttons] == ["whole step", "one layer", "one call"]
    seen = []
    for button in buttons[1:]:
        button.click()
        low, high = limits(seed, "strip")
        seen.append(high - low)
        rows = seed.run(
            "const [low, high] = arguments; const t = document.getElementById('strip-plot').data[2];"
            "return t.y.filter((_, i) => t.base[i] >= low && t.base[i] + t.x[i] <= high)",
            low, high,
        )  # fmt: skip
        assert set(rows) == {0, 2}
    assert whole[1] - whole[0] > seen[0] > seen[1]
    buttons[0].click()
    assert limits(seed, "strip") == pytest.approx(whole)


def test_the_table_of_a_figure_opens_and_holds_its_numbers(seed: Browser) -> None:
    rows = "return document.querySelectorAll('#curve tbody tr').length"
    assert seed.run("return document.querySelector('#curve details').open") is False
    focus_summary = "document.querySelector('#curve summary').focus()"
    seed.run(focus_summary)
    press(seed, Keys.ENTER)
    assert seed.run("return document.querySelector('#curve details').open") is True
    assert seed.run(rows) == seed.run("return document.getElementById('curve-plot').data[4].x.length")
    assert seed.run("return document.documentElement.scrollWidth <= innerWidth")


def test_figures_have_titles_and_descriptions(seed: Browser) -> None:
    told = seed.run(
        "return [...document.querySelectorAll('figure')].map(f => ['aria-labelledby', 'aria-describedby']"
        ".map(a => document.getElementById(f.getAttribute(a)).textContent.length))"
    )
    assert len(told) == 6
    assert all(title > 10 and text > 80 for title, text in told)
    ids = seed.run("return [...document.querySelectorAll('[id]')].map(e => e.id)")
    assert len(ids) == len(set(ids))


def test_a_narrower_window_gets_a_narrower_figure(seed: Browser) -> None:
    widths = "[...document.querySelectorAll('.plot')].map(p => p.layout.width)"
    wide = seed.run(f"return {widths}")
    seed.resize(400, "light")
    seed.wait(f"Math.max(...{widths}) < 400")
    cut = seed.run("return document.querySelector('#kernels-plot .annotation-text').textContent")
    seed.resize(1280, "light")
    seed.wait(f"Math.min(...{widths}) > 1000")
    assert seed.run(f"return {widths}") == wide
    assert len(cut) < len(seed.run("return document.querySelector('#kernels-plot .annotation-text').textContent"))


def test_no_button_sends_anything(seed: Browser) -> None:
    titles = seed.run("return [...document.querySelectorAll('.modebar-btn')].map(b => b.dataset.title || b.ariaLabel)")
    assert titles
    assert not [title for title in titles if any(word in (title or "").lower() for word in ("share", "cloud", "edit"))]
    assert (
        seed.run("return document.querySelectorAll('a[href^=http], link, iframe, object, img[src^=http]').length") == 0
    )
