"""One file = one output; each file's RENDERER says its suffixes and whether it is binary.

`MODULES` is the explicit list, format by format: adding an output is one new file and one line here. Nothing is
imported before it is loaded, so that the list may stand in `--help`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trace_budget.contracts import Renderer

MODULES = {
    "table": "as_terminal",
    "json": "as_json",
    "csv": "as_csv",
    "markdown": "as_markdown",
    "parquet": "as_parquet",
}
NAMES: tuple[str, ...] = tuple(MODULES)
# Outputs that draw a model of their own instead of a Report (schema/page.py, schema/timeline.py); their commands call
# them by name.
DRAWN: tuple[str, ...] = ("as_html", "as_plot", "as_timeline")


def load(name: str) -> Renderer:
    """The renderer of one format; its module is imported only now."""
    renderer: Renderer = import_module(f"trace_budget.render.{MODULES[name]}").RENDERER
    return renderer


def name_for_suffix(suffix: str) -> str | None:
    """The format whose renderer claims a file suffix such as `.md`; None when nobody does."""
    return next((name for name in NAMES if suffix.lower() in load(name).suffixes), None)
