"""From the tables of a CSV file to raw records: columns by name, damage reported, sibling files of the same run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from trace_budget.contracts import PACKINGS
from trace_budget.errors import InputError
from trace_budget.io.csv.table import CsvFile, CsvTable
from trace_budget.io.dictionary import Dictionary, by_text
from trace_budget.io.existing import is_file
from trace_budget.schema import caveats
from trace_budget.schema.tables import CALLS, MARKERS
from trace_budget.schema.trace import Caveat

NO_CALLS = CALLS.empty().drop("launch_id", "kind")
NO_MARKERS = MARKERS.empty().drop("marker_id")
_LONGEST_NS = 1 << 62
# clocks of one run agree to far less; files of different runs lie further apart
_SAME_RUN_NS = 60_000_000_000


def rows_of(file: CsvFile, name: str) -> pl.DataFrame:
    """Return the rows of all tables of one shape; a column that some of them lack is null there."""
    frames = [table.frame for table in file.of(name)]
    if len(frames) == 1:
        return frames[0]
    texts = [frame.with_columns(pl.col(pl.Enum).cast(pl.String)) for frame in frames]
    return pl.concat(texts, how="diagonal") if texts else pl.DataFrame()


def stacked(frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Return the rows of all frames, whose Enum columns `name` differ; columns that some lack are null there."""
    if len(frames) == 1:
        return frames[0]
    names = Dictionary()
    coded = [frame.with_columns(names.recoded(frame["name"])) for frame in frames]
    rows = pl.concat(coded, how="diagonal_relaxed")
    return rows.with_columns(names.decoded(rows["name"]))


def required(file: CsvFile, header: str) -> CsvFile:
    """Return the file; InputError when it holds none of the tables looked for, whose header is described."""
    if not file.tables:
        raise InputError("no such table", where=str(file.path), expected=header, found="no line like it")
    return file


def damage_of(*tables: CsvTable) -> tuple[Caveat, ...]:
    """Return the caveats about lines that were mended or dropped."""
    first = next((f"line {table.bad_line}" for table in tables if table.bad_line is not None), "")
    return caveats.damaged_lines(sum(t.dropped for t in tables), sum(t.repaired for t in tables), first)


def several_tables(file: CsvFile, *names: str) -> tuple[Caveat, ...]:
    """Return the caveat about tables of one kind that follow each other: runs or processes put into one file."""
    filled = Counter(table.shape.name for table in file.tables if table.shape.name in names and table.frame.height)
    most = max(filled.values(), default=0)
    text = "tables of one kind follow each other (several runs or processes in one file?): their rows are read together"
    return (Caveat("several_tables", text, most, "warning"),) if most > 1 else ()


def left_out(file: CsvFile, name: str) -> tuple[Caveat, ...]:
    """Return the caveat about the rows of another table in the file, which may be rows below a damaged header."""
    rows = sum(table.frame.height for table in file.tables if table.shape.name == name)
    text = "rows below the header of another table are left out; if they are kernels, that header is damaged"
    return (Caveat("rows_of_other_tables", text, rows, "warning"),) if rows else ()


def columns(frame: pl.DataFrame, names: Mapping[str, str]) -> list[pl.Expr]:
    """Select columns under new names (`new: recorded`); one the frame lacks becomes null."""
    return [
        (pl.col(recorded) if recorded in frame.columns else pl.lit(None, pl.Int64)).alias(new)
        for new, recorded in names.items()
    ]


def last_number(column: pl.Series) -> pl.Series:
    """Return the number each text ends with (`Agent 4`, `GPU 0`, `NVIDIA H100 (1)`, `2`), else null."""
    return by_text(column, pl.col("text").str.extract(r"(\d+)\)?\s*$", 1).cast(pl.Int64, strict=False))


def ns_from_decimal(column: str, digits: int) -> pl.Expr:
    """Return integer ns of decimal text whose unit is 10**digits ns, exactly (us: 3); null for what is no time."""
    text = pl.col(column).str.strip_chars()
    whole = text.str.extract(r"^(\d+)(?:\.\d*)?$", 1).cast(pl.Int64, strict=False)
    fraction = text.str.extract(r"\.(\d*)$", 1).fill_null("").str.pad_end(digits, "0").str.slice(0, digits)
    scale: int = 10**digits
    ns = whole * scale + fraction.cast(pl.Int64, strict=False).fill_null(0)
    return pl.when(whole < _LONGEST_NS // scale).then(ns)


def positive(column: str) -> pl.Expr:
    """Return an id column in which 0 means `none`."""
    return pl.when(pl.col(column) > 0).then(pl.col(column))


def stem_of(path: Path) -> str:
    """Return the file name without `.csv`, packed or not."""
    plain = path.name.removesuffix(path.suffix) if path.suffix in PACKINGS else path.name
    return plain.removesuffix(".csv")


def sibling(path: Path, stem: str) -> Path | None:
    """Return the CSV file called `stem` beside `path`, if there is one."""
    found = (path.with_name(f"{stem}.csv{packing}") for packing in ("", *PACKINGS))
    return next((candidate for candidate in found if is_file(candidate)), None)


def overlaps(first: pl.DataFrame, second: pl.DataFrame) -> bool:
    """Whether two tables of one clock (start_ns, end_ns) can be of one run: at most a minute lies between them."""
    if not first.height or not second.height:
        return False
    begin = pl.col("start_ns").min().fill_null(0)
    end = pl.max_horizontal(pl.col("start_ns").max(), pl.col("end_ns").max()).fill_null(0)
    (a0, a1), (b0, b1) = first.select(begin, end.alias("end")).row(0), second.select(begin, end.alias("end")).row(0)
    return bool(a0 - _SAME_RUN_NS <= b1 and b0 - _SAME_RUN_NS <= a1)
