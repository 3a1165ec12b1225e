"""Writes docs/glossary.md from the glossary: `python docs/make/glossary_page.py`."""

from __future__ import annotations

from pathlib import Path

from trace_budget.schema.glossary import CAVEAT, TERM, entries

PAGE = Path(__file__).parents[1] / "glossary.md"
INTRO = """# Glossary

Written by `docs/make/glossary_page.py` from `schema/glossary.toml`; do not edit by hand. `trace-budget explain WORD`
says the same.
"""
HEADS = {TERM: ("Terms", "term"), CAVEAT: ("Caveats", "code")}


def page() -> str:
    """The whole page as Markdown."""
    return "\n".join([INTRO, *(_table(kind) for kind in (TERM, CAVEAT))])


def _table(kind: str) -> str:
    title, column = HEADS[kind]
    rows = [f"| `{entry.word}` | {_escaped(entry.text)} |" for entry in entries() if entry.kind == kind]
    return "\n".join([f"## {title}", "", f"| {column} | meaning |", "| :--- | :--- |", *rows, ""])


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "\\<")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
