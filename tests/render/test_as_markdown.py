"""Markdown: what GitHub shows is checked with an independent parser of the same dialect."""

import re

import pytest
from markdown_it import MarkdownIt

from render.sample_reports import HOSTILE_NAME, kernels_report
from trace_budget.render import as_markdown
from trace_budget.schema.report import Line, Report

CLEAN_HOSTILE = 'evil?[31m?2J|kernel`s??next, "quoted" *bold* <b>&'


def cells_of(text: str) -> list[list[str]]:
    """The table rows as GitHub would show them: code spans and escapes resolved."""
    tokens = MarkdownIt("gfm-like", {"linkify": False}).parse(text)
    rows: list[list[str]] = []
    for token in tokens:
        if token.type == "table_close":
            break
        if token.type == "tr_open":
            rows.append([])
        if token.type == "inline" and rows:
            rows[-1].append("".join(child.content for child in token.children or []))
    return rows


def test_the_table_parses_and_every_cell_is_what_it_was() -> None:
    rows = cells_of(as_markdown.render(kernels_report([HOSTILE_NAME, "short"])).decode())
    assert [len(row) for row in rows] == [6, 6, 6]
    assert rows[1] == [CLEAN_HOSTILE, "48", "20.272", "20.100", "973.07", "2.21"]
    assert rows[2] == ["short", "1.50", "1,234,567.891", "-", "-", "0.00"]


def test_numbers_are_right_aligned_and_the_source_lines_up() -> None:
    text = as_markdown.render(kernels_report()).decode()
    table = [line for line in text.splitlines() if line.startswith("|")]
    assert len({len(line) for line in table}) == 1
    assert re.fullmatch(r"\| :-+ (\| -+: ){5}\|", table[1])


def test_lines_keep_their_alignment_in_a_fence_that_nothing_closes() -> None:
    report = Report("x/1", {}, lines=(Line("a*b_c", "title"), Line("  3.228 us"), Line("``` not the end")))
    tokens = MarkdownIt("commonmark").parse(as_markdown.render(report).decode())
    fence = next(token for token in tokens if token.type == "fence")
    assert fence.content == "  3.228 us\n``` not the end\n"
    heading = tokens[[token.type for token in tokens].index("heading_open") + 1]
    assert "".join(child.content for child in heading.children or []) == "a*b_c"


@pytest.mark.parametrize("limit", [1, 2])
def test_rows_beyond_the_limit_are_counted_below_the_table(limit: int) -> None:
    text = as_markdown.render(kernels_report(["a", "b", "c"], limit=limit)).decode()
    assert f"\n\n{3 - limit} more rows;" in text
    assert len(cells_of(text)) == 1 + limit


def test_caveats_are_one_list_worst_first() -> None:
    tail = as_markdown.render(kernels_report()).decode().split("**Caveats**\n\n")[1]
    assert [line.split("`")[1] for line in tail.splitlines()] == ["lost_kernels", "profiled", "single_step"]


@pytest.mark.parametrize("name", ["@somebody", "https://example.org/x", "www.example.org"])
def test_names_become_no_links_and_call_nobody(name: str) -> None:
    text = as_markdown.render(kernels_report([name, "short"])).decode()
    assert f"| `{name}`" in text
    assert [row[0] for row in cells_of(text)[1:]] == [name, "short"]
