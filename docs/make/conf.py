"""Sphinx settings of the site that `docs/make/site.py` builds; the order of its pages is that of index.md."""

import re
from typing import Any

from trace_budget._version import VERSION

project = "trace-budget"
author = "the trace-budget contributors"
project_copyright = "the trace-budget contributors, Apache-2.0"
version = release = VERSION

extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["make/**"]
myst_heading_anchors = 3
smartquotes = False

html_theme = "furo"
html_title = f"trace-budget {VERSION}"
html_copy_source = False
html_show_sphinx = False
html_permalinks_icon = "#"

LINK = re.compile(r"\[([^\]]+)\]\(([\w/.-]+)\.md\)")


def navigation(text: str) -> str:
    """One table of contents per section of index.md, of the pages that the section links to."""
    parts = []
    for section in text.split("\n## ")[1:]:
        caption = section.splitlines()[0]
        pages = [f"{title} <{page}>" for title, page in LINK.findall(section)]
        parts.append("\n".join(["```{toctree}", ":hidden:", f":caption: {caption}", "", *pages, "```"]))
    return text + "\n" + "\n\n".join(parts) + "\n"


def _read(_app: Any, name: str, source: list[str]) -> None:
    if name == "index":
        source[0] = navigation(source[0])


def setup(app: Any) -> None:
    """Called by Sphinx."""
    app.connect("source-read", _read)
