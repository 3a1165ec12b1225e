"""Writes docs/schema.md from the declared tables: `python docs/make/schema_page.py`."""

from __future__ import annotations

from pathlib import Path

from trace_budget import questions
from trace_budget.render import as_markdown

PAGE = Path(__file__).parents[1] / "schema.md"
INTRO = """# Tables

Written by `docs/make/schema_page.py` from the tables the readers fill; do not edit by hand.
`trace-budget schema --format markdown` shows the same tables. Times are integer nanoseconds in columns that end in
`_ns`, intervals are half-open; an empty cell means that the trace cannot tell, never 0.
"""


def page() -> str:
    """The whole page as Markdown."""
    return INTRO + "\n" + as_markdown.render(questions.function("schema")()).decode()


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
