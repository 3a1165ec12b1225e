"""Answers of trace_processor become the same columns that the perfetto package's own iterator gives row by row."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from perfetto.common.query_result_iterator import QueryResultIterator
from perfetto.trace_processor.platform import PlatformDelegate
from perfetto.trace_processor.protos import ProtoFactory

from trace_budget.io.perfetto.columns import frame

MESSAGES = ProtoFactory(PlatformDelegate())
NULL, INTEGER, TEXT = 1, 2, 4
COLUMNS = {"number": pl.Int64, "words": pl.String, "second": pl.Int64}
INT64 = st.integers(min_value=-(2**63), max_value=2**63 - 1)
WORDS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=9)
ROWS = st.lists(st.tuples(st.none() | INT64, st.none() | WORDS, st.none() | INT64), max_size=30)


def answer(rows: list[tuple[Any, ...]], rows_per_batch: int) -> Any:
    result = MESSAGES.QueryResult(column_names=list(COLUMNS))
    for at in range(0, max(len(rows), 1), rows_per_batch):
        batch = result.batch.add()
        cells = [cell for row in rows[at : at + rows_per_batch] for cell in row]
        batch.cells.extend(NULL if c is None else TEXT if isinstance(c, str) else INTEGER for c in cells)
        batch.varint_cells.extend(cell for cell in cells if isinstance(cell, int))
        batch.string_cells = "".join(cell + "\0" for cell in cells if isinstance(cell, str))
    result.batch[-1].is_last_batch = True
    return result


@given(ROWS, st.integers(min_value=1, max_value=7))
def test_equal_to_the_iterator_of_the_perfetto_package(rows: list[tuple[Any, ...]], rows_per_batch: int) -> None:
    result = answer(rows, rows_per_batch)
    iterator = QueryResultIterator(result.column_names, result.batch)
    expected = [(row.number, row.words, row.second) for row in iterator]
    got = frame(result, COLUMNS)
    assert got.rows() == expected == rows
    assert got.schema == pl.Schema(COLUMNS)


def test_a_cell_of_another_type_is_null() -> None:
    result = answer([(1, "a", 2)], 1)
    assert frame(result, {"number": pl.String, "words": pl.Int64, "second": pl.Int64}).rows() == [(None, None, 2)]


def test_bytes_that_are_not_utf8_become_replacement_characters() -> None:
    raw = MESSAGES.QueryResult(column_names=["words"]).SerializeToString()
    batch = bytes([0x0A, 1, TEXT, 0x2A, 3]) + b"\xffa\0" + b"\x30\x01"
    result = MESSAGES.QueryResult.FromString(raw + bytes([0x1A, len(batch)]) + batch)
    assert frame(result, {"words": pl.String}).rows() == [("�a",)]


def test_columns_must_be_the_declared_ones() -> None:
    with pytest.raises(ValueError, match="declared"):
        frame(answer([], 1), {"number": pl.Int64})
