"""Texts of a column looked at once each: the answer is that of every row."""

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from trace_budget.io.dictionary import by_text

LENGTH = pl.col("text").str.len_bytes().fill_null(99).cast(pl.Int64)


@given(st.lists(st.none() | st.text("abc", max_size=3), max_size=20))
def test_distinct_texts_and_rows_give_the_same(texts: list[str | None]) -> None:
    plain = pl.Series("name", texts, dtype=pl.String)
    coded = plain.cast(pl.Enum(plain.drop_nulls().unique()))
    assert by_text(coded, LENGTH).to_list() == by_text(plain, LENGTH).to_list()
    assert by_text(plain, LENGTH).to_list() == [99 if text is None else len(text) for text in texts]
