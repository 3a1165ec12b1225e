"""The table for a terminal: never wider than asked, numbers whole, names safe, worst caveats first."""

import re

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from render.sample_reports import HOSTILE_NAME, LONG_NAME, kernels_report
from trace_budget.render import as_terminal
from trace_budget.schema.report import Line, Report, Table, TableColumn

NAMES = st.text(st.characters(exclude_categories=("Cs",)), max_size=60).filter(str.strip)


def shown(report: Report, width: int = 80, colour: bool = False) -> str:
    return as_terminal.for_screen(width, colour).render(report).decode()


@pytest.mark.parametrize("width", [40, 60, 80, 120, 300])
def test_no_line_is_wider_than_the_screen_and_no_number_is_cut(width: int) -> None:
    text = shown(kernels_report(), width)
    assert max(cell_len(line) for line in text.splitlines()) <= width
    for number in ("20.272", "1,234,567.891", "20.100", "973.07", "2.21"):
        assert number in text


@given(names=st.lists(NAMES, min_size=1, max_size=4), width=st.integers(50, 130))
def test_any_name_fits_any_screen(names: list[str], width: int) -> None:
    text = shown(kernels_report(names), width)
    assert max(cell_len(line) for line in text.splitlines()) <= width


def test_kernels_are_shown_by_their_function() -> None:
    line = next(line for line in shown(kernels_report()).splitlines() if line.startswith("fused"))
    assert re.match(r"fused_gated_delta_rule +48 ", line)
    two = [LONG_NAME, LONG_NAME.replace("128", "256")]
    lines = [line.split("  ")[0] for line in shown(kernels_report(two)).splitlines() if line.startswith("fused")]
    assert lines == ["fused_gated_delta_rule<… 128…", "fused_gated_delta_rule<… 256…"]


def test_names_that_differ_only_in_the_middle_look_different() -> None:
    names = [f"Cijk_Alik_Bljk_BBS_BH_Bias_{tile}_MI16x16x1_SN_WS64_WG64_4_1" for tile in ("MT16x64x256", "MT16x16x128")]
    lines = [line for line in shown(kernels_report(names)).splitlines() if line.startswith("Cijk")]
    assert ["MT16x64" in lines[0], "MT16x16" in lines[1]] == [True, True]


def test_prose_is_wrapped_and_tables_for_files_only_are_left_out() -> None:
    frame = pl.DataFrame({"question": ["Q1 us saved", "Q2 calls"], "answer": ["stated " * 30, "counted"]})
    columns = (TableColumn("question", "question"), TableColumn("answer", "answer", prose=True))
    text = shown(Report("x/1", {}, tables=(Table("t", "", columns, frame), Table("f", "not shown", columns, frame, 0))))
    assert text.split().count("stated") == 30
    assert "…" not in text
    assert "not shown" not in text
    assert max(cell_len(line) for line in text.splitlines()) <= 80
    assert text.splitlines()[2].startswith("             stated")


def test_narrow_screens_repeat_the_name_beside_the_remaining_columns() -> None:
    heads = [line for line in shown(kernels_report(), 50).splitlines() if line.startswith("kernel ")]
    assert len(heads) == 2
    assert "mean us" in heads[0]
    assert heads[1].split()[-1] == "step"


def test_control_characters_never_reach_the_terminal() -> None:
    text = shown(kernels_report([HOSTILE_NAME]), 200)
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", text)
    assert "evil?[31m?2J|kernel`s??next" in text


def test_plain_output_has_no_escape_and_colour_has() -> None:
    report = kernels_report()
    assert b"\x1b" not in as_terminal.RENDERER.render(report)
    coloured = shown(report, colour=True)
    assert "\x1b[32m3.228 us x 48 calls" in coloured
    assert re.sub(r"\x1b\[[\d;]*m", "", coloured).replace(" ", "") == shown(report).replace(" ", "")


def test_caveats_come_worst_first_and_last_of_all() -> None:
    tail = shown(kernels_report()).split("Caveats\n")[1].splitlines()
    assert [line.split()[:2] for line in tail] == [
        ["error", "lost_kernels"],
        ["warning", "profiled"],
        ["note", "single_step:"],
    ]


def test_rows_beyond_the_limit_are_counted() -> None:
    text = shown(kernels_report(["a", "b", "c", "d"], limit=3))
    assert "… 1 more rows" in text
    assert "\nd " not in text


def test_long_lines_go_on_below_indented() -> None:
    report = Report("x/1", {}, lines=(Line("  Q5 " + "word " * 30),))
    first, second, *_ = shown(report).splitlines()
    assert first.startswith("  Q5 word")
    assert second.startswith("    word")


def test_what_answers_stands_beside_the_name_where_not_all_fit() -> None:
    frame = pl.DataFrame({"kernel": ["k" * 30], "calls": [1234567], "us": [1234567.5], "can": ["only if removed"]})
    columns = (
        TableColumn("kernel", "kernel"), TableColumn("calls", "calls"), TableColumn("us", "us", 1),
        TableColumn("can", "can", answer=True),
    )  # fmt: skip
    report = Report("trace-budget/test/1", {}, None, (), (Table("t", "", columns, frame),))
    wide, narrow = (as_terminal.for_screen(width, colour=False).render(report).decode() for width in (100, 60))
    assert wide.splitlines()[0].split() == ["kernel", "calls", "us", "can"]
    first, _, second = narrow.partition("\n\n")
    assert first.splitlines()[0].split()[:2] == ["kernel", "can"]
    assert "only if removed" in first
    assert "1,234,567.5" in second
