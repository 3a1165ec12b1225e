"""The cells of a CSV header, whatever separates them, and numbers in cells as other programs write them again.

Spreadsheets of many countries separate columns by semicolons and write decimal commas; data frames with a missing value
write integers as `7000000030000.0`. What is exact is read. Stamps whose digits are gone (`7.00000E+12`) are refused.
"""

from __future__ import annotations

import csv
import re
from decimal import Decimal

import polars as pl

from trace_budget.errors import InputError

Cells = tuple[str, ...]
_SEPARATORS = (",", ";", "\t")
_QUOTED = re.compile(r'"[^"]*"')
# three zeros behind a comma, or in a table of semicolons behind a point, may be those of thousands
_WHOLE = {
    ",": r"^\s*([-+]?\d+)(?:\.0*|,(?:0{0,2}|0{4,}))?\s*$",
    ";": r"^\s*([-+]?\d+)(?:,0*|\.(?:0{0,2}|0{4,}))?\s*$",
}
_EXPONENT = r"^\s*[-+]?\d+(?:[.,]\d*)?[eE][-+]?\d{1,3}\s*$"
_STAMP = re.compile(r"(?i)timestamp|^(?:begin|end|dispatch|complete)ns$|^(?:orig )?(?:start|end|duration)$")
# a number in groups of three, at least two of them behind the first
_GROUPED = r"^\s*\d{1,3}(?:[.,' \u00a0\u202f]\d{3}){2,}\s*$"
_SAMPLE = 100  # rows at either end of a chunk in which grouped stamps are looked for
_EXACT_FLOATS = 1 << 53
_ADVICE = "Take the profiler's own file, or have the program that wrote this one keep whole numbers (as text)."


def separator_of(header: str) -> str:
    """What separates the cells of a header line: of comma, semicolon and tab the one that stands most often."""
    bare = _QUOTED.sub("", header)
    return max(_SEPARATORS, key=bare.count)


def header_cells(line: str, separator: str | None = None) -> Cells:
    """Split a header line into its cells, without BOM, quotes and blanks around them; nothing when it is no CSV."""
    text = line.removeprefix("\ufeff").strip()
    try:
        rows = list(csv.reader([text], delimiter=separator or separator_of(text)))
    except csv.Error:
        return ()
    return tuple(cell.strip() for cell in rows[0]) if rows else ()


def is_stamp(column: str) -> bool:
    """Whether a column holds starts or ends, which are of no use without their last digits."""
    return _STAMP.search(column) is not None


def integers(name: str, column: pl.Series, separator: str, where: str) -> pl.Series:
    """Int64 of a text column, null for what is no whole number; InputError for stamps that lost their digits."""
    found = column.cast(pl.Int64, strict=False)
    if found.null_count() == column.null_count():
        return found
    odd = column.filter(found.is_null() & column.is_not_null())
    if is_stamp(name):
        _refuse_rounded(name, odd, separator, where)
    whole = column.str.extract(_pattern(separator), 1).cast(pl.Int64, strict=False)
    found = found.zip_with(found.is_not_null(), whole)
    if not odd.str.contains(_EXPONENT).any():
        return found
    return found.zip_with(found.is_not_null(), _expanded(column).cast(pl.Int64, strict=False))


def decimals(name: str, column: pl.Series, separator: str, where: str) -> pl.Series:
    """Decimal text without exponents and decimal commas; InputError for stamps that lost their digits."""
    if is_stamp(name):
        _refuse_grouped(name, column, where)
    text = column.str.replace(",", ".", literal=True) if separator != "," else column
    digits = text.str.join("").item()  # one text is searched sooner than many
    if "E" not in digits and "e" not in digits:
        return text
    if is_stamp(name):
        _refuse_rounded(name, text.drop_nulls(), separator, where)
    return _expanded(text)


def _expanded(column: pl.Series) -> pl.Series:
    """Texts with exponents written out."""
    odd = column.filter(column.str.contains(_EXPONENT).fill_null(value=False)).unique(maintain_order=True)
    plain = [format(Decimal(text.strip().replace(",", ".")), "f") for text in odd]
    return column.replace(odd, pl.Series(plain, dtype=pl.String)).str.replace(r"\.0*$", "")


def _pattern(separator: str) -> str:
    return _WHOLE.get(separator, _WHOLE[","])


def _refuse_rounded(name: str, odd: pl.Series, separator: str, where: str) -> None:
    """InputError when a stamp is written with fewer digits than it has, or as a float that has no room for them."""
    rounded = odd.filter(odd.str.contains(_EXPONENT)).to_list()
    lost = next((text for text in rounded if _digits_lost(text)), None)
    if lost is None:
        whole = odd.str.extract(_pattern(separator), 1).cast(pl.Int64, strict=False)
        is_float = odd.str.contains(r"[.,]").fill_null(value=False)
        beyond = odd.filter(is_float & (whole.abs() > _EXACT_FLOATS).fill_null(value=False))
        lost = beyond[0] if beyond.len() else None
    if lost is not None:
        message = "times were rounded by the program that wrote this table: their last digits are lost"
        expected = f"whole numbers in column {name}"
        raise InputError(message, where=where, expected=expected, found=ascii(lost)[1:-1], advice=_ADVICE)


def _digits_lost(text: str) -> bool:
    """Whether the exponent reaches beyond the digits that are written."""
    exponent = Decimal(text.strip().replace(",", ".")).as_tuple().exponent
    return isinstance(exponent, int) and exponent > 0


def _refuse_grouped(name: str, column: pl.Series, where: str) -> None:
    """InputError when stamps have separators between groups of digits."""
    some = pl.concat([column.head(_SAMPLE), column.tail(_SAMPLE)])
    grouped = some.filter(some.str.contains(_GROUPED).fill_null(value=False))
    if grouped.len():
        raise _no_whole_numbers(name, grouped[0], where)


def refuse_unreadable(name: str, texts: pl.Series, numbers: pl.Series, where: str) -> None:
    """InputError when no stamp of a column is a whole number, though digits are there: missing they are not."""
    if not is_stamp(name) or not numbers.len() or numbers.null_count() < numbers.len():
        return
    known = texts.drop_nulls()
    if known.len() and known.str.contains(r"\d").all():
        raise _no_whole_numbers(name, str(known[0]), where)


def _no_whole_numbers(name: str, found: str, where: str) -> InputError:
    expected, shown = f"whole ns in column {name}", ascii(found.strip()[:40])[1:-1]
    return InputError("times that are no whole numbers", where=where, expected=expected, found=shown, advice=_ADVICE)
