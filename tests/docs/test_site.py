"""The check of the built site finds dead links, dead anchors, and what would be fetched from another machine."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from docs.blocks import ROOT


@pytest.fixture(scope="module")
def site() -> ModuleType:
    spec = importlib.util.spec_from_file_location("site_maker", ROOT / "docs" / "make" / "site.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


GOOD = """<link rel="stylesheet" href="static/own.css"><a href="other.html#there">x</a><a href="#here" id="here">y</a>
<a href="https://elsewhere.example/page">a link may lead away</a><img src="data:image/png;base64,AA==">"""


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        (GOOD, None),
        ('<a href="gone.html">', "index.html: dead link gone.html"),
        ('<a href="other.html#gone">', "index.html: dead link other.html#gone"),
        ('<script src="https://cdn.example/x.js"></script>', "index.html: loads https://cdn.example/x.js"),
        ('<script src="//cdn.example/x.js"></script>', "index.html: loads //cdn.example/x.js"),
        ('<link rel="stylesheet" href="https://fonts.example/a.css">', "index.html: loads https://fonts.example/a.css"),
        ('<link rel="preconnect" href="https://fonts.example">', "index.html: loads https://fonts.example"),
        ('<img src="static/gone.png">', "index.html: dead link static/gone.png"),
    ],
)
def test_faults_of_a_page(site: ModuleType, tmp_path: Path, body: str, fault: str | None) -> None:
    (tmp_path / "static").mkdir()
    (tmp_path / "static" / "own.css").write_text("body { background: url(own.png) }")
    (tmp_path / "other.html").write_text('<h1 id="there">x</h1>')
    (tmp_path / "index.html").write_text(body)
    assert list(site.faults(tmp_path)) == ([fault] if fault else [])


@pytest.mark.parametrize("style", ["@import 'https://cdn.example/a.css';", "a { src: url(https://cdn.example/a.css) }"])
def test_faults_of_a_style(site: ModuleType, tmp_path: Path, style: str) -> None:
    (tmp_path / "a.css").write_text(style)
    assert list(site.faults(tmp_path)) == ["a.css: loads https://cdn.example/a.css"]


def test_every_page_is_in_the_order_of_pages() -> None:
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    pages = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")} - {"index.md"}
    assert [page for page in sorted(pages) if f"]({page})" not in index] == []
