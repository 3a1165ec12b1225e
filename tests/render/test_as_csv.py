"""CSV: every row and column of the first table, quoted so that any reader gets the same cells back."""

import csv
import io

from render.sample_reports import HOSTILE_NAME, LONG_NAME, kernel_frame, kernels_report
from trace_budget.render import as_csv


def rows(text: bytes) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text.decode())))


def test_header_is_the_frame_and_rows_are_all_there() -> None:
    got = rows(as_csv.render(kernels_report(limit=1)))
    assert got[0] == kernel_frame(["a"]).columns
    assert [row[0] for row in got[1:]] == [LONG_NAME, 'evil?[31m?2J|kernel`s??next, "quoted" *bold* <b>&', "short"]
    assert "\x1b" in HOSTILE_NAME


def test_numbers_unknowns_and_lists() -> None:
    first, second = rows(as_csv.render(kernels_report(["a", "b"])))[1:]
    assert first == ["a", "48.0", "20.27239", "20.1", "973.0747", "2.2115", "3 7"]
    assert second == ["b", "1.5", "1234567.891", "", "", "0.0", "0"]


def test_what_a_spreadsheet_would_run_gets_an_apostrophe() -> None:
    names = ["=cmd|' /C calc'!A0", "+1", "-x", "@SUM(1)", "a=b", "k-1"]
    got = [row[0] for row in rows(as_csv.render(kernels_report(names)))[1:]]
    assert got == ["'=cmd|' /C calc'!A0", "'+1", "'-x", "'@SUM(1)", "a=b", "k-1"]
