"""explain: two sentences on a term of the answers, or on a caveat code."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Annotated

from trace_budget.errors import UsageError
from trace_budget.schema.option import Argument

if TYPE_CHECKING:
    from trace_budget.schema.report import Report

EXAMPLES = (
    "trace-budget explain dilution",
    "trace-budget explain one_rank",
)

Word = Annotated[str | None, Argument("[WORD]", "A term or a caveat code (default: all of them).")]


def explain(word: Word = None) -> Report:
    """Two sentences on a term of the answers, or on a caveat code."""
    import polars as pl

    from trace_budget.schema.documents.others import Listing
    from trace_budget.schema.glossary import entries, looked_up
    from trace_budget.schema.report import Line, Report, Table, TableColumn

    found = entries() if word is None else looked_up(word)
    if not found:
        near = get_close_matches(str(word).lower(), [entry.word for entry in entries()], 3)
        advice = f"Did you mean {' or '.join(near)}?" if near else "`trace-budget explain` lists all words."
        raise UsageError("no such word", found=repr(word), expected="a term or a caveat code", advice=advice)
    rows = [{"word": entry.word, "kind": entry.kind, "text": entry.text} for entry in found]
    columns = (TableColumn("word", "word"), TableColumn("text", "what it means", prose=True))
    lines = () if word is None else tuple(Line(f"{entry.word}: {entry.text}") for entry in found)
    table = Table("glossary", "", columns, pl.DataFrame(rows), None if word is None else 0)
    return Report("trace-budget/explain/1", Listing(rows), None, lines, (table,))
