"""One browser per test process, and the pages it looks at; without Chromium these tests are skipped."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from browser.pages import PAGES

if TYPE_CHECKING:
    from browser.chromium import Browser


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """The browser."""
    if not (shutil.which("chromedriver") and any(map(shutil.which, ("chromium", "chromium-browser", "google-chrome")))):
        pytest.skip("no Chromium with its driver is installed")
    pytest.importorskip("selenium")
    from browser.chromium import browser

    with browser() as started:
        yield started


@pytest.fixture(scope="session")
def page(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """The file of a page by its name, written once."""
    folder = tmp_path_factory.mktemp("pages")

    def written(name: str) -> Path:
        path: Path = folder / f"{name}.html"
        if not path.exists():
            path.write_bytes(PAGES[name]())
        return path

    return written
