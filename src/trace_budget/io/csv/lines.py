"""Sound and damaged lines of a CSV table: which lines have the right fields, and how the others are mended."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

_FIELD = r'(?:"(?:[^"]|"")*"|[^",\n]*)'
_PLAIN_FIELD = r'(?:"[^",\n]*"|[^",\n]*)'
# a closing quote and integer fields after it, inside a name: two rows torn into one line
_TWO_ROWS = r'"(?:,"?\d+"?){2}'


@dataclass(frozen=True, slots=True)
class SortedOut:
    """`lines` are all sound and in order; `dropped` are the numbers of the lines that could not be mended."""

    lines: pl.Series
    repaired: int
    dropped: tuple[int, ...]


class Lines:
    """Checks lines against a table with `left` columns before its wide column and `right` after it.

    A line is sound when it has exactly that many well-formed fields (RFC 4180). Profilers of AMD and Hygon quote names
    without escaping the quotes inside: then the text between the fixed columns on both sides is quoted anew. A record
    broken by line breaks is joined again. What still has a wrong number of fields is dropped.
    """

    def __init__(self, left: int, right: int, separator: str = ",") -> None:
        field, plain, self._two_rows = (part.replace(",", separator) for part in (_FIELD, _PLAIN_FIELD, _TWO_ROWS))
        self._sound = f"^(?:{field}{separator}){{{left + right}}}{field}$"
        self._parts = rf"(?s)^((?:{field}{separator}){{{left}}})(.*)((?:{separator}{plain}){{{right}}})$"
        self._begins = rf"^(?:{field}{separator}){{{left}}}" if left else '^"'

    def fitting(self, lines: pl.Series, first_number: int) -> list[int]:
        """The numbers of the lines that are sound as they stand, of lines whose first has the number `first_number`."""
        return (lines.str.contains(self._sound).fill_null(value=False).arg_true() + first_number).to_list()

    def sound(self, lines: pl.Series, first_number: int) -> SortedOut:
        """Sort out lines whose first has the number `first_number`; blank lines (null) count for nothing."""
        frame = pl.DataFrame({"line": lines}).with_row_index("number", first_number).drop_nulls("line")
        fits = frame["line"].str.contains(self._sound)
        if fits.all():
            return SortedOut(frame["line"], 0, ())
        good, damaged = frame.filter(fits), frame.filter(~fits)
        mended = self._mended(damaged)
        joined = self._mended(self._joined(damaged.join(mended, on="number", how="anti", maintain_order="left")))
        kept = pl.concat([good, mended, joined.select("number", "line")]).sort("number")
        lost = self._lost(damaged, mended, joined)
        return SortedOut(kept["line"], mended.height + joined.height, tuple(lost))

    def _mended(self, damaged: pl.DataFrame) -> pl.DataFrame:
        """Those of the damaged lines that are sound once their wide field is quoted anew."""
        parts = pl.col("line").str.extract_groups(self._parts)
        left, name, right = (parts.struct.field(str(group)) for group in (1, 2, 3))
        inner = (
            pl.when(name.str.contains(r'(?s)^".*"$')).then(name.str.slice(1, name.str.len_chars() - 2)).otherwise(name)
        )
        quoted = pl.concat_str(left, pl.lit('"'), inner.str.replace_all('"', '""', literal=True), pl.lit('"'), right)
        fits = pl.col("line").str.contains(self._sound)
        two_rows = name.str.contains(self._two_rows)
        line = pl.when(fits).then(pl.col("line")).when(~two_rows).then(quoted)
        return damaged.with_columns(line.alias("line")).filter(pl.col("line").str.contains(self._sound))

    def _joined(self, pieces: pl.DataFrame) -> pl.DataFrame:
        """Neighbouring pieces joined to records: a record begins where the fields left of the wide one are found."""
        begins = pl.col("line").str.contains(self._begins) | (pl.col("number").diff() != 1).fill_null(value=True)
        groups = pieces.with_columns(begins.cum_sum().alias("record")).group_by("record", maintain_order=True)
        return groups.agg(pl.col("number").min(), pl.len().alias("pieces"), pl.col("line").str.join("\n")).drop(
            "record"
        )

    def _lost(self, damaged: pl.DataFrame, mended: pl.DataFrame, joined: pl.DataFrame) -> list[int]:
        spans = joined.with_columns(pl.int_ranges("number", pl.col("number") + pl.col("pieces")).alias("number"))
        used = pl.concat([mended["number"].cast(pl.Int64), spans["number"].explode().cast(pl.Int64)])
        numbers = damaged["number"].cast(pl.Int64)
        return numbers.filter(~numbers.is_in(used.implode())).to_list()
