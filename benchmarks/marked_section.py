"""Parts of a page that programs write each for itself: between `<!-- NAME -->` and `<!-- /NAME -->`."""

from __future__ import annotations

from pathlib import Path


def section(page: str, name: str) -> str:
    """What stands between the marks of a page, marks included; empty marks where there are none."""
    begin, end = f"<!-- {name} -->", f"<!-- /{name} -->"
    _, found, rest = page.partition(begin)
    inside, closed, _ = rest.partition(end)
    return f"{begin}{inside}{end}" if found and closed else f"{begin}\n{end}"


def write_section(file: Path, name: str, text: str) -> None:
    """Put a text between the marks of a page. ValueError when the page lacks them."""
    page = file.read_text(encoding="utf-8")
    old = section(page, name)
    if old not in page:
        raise ValueError(f"{file}: no marks {name}")
    file.write_text(page.replace(old, f"<!-- {name} -->\n{text.strip()}\n<!-- /{name} -->"), encoding="utf-8")
