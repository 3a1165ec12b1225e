"""A folder with one Parquet file per table, as some profilers export: typed columns, named errors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from trace_budget.errors import InputError
from trace_budget.io import parquet_file

if TYPE_CHECKING:
    import polars as pl

MAGIC = b"PAR1"


def table_names(path: Path) -> tuple[str, ...]:
    """Names of the tables in a folder, sorted; none when it is no folder or cannot be listed."""
    try:
        return tuple(sorted(file.stem for file in path.glob("*.parquet") if file.is_file()))
    except OSError:
        return ()


def only_trace(path: Path) -> Path:
    """The only `trace=…` folder in a folder that holds no tables itself, as `ingest` writes them; else the path.

    Raises InputError when there are several.
    """
    if table_names(path):
        return path
    try:
        inside = sorted(folder for folder in path.glob("trace=*") if table_names(folder))
    except OSError:
        return path
    if len(inside) > 1:
        names = ", ".join(ascii(folder.name)[1:-1] for folder in inside[:4])
        found = f"{len(inside)}: {names}{', …' if len(inside) > 4 else ''}"
        raise InputError("several ingested traces", where=str(path), expected="one", found=found, advice="Name one.")
    return inside[0] if inside else path


@dataclass(frozen=True, slots=True)
class ParquetFolder:
    """A folder of tables; `damage` is always '': a cut Parquet file cannot be read at all."""

    path: Path
    damage: str = ""

    @property
    def size_bytes(self) -> int:
        """Bytes of all tables together."""
        return sum(self.file_of(table).stat().st_size for table in table_names(self.path))

    def file_of(self, table: str) -> Path:
        """The file that holds a table."""
        return self.path / f"{table}.parquet"

    def has(self, table: str, *columns: str) -> bool:
        """Whether the table exists and has all these columns."""
        return self.file_of(table).is_file() and set(columns) <= set(parquet_file.column_names(self.file_of(table)))

    def read(self, table: str, columns: Mapping[str, pl.DataType]) -> pl.DataFrame:
        """Columns of one table; what it lacks is null. Raises InputError naming the table when it is damaged."""
        import polars as pl

        file = self.file_of(table)
        if not file.is_file():
            return pl.DataFrame(schema=dict(columns))
        stored = set(parquet_file.column_names(file))
        present = [name for name in columns if name in stored]
        if not present:
            return pl.DataFrame(schema=dict(columns))
        frame = parquet_file.read(file, present)
        try:
            return frame.select(
                (pl.col(name) if name in stored else pl.lit(None)).cast(dtype, strict=False).alias(name)
                for name, dtype in columns.items()
            )
        except pl.exceptions.PolarsError as error:
            found, advice = str(error).splitlines()[0], "Export it again."
            raise InputError("holds columns of another type", where=str(file), found=found, advice=advice) from None
