"""A headless Chromium: opens a file at a width and in a colour scheme, and tells what the page said and asked for."""

import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.support.ui import WebDriverWait

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
DRIVER = shutil.which("chromedriver")
SECONDS = 60
QUIET = (
    "headless", "no-sandbox", "disable-gpu", "disable-quic", "no-first-run", "disable-background-networking",
    "disable-component-update", "disable-sync", "disable-dev-shm-usage",
)  # fmt: skip
OVERLAPS = """
const [selector] = arguments;
const named = (plot) => (plot.closest("figure") ?? plot).id;
return [...document.querySelectorAll("svg.drawn, .plot")].flatMap((plot) => {
  const boxes = [...plot.querySelectorAll(selector)].map((e) => [e.textContent, e.getBoundingClientRect()])
    .filter(([text, box]) => text.trim() && box.width);
  const across = (one, two) => one.left < two.right - 1 && two.left < one.right - 1;
  const along = (one, two) => one.top < two.bottom - 2 && two.top < one.bottom - 2;
  return boxes.flatMap(([a, one], i) => boxes.slice(i + 1)
    .filter(([, two]) => across(one, two) && along(one, two)).map(([b]) => `${named(plot)}: ${a} | ${b}`));
});
"""


class Browser:
    """One browser window."""

    def __init__(self, driver: webdriver.Chrome) -> None:
        self.driver = driver

    def command(self, name: str, **arguments: object) -> Any:
        """A command of the DevTools protocol."""
        return self.driver.execute_cdp_cmd(name, arguments)

    def resize(self, width: int, scheme: str, media: str = "screen") -> None:
        """Set width in CSS pixels, `light` or `dark`, and the medium."""
        self.command("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self.command("Emulation.setEmulatedMedia", media=media, features=features)

    def open(self, path: Path, width: int = 1280, scheme: str = "light") -> None:
        """Load the page anew and wait until it is there."""
        self.resize(width, scheme)
        for kind in ("browser", "performance"):
            self.driver.get_log(kind)
        self.driver.get(path.as_uri())
        self.wait("document.readyState === 'complete'")

    def run(self, script: str, *arguments: object) -> Any:
        """Run a script in the page and return its value."""
        return self.driver.execute_script(script, *arguments)

    def wait(self, condition: str) -> None:
        """Wait until an expression in the page is true."""
        WebDriverWait(self.driver, SECONDS, 0.05).until(lambda _: self.run(f"return {condition}"))

    def console(self) -> list[str]:
        """Everything the page wrote to the console since it was opened: errors, refused scripts, warnings."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def requests(self) -> list[str]:
        """Every address the page asked for since it was opened, itself included; pictures inside the page are none."""
        messages = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        urls = [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]
        return [url for url in urls if not url.startswith("data:")]

    def overlaps(self, selector: str) -> list[str]:
        """Texts of one figure, chosen by a CSS selector, that cover each other."""
        found: list[str] = self.run(OVERLAPS, selector)
        return found


@contextmanager
def browser() -> Iterator[Browser]:
    """A browser with an empty profile of its own."""
    options = Options()
    options.binary_location = CHROMIUM or ""
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        for argument in (*QUIET, f"user-data-dir={profile}"):
            options.add_argument(f"--{argument}")
        driver = webdriver.Chrome(options=options, service=Service(DRIVER))
        try:
            yield Browser(driver)
        finally:
            driver.quit()
