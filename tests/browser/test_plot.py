"""The plot of `--plot` as a browser shows it: texts inside the picture, none over another, light and dark."""

from pathlib import Path

import pytest

from browser.chromium import Browser
from render.sample_pages import curve
from trace_budget.drawings import WIDTH
from trace_budget.render import as_plot

BOXES = "[...document.querySelectorAll('text')].map(t => [t.textContent, t.getBoundingClientRect().toJSON()])"


NAMES = ["gdn_fused", "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_" * 6, "</text><script>alert(1)</script>"]


@pytest.mark.parametrize("kernel", NAMES)
def test_texts_stay_inside_and_apart(chromium: Browser, tmp_path: Path, kernel: str) -> None:
    path = tmp_path / "plot.svg"
    path.write_bytes(as_plot.svg(curve(kernel)))
    chromium.resize(1280, "light")
    chromium.driver.get(path.as_uri())
    boxes = chromium.run(f"return {BOXES}")
    height = chromium.run("return document.documentElement.height.baseVal.value")
    assert len(boxes) > 15
    for text, box in boxes:
        assert (box["left"] >= 0, box["right"] <= WIDTH, box["bottom"] <= height) == (True,) * 3, text
    covered = [(a, b) for place, (a, one) in enumerate(boxes) for b, two in boxes[place + 1 :] if meet(one, two)]
    assert covered == []
    assert chromium.run("return document.querySelectorAll('script').length") == 0


def meet(one: dict[str, float], two: dict[str, float]) -> bool:
    """Whether two boxes share more than a hair of their height."""
    across = one["left"] < two["right"] and two["left"] < one["right"]
    return across and one["top"] < two["bottom"] - 2 and two["top"] < one["bottom"] - 2


def test_colours_follow_the_scheme(chromium: Browser, tmp_path: Path) -> None:
    path = tmp_path / "plot.svg"
    path.write_bytes(as_plot.svg(curve()))
    seen = []
    for scheme in ("light", "dark"):
        chromium.resize(1280, scheme)
        chromium.driver.get(path.as_uri())
        seen.append(chromium.run("return getComputedStyle(document.querySelector('.paper')).fill"))
    assert seen == ["rgb(255, 255, 255)", "rgb(20, 23, 27)"]
