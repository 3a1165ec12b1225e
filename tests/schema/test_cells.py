"""Cells as people read them, and frames as files take them."""

import math

import polars as pl
import pytest

from trace_budget.schema.cells import ShownColumn, hidden_rows, plain_frame, show_cell, shown_columns
from trace_budget.schema.report import Table, TableColumn


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (None, 3, "-"),
        (math.nan, None, "-"),
        (True, None, "yes"),
        (False, 3, "no"),
        (1234, None, "1,234"),
        (1.5, None, "1.50"),
        (10743.18149, 3, "10,743.181"),
        (48, 2, "48.00"),
        ([3, 7], None, "3, 7"),
        ("a\x1bb", None, "a?b"),
    ],
)
def test_one_value_as_text(value: object, digits: int | None, text: str) -> None:
    assert show_cell(value, digits) == text


def test_shown_columns_follow_the_declared_order_and_the_limit() -> None:
    frame = pl.DataFrame({"us": [1.0, 2.0, 3.0], "name": ["a", "b", "c"], "extra": [0, 0, 0]})
    table = Table("t", "T", (TableColumn("name", "name"), TableColumn("us", "us", 1)), frame, limit=2)
    name, us = shown_columns(table)
    assert name == ShownColumn("name", ["a", "b"], numeric=False, prose=False)
    assert us == ShownColumn("us", ["1.0", "2.0"], numeric=True, prose=False)
    assert hidden_rows(table) == 1


def test_plain_frames_hold_text_instead_of_codes() -> None:
    frame = pl.DataFrame({"k": pl.Series(["x\x9b", "y"], dtype=pl.Enum(["x\x9b", "y"])), "n": [1, 2]})
    plain = plain_frame(frame)
    assert plain.schema == {"k": pl.String, "n": pl.Int64}
    assert plain["k"].to_list() == ["x?", "y"]
