"""One self-contained HTML page: verdict and arithmetic, pictures, evidence, caveats; no network, nothing beside it.

Pictures are shapes that stand in the page. Everything that comes from a trace is untrusted text: it reaches the page
escaped or as JSON in a block that is never run, and the page's own policy lets nothing run and nothing be fetched.
"""

from __future__ import annotations

import html
import json
from importlib.resources import files
from pathlib import PurePath
from string import Template

from trace_budget import drawings
from trace_budget.drawings import colours
from trace_budget.errors import OutputError
from trace_budget.render.as_html import tables
from trace_budget.schema.page import Figure, Page
from trace_budget.schema.report import Report, caveat_facts
from trace_budget.text import safe

TEMPLATES = files("trace_budget.render.as_html") / "templates"


def render(page: Page) -> bytes:
    """The whole page as UTF-8; the same page always gives the same bytes."""
    whole = Template(_template("page.html")).substitute(
        title=html.escape(safe(_title(page))),
        style=_template("page.css") + colours.style() + drawings.PAGE_STYLE,
        head=tables.head(page),
        navigation=tables.navigation(page),
        figures="\n".join(_figure(figure) for figure in page.figures),
        tail=tables.tail(page),
        document=_as_json(_document(page.answer)),
    )
    return whole.encode()


def _title(page: Page) -> str:
    """The trace's name first: of many pages in a row of tabs, only the beginning shows."""
    path = (page.answer.trace or {}).get("path")
    name = PurePath(str(path)).name if path else ""
    return page.title if not name or page.title == path else f"{name}: {page.title}"


def _template(name: str) -> str:
    return (TEMPLATES / name).read_text(encoding="utf-8")


def _document(report: Report) -> dict[str, object]:
    """The JSON document of the answer, for programs that are given the page."""
    caveats = caveat_facts(report.caveats)
    return {"schema": report.schema, "trace": report.trace, **report.document, "caveats": caveats}


def _as_json(value: object) -> str:
    """JSON that cannot end the block it stands in; NaN and infinities become null."""
    text = json.dumps(_finite(value), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for char in "<>&\u2028\u2029":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return text


def _finite(value: object) -> object:
    if isinstance(value, str):
        return safe(value)
    if isinstance(value, float):
        return value if abs(value) < float("inf") else None
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, list | tuple) else value


def _shapes(figure: Figure) -> str:
    """The picture as shapes; what has nothing to draw is told in words."""
    try:
        return drawings.for_page(figure.picture)
    except OutputError as error:  # a picture of one point is none
        return f'<p class="dim">{tables.text(f"{error.message}. {error.advice}".capitalize())}</p>'


def _figure(figure: Figure) -> str:
    key, title, text = (html.escape(safe(part)) for part in (figure.key, figure.title, figure.text))
    return (
        f'<figure id="{key}" aria-labelledby="{key}-title" aria-describedby="{key}-text">\n'
        f'<h2 id="{key}-title">{title}</h2>\n{_shapes(figure)}\n'
        f'<figcaption id="{key}-text">{text}</figcaption>\n'
        f"<details><summary>Numbers of this figure</summary>\n{tables.table(figure.table)}</details>\n</figure>"
    )
