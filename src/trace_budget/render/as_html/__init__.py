"""One self-contained HTML page: verdict and arithmetic, pictures, evidence, caveats; no network, nothing beside it.

Everything that comes from a trace is untrusted text: it reaches the page as escaped text or as JSON in a block that is
never run, and the page's own policy lets only its two scripts run, by their hashes, and nothing be fetched.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
from collections.abc import Callable
from contextlib import suppress
from importlib.resources import files
from pathlib import PurePath
from string import Template

from trace_budget import drawings
from trace_budget.drawings import colours
from trace_budget.errors import OutputError
from trace_budget.render.as_html import curve, durations, kernels, layers, steps, strip, tables, waterfall
from trace_budget.render.as_html.drawing import Drawing, Names
from trace_budget.schema.page import (
    Curve,
    Figure,
    Histogram,
    KernelBars,
    LayerMap,
    Page,
    StepTimes,
    Strip,
    Waterfall,
)
from trace_budget.schema.report import Report, caveat_facts
from trace_budget.text import safe

DRAW: dict[type, Callable[..., Drawing]] = {
    Curve: curve.draw,
    Waterfall: waterfall.draw,
    Strip: strip.draw,
    LayerMap: layers.draw,
    KernelBars: kernels.draw,
    Histogram: durations.draw,
    StepTimes: steps.draw,
}
TEMPLATES = files("trace_budget.render.as_html") / "templates"
INSTALL = "pip install plotly"


def plotly_js() -> str:
    """The drawing library, MIT-licensed, as the plotly package ships it; OutputError when that is not installed."""
    try:
        from plotly.offline import get_plotlyjs
    except ImportError as error:
        raise OutputError(
            "the page needs plotly, which is not installed", where="report", advice=f"{INSTALL} brings it."
        ) from error
    script: str = get_plotlyjs()
    return script


def render(page: Page) -> bytes:
    """The whole page as UTF-8; the same page always gives the same bytes. Raises OutputError without plotly."""
    library, script = (_as_script(text) for text in (plotly_js(), _template("page.js")))
    names = Names()
    drawn = {
        figure.key: DRAW[type(figure.picture)](figure.picture, names).as_json()
        for figure in page.figures
        if type(figure.picture) in DRAW
    }
    whole = Template(_template("page.html")).substitute(
        policy=f"script-src {_hash(library)} {_hash(script)}",
        title=html.escape(safe(_title(page))),
        style=_template("page.css") + colours.style() + drawings.PAGE_STYLE,
        head=tables.head(page),
        navigation=tables.navigation(page),
        figures="\n".join(_figure(figure) for figure in page.figures),
        tail=tables.tail(page),
        data=_as_json({"names": names.listed(), "figures": drawn}),
        document=_as_json(_document(page.answer)),
        library=library,
        script=script,
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


def _as_script(text: str) -> str:
    """The script in a form that cannot end the element it stands in."""
    return text.replace("</script", "<\\/script")


def _hash(script: str) -> str:
    """The script by its hash, as a policy names it (https://www.w3.org/TR/CSP3/#grammardef-hash-source)."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"


def _shapes(figure: Figure, key: str, title: str) -> str:
    """The picture as shapes; where the script draws a better one, they are shown without scripts alone."""
    if type(figure.picture) not in DRAW:
        return drawings.for_page(figure.picture)
    still = ""
    with suppress(OutputError):  # a picture of one point is none
        still = f"<noscript>{drawings.for_page(figure.picture)}</noscript>\n"
    return (
        f'<div class="views" id="{key}-views"></div>\n'
        f'<div class="plot" id="{key}-plot" tabindex="0" role="group" aria-label="{title}"></div>\n{still}'
    )


def _figure(figure: Figure) -> str:
    key, title, text = (html.escape(safe(part)) for part in (figure.key, figure.title, figure.text))
    return (
        f'<figure id="{key}" aria-labelledby="{key}-title" aria-describedby="{key}-text">\n'
        f'<h2 id="{key}-title">{title}</h2>\n{_shapes(figure, key, title)}'
        f'<figcaption id="{key}-text">{text}</figcaption>\n'
        f"<details><summary>Numbers of this figure</summary>\n{tables.table(figure.table)}</details>\n</figure>"
    )
