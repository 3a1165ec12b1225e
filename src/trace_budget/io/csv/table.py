"""Tolerant CSV tables: columns by name, damaged lines mended or counted, never silently misread."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from trace_budget.errors import InputError
from trace_budget.io.csv import cells as cell
from trace_budget.io.csv.cells import Cells, header_cells, separator_of
from trace_budget.io.csv.lines import Lines
from trace_budget.io.dictionary import Dictionary
from trace_budget.io.inflate import PlainStream

CHUNK_BYTES = 16 << 20
LINE_BYTES = 64 << 20
_BOM = b"\xef\xbb\xbf"
# lines are split by Polars as a table of one column: a separator that no name holds
_NO_SEPARATOR = "\x01"
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
# Polars inflates what starts like gzip, zlib (`x^` is text too) or zstd: no line of a file comes first
_FIRST_LINE = b"-"
_NOTE_CELLS = 3  # a note may hold commas; no wanted table has so few columns

__all__ = ["Cells", "CsvFile", "CsvTable", "Shape", "first_lines", "header_cells", "read_csv"]


@dataclass(frozen=True, slots=True)
class Shape:
    """One kind of table in a file: `matches` decides by the header's cells.

    `texts` are kept as dictionaries (Enum), `integers` become Int64 (null where the cell is no integer), `decimals`
    stay text for the caller to scale; other columns are not read, columns not in the file are absent from the frame.
    `wide` is the one column whose text may hold unescaped quotes and commas. `column_of` makes these names from header
    cells that say more (`Start (ns)`).
    """

    name: str
    matches: Callable[[Cells], bool]
    wide: str
    texts: tuple[str, ...] = ()
    integers: tuple[str, ...] = ()
    decimals: tuple[str, ...] = ()
    column_of: Callable[[str], str] = str


@dataclass(frozen=True, slots=True)
class CsvTable:
    """The rows under one header; `bad_line` is the number in the file of the first line that was given up."""

    shape: Shape
    header: Cells
    frame: pl.DataFrame
    repaired: int = 0
    dropped: int = 0
    bad_line: int | None = None


@dataclass(frozen=True, slots=True)
class CsvFile:
    """All tables of one file, in order; `damage` says why the file ends early, if it does."""

    path: Path
    tables: tuple[CsvTable, ...]
    damage: str = ""

    def of(self, name: str) -> tuple[CsvTable, ...]:
        """Give the tables of one shape."""
        return tuple(table for table in self.tables if table.shape.name == name)


def first_lines(data: bytes, limit: int = 200) -> Iterator[str]:
    """Yield the first lines of a file that are not blank, to recognise its format by."""
    for line in data.removeprefix(_BOM).split(b"\n", limit)[:limit]:
        if line.strip():
            yield line.decode("utf-8", "replace").strip()


def read_csv(path: Path, shapes: tuple[Shape, ...], header_like: str, ends: str = "") -> CsvFile:
    """Read every table of `path` whose header matches one of `shapes`; lines before the first header are skipped.

    `header_like` is a regex found in every wanted header line (other lines are not tried), `ends` one for lines that
    close a table without opening a wanted one. Raises InputError for a line beyond 64 MiB.
    """
    builder = _Builder(path, shapes, f"{header_like}|{ends}" if ends else header_like, bool(ends))
    with PlainStream(path) as stream:
        last = b"\n"
        for chunk in _whole_lines(stream):
            builder.feed(chunk)
            last = chunk[-1:]
        cut = "the last line has no end" if last != b"\n" and builder.may_end_early(last) else ""
        return CsvFile(path, builder.tables(), stream.damage or cut)


def _whole_lines(stream: PlainStream) -> Iterator[bytes]:
    """Chunks that end at a line break (the last one excepted), without the BOM."""
    rest = stream.read(len(_BOM)).removeprefix(_BOM)
    while block := stream.read(CHUNK_BYTES):
        text = rest + block
        cut = text.rfind(b"\n") + 1
        rest = text[cut:]
        if len(rest) > LINE_BYTES:
            limit = f"lines of at most {LINE_BYTES} bytes"
            raise InputError("a line does not end", where=str(stream.path), expected=limit, found="a longer one")
        if cut:
            yield text[:cut]
    if rest:
        yield rest.rstrip(b"\r")


class _Builder:
    """Cuts a stream of lines into tables at header lines, and the tables' lines into columns."""

    def __init__(self, path: Path, shapes: tuple[Shape, ...], marks: str, ends_tables: bool) -> None:
        self._path = path
        self._shapes = shapes
        self._marks = marks
        self._ends_tables = ends_tables
        self._open: _OpenTable | None = None
        self._done: list[_OpenTable] = []
        self._line_count = 0
        self._before = pl.Series([], dtype=pl.String), 1
        self._odd_headers: list[int] = []
        self._unknown: tuple[int, int] | None = None
        self._doubt: tuple[_OpenTable, int] | None = None
        self._last_line_dropped = False

    def may_end_early(self, last: bytes) -> bool:
        """Whether what ends with this byte, which ends no line, is no whole row, or may be none: a name cut short."""
        opened = self._open
        return self._last_line_dropped or (last != b'"' and opened is not None and opened.ends_with_new_name())

    def feed(self, chunk: bytes) -> None:
        lines = _split(chunk)
        marked = lines.str.contains(self._marks).fill_null(value=False).arg_true().to_list()
        begin = 0
        for mark in (*marked, lines.len()):
            self._add(lines.slice(begin, mark - begin), begin)
            begin = mark + 1 if mark < lines.len() and self._turn(lines[mark], mark) else mark
        self._line_count += lines.len()

    def _turn(self, line: str, mark: int) -> bool:
        """Whether the marked line is no row: a header that opens a table, or a line that ends one.

        A header with an open quote has lost its end, and with it the beginning of a row. Rows above the first header,
        as in a file that somebody sorted, are given up and counted.
        """
        cells, number = header_cells(line), self._line_count + mark + 1
        shape = next((shape for shape in self._shapes if shape.matches(cells)), None)
        self._unknown = None
        if shape is not None and self._damaged(shape, cells):
            self._odd_headers.append(number)
        elif shape is not None:
            self._begin(_OpenTable(shape, cells, separator_of(line), str(self._path)), number)
            if line.count('"') % 2:
                self._odd_headers.append(number)
        else:
            # a header names columns: what holds numbers is a row whose first cell is odd
            names_columns = not any(_NUMBER.fullmatch(cell) for cell in cells)
            return names_columns and self._pass_over(line, cells, number)
        return True

    def _begin(self, table: _OpenTable, number: int) -> None:
        before, self._open = self._open, table
        if before is not None:
            self._done.append(before)
            self._doubt = (before, number) if table.almost_as_wide_as(before) else None
        elif not self._done:
            table.lose(*table.rows_among(*self._before))

    def _settle(self, lines: pl.Series) -> None:
        """A header that lost or gained one cell: the row below says whether the table before it goes on."""
        rows = lines.drop_nulls()
        if self._doubt is None or not rows.len():
            return
        before, number = self._doubt
        if len(header_cells(rows[0], before.separator)) == before.width:
            self._done.remove(before)
            self._open = before
            self._odd_headers.append(number)
        self._doubt = None

    def _damaged(self, shape: Shape, cells: Cells) -> bool:
        """Whether a header opens this table again, with damaged cells: columns lost, or the look of another table."""
        opened = self._open
        if opened is None or (self._ends_tables and shape is not opened.shape):
            return False
        return opened.lacks_columns(cells)

    def _pass_over(self, line: str, cells: Cells, number: int) -> bool:
        """Whether an unknown header is no row: where tables end with one, and where it is this table's again, damaged.

        The latter is reported. Where tables follow each other the rows below may be another table's, and are left out.
        """
        again = self._open is not None and self._open.begins_like(cells)
        if again:
            self._odd_headers.append(number)
        if self._ends_tables:
            self._close()
            if line.count('"') % 2:
                self._odd_headers.append(number)
            elif not again:
                self._unknown = max(len(cells), _NOTE_CELLS), number
        return again or self._ends_tables

    def _add(self, lines: pl.Series, begin: int) -> None:
        first_number = self._line_count + begin + 1
        if self._open is None:
            self._before = lines, first_number
            self._compare(lines)
            return
        self._settle(lines)
        if lines.len():
            self._last_line_dropped = self._open.add(lines, first_number)

    def _compare(self, lines: pl.Series) -> None:
        """A header of fewer cells than its first row has lost its end, and may have been one that is wanted.

        So may a row right below a note, where a header should be.
        """
        rows = lines.drop_nulls()
        if self._unknown is not None and rows.len():
            width, number = self._unknown
            if len(header_cells(rows[0])) > width:
                self._odd_headers.append(number)
            self._unknown = None

    def _close(self) -> None:
        if self._open is not None:
            self._done.append(self._open)
        self._open = self._doubt = None

    def tables(self) -> tuple[CsvTable, ...]:
        self._close()
        if self._done:
            self._done[0].lose(*self._odd_headers)
        return tuple(table.table() for table in self._done)


