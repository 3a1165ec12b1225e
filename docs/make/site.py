"""Builds the site and checks it: `python docs/make/site.py [OUT]` (default: build/site; needs the extra `docs`).

Every link must lead somewhere, and nothing may be loaded from another machine.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

DOCS = Path(__file__).parents[1]
OUT = DOCS.parent / "build" / "site"
LOADED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "audio": "src", "video": "src"}
LOADED_LINKS = {"stylesheet", "icon", "preload", "modulepreload", "preconnect", "dns-prefetch", "manifest", "prefetch"}
IN_STYLES = re.compile(r"(?:@import\s+|url\()\s*['\"]?((?:https?:)?//[^'\")\s]+)")


class Page(HTMLParser):
    """What a page loads, where its links lead, and the anchors it has."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Sort the addresses of one element."""
        values = {name: value or "" for name, value in attrs}
        self.anchors |= {values[key] for key in ("id", "name") if key in values}
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        if tag == "link" and LOADED_LINKS & set(values.get("rel", "").split()):
            self.loads.append(values.get("href", ""))
        if tag in LOADED and LOADED[tag] in values:
            self.loads.append(values[LOADED[tag]])


def faults(site: Path) -> Iterator[str]:
    """One line for each dead link, dead anchor, and thing that a page or style would fetch from another machine."""
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}
    for path, page in pages.items():
        name = path.relative_to(site)
        yield from (f"{name}: loads {address}" for address in page.loads if _is_foreign(address))
        for link in (*page.links, *page.loads):
            if not _is_foreign(link) and not _leads_somewhere(path, link, pages):
                yield f"{name}: dead link {link}"
    for path in sorted(site.rglob("*.css")):
        for address in IN_STYLES.findall(path.read_text(encoding="utf-8")):
            yield f"{path.relative_to(site)}: loads {address}"


def _is_foreign(address: str) -> bool:
    parts = urlsplit(address)
    return bool(parts.netloc) or parts.scheme in {"http", "https", "mailto"}


def _leads_somewhere(page: Path, link: str, pages: dict[Path, Page]) -> bool:
    parts = urlsplit(link)
    if parts.scheme == "data":
        return True
    target = (page.parent / unquote(parts.path)).resolve() if parts.path else page.resolve()
    known = {path.resolve(): parsed for path, parsed in pages.items()}
    if target not in known:
        return target.is_file() and not parts.fragment
    return not parts.fragment or unquote(parts.fragment) in known[target].anchors


def build(out: Path) -> int:
    """Build with every warning an error; Sphinx's exit code."""
    from sphinx.cmd.build import build_main  # noqa: PLC0415  (checking a site needs no Sphinx)

    return build_main(["-W", "--keep-going", "-q", "-E", "-c", str(DOCS / "make"), str(DOCS), str(out)])


def main(out: Path) -> int:
    """Build and check; 0 when nothing is wrong."""
    code = build(out)
    found = list(faults(out)) if code == 0 else []
    sys.stderr.writelines(f"{line}\n" for line in found)
    return code or int(bool(found))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else OUT))
