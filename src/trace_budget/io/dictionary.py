"""A dictionary-encoded text column that grows batch by batch: each distinct text is kept once."""

from __future__ import annotations

import polars as pl


class Dictionary:
    """Turns texts into codes, and in the end codes into an Enum column."""

    def __init__(self) -> None:
        self._codes: dict[str, int] = {}

    def code(self, text: str) -> int:
        """The code of one text."""
        return self._codes.setdefault(text, len(self._codes))

    def known(self, text: str) -> int | None:
        """The code of a text if it was seen."""
        return self._codes.get(text)

    def codes(self, column: pl.Series) -> pl.Series:
        """The codes (UInt32) of one batch of texts; null stays null."""
        distinct = column.drop_nulls().unique(maintain_order=True)
        codes = [self.code(text) for text in distinct.to_list()]
        return column.replace_strict(distinct, pl.Series(codes, dtype=pl.UInt32), default=None, return_dtype=pl.UInt32)

    def recoded(self, column: pl.Series) -> pl.Series:
        """The codes of a text column; of an Enum they are found once per category instead of once per row."""
        if not isinstance(column.dtype, pl.Enum):
            return self.codes(column)
        texts = column.dtype.categories.to_list()
        codes = pl.Series([self.code(text) for text in texts], dtype=pl.UInt32)
        return codes.gather(column.to_physical()).alias(column.name)

    def decoded(self, codes: pl.Series) -> pl.Series:
        """The texts of codes, as an Enum of all texts seen."""
        texts = list(self._codes)
        return pl.Series(codes.name, texts, dtype=pl.Enum(texts)).gather(codes)


def by_text(column: pl.Series, value: pl.Expr) -> pl.Series:
    """What an expression over `text` makes of a column of texts; of an Enum each distinct text is looked at once."""
    if not isinstance(column.dtype, pl.Enum):
        return column.cast(pl.String).to_frame("text").select(value).to_series()
    texts = pl.concat([column.dtype.categories, pl.Series([None], dtype=pl.String)])
    found = texts.to_frame("text").select(value).to_series()
    return found.gather(column.to_physical().fill_null(texts.len() - 1))