class _OpenTable:
    """The table that is being read: its columns so far, and what was mended or dropped."""

    def __init__(self, shape: Shape, header: Cells, separator: str, where: str) -> None:
        self.shape = shape
        self.separator = separator
        self._header = header
        self._where = where
        names = [shape.column_of(cell) for cell in header]
        left = names.index(shape.wide) if shape.wide in names else len(names) - 1
        self._lines = Lines(left, len(names) - 1 - left, separator)
        self._index = {name: i for i, name in enumerate(names) if name in _wanted(shape) and name not in names[:i]}
        self._dictionaries = {name: Dictionary() for name in shape.texts if name in names}
        self._frames: list[pl.DataFrame] = []
        self._repaired = self._dropped = 0
        self._bad_line: int | None = None

    @property
    def width(self) -> int:
        """The number of cells of its header."""
        return len(self._header)

    def almost_as_wide_as(self, other: _OpenTable) -> bool:
        """Whether two tables of one shape differ by one cell in their headers."""
        return self.shape is other.shape and abs(self.width - other.width) == 1

    def begins_like(self, header: Cells) -> bool:
        """Whether another header is as long as this one and shares more than half of its cells."""
        shared = sum(one == other for one, other in zip(self._header, header, strict=False))
        return len(header) == len(self._header) and 2 * shared > len(header)

    def lacks_columns(self, header: Cells) -> bool:
        """Whether another header is like this one, with words that name nothing where it names what is wanted."""
        mine, others = ([self.shape.column_of(cell) for cell in cells] for cells in (self._header, header))
        wanted = _wanted(self.shape)
        lost = (one in wanted and one != other not in wanted for one, other in zip(mine, others, strict=False))
        return self.begins_like(header) and any(lost)

    def rows_among(self, lines: pl.Series, first_number: int) -> list[int]:
        """The numbers of the lines that have as many cells as the header."""
        return self._lines.fitting(lines, first_number)

    def lose(self, *numbers: int) -> None:
        """Count lines that were given up, by their numbers."""
        self._dropped += len(numbers)
        if self._bad_line is None and numbers:
            self._bad_line = numbers[0]

    def add(self, lines: pl.Series, first_number: int) -> bool:
        """Add lines; whether the last of them was dropped."""
        sorted_out = self._lines.sound(lines, first_number)
        self._repaired += sorted_out.repaired
        self.lose(*sorted_out.dropped)
        if sorted_out.lines.len():
            self._frames.append(self._columns(sorted_out.lines))
        return bool(sorted_out.dropped) and sorted_out.dropped[-1] == first_number + lines.len() - 1

    def _columns(self, lines: pl.Series) -> pl.DataFrame:
        first = _FIRST_LINE + self.separator.encode() * (self.width - 1)
        data = b"\n".join((first, lines.str.join("\n").item().encode()))
        wanted = list(self._index.values())
        raw = pl.read_csv(data, has_header=False, infer_schema=False, columns=wanted, separator=self.separator)
        columns = zip(self._index, raw.slice(1).get_columns(), strict=True)
        return pl.DataFrame([self._cast(name, column).alias(name) for name, column in columns])

    def _cast(self, name: str, column: pl.Series) -> pl.Series:
        if name in self._dictionaries:
            return self._dictionaries[name].codes(column)
        if name not in self.shape.integers:
            return cell.decimals(name, column, self.separator, self._where)
        numbers = cell.integers(name, column, self.separator, self._where)
        cell.refuse_unreadable(name, column, numbers, self._where)
        return numbers

    def ends_with_new_name(self) -> bool:
        """Whether the last cell of the last row is a name that no other row has."""
        name = self.shape.wide
        if name not in self._dictionaries or self.shape.column_of(self._header[-1]) != name or not self._frames:
            return False
        last = self._frames[-1][name][-1]
        if last is None:  # cut before its name
            return True
        return sum(int((frame[name] == last).sum()) for frame in self._frames) == 1

    def table(self) -> CsvTable:
        frame = self._without_headers(pl.concat(self._frames) if self._frames else self._empty())
        texts = [self._dictionaries[name].decoded(frame[name]) for name in self._dictionaries]
        return CsvTable(
            self.shape, self._header, frame.with_columns(texts), self._repaired, self._dropped, self._bad_line
        )

    def _without_headers(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Drop rows that are a damaged header: they hold the heading of the name where others hold a name."""
        name = self.shape.wide
        code = self._dictionaries[name].known(name) if name in self._dictionaries else None
        sound = frame if code is None else frame.filter(pl.col(name).ne_missing(code))
        self._dropped += frame.height - sound.height
        return sound

    def _empty(self) -> pl.DataFrame:
        none = pl.Series([], dtype=pl.String)
        return pl.DataFrame([self._cast(name, none).alias(name) for name in self._index])


def _wanted(shape: Shape) -> tuple[str, ...]:
    return (*shape.texts, *shape.integers, *shape.decimals)


def _split(chunk: bytes) -> pl.Series:
    """The lines of a chunk, blank ones as null; bytes that are not UTF-8 become replacement characters."""
    text = chunk.replace(_NO_SEPARATOR.encode(), b"?") if _NO_SEPARATOR.encode() in chunk else chunk
    if _BOM in text:  # of files that were joined
        text = text.removeprefix(_BOM).replace(b"\n" + _BOM, b"\n")
    table = pl.read_csv(
        b"\n".join((_FIRST_LINE, text)),
        has_header=False,
        separator=_NO_SEPARATOR,
        quote_char=None,
        schema={"line": pl.String()},
        encoding="utf8-lossy",
    )
    return table["line"].slice(1)
