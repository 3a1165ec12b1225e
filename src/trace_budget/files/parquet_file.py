"""One Parquet file, read by Arrow within limits: on some damaged pages the reader of Polars ends the whole process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trace_budget.errors import InputError
from trace_budget.files.inflate import LIMIT_VARIABLE, limits

if TYPE_CHECKING:
    import polars as pl

_VALUE_BYTES = 8


def column_names(file: Path) -> list[str]:
    """The columns of a file; InputError when it cannot be read."""
    with _opened(file) as parquet:
        return list(parquet.schema_arrow.names)


def facts(file: Path) -> dict[str, str]:
    """What the writer noted beside the table; InputError when it cannot be read."""
    with _opened(file) as parquet:
        noted = parquet.metadata.metadata or {}
        return {key.decode("utf-8", "replace"): value.decode("utf-8", "replace") for key, value in noted.items()}


def read(file: Path, columns: Sequence[str] | None = None) -> pl.DataFrame:
    """The table, or some of its columns. InputError when it is damaged or grows beyond the limits on inflated bytes."""
    import polars as pl

    with _opened(file) as parquet:
        _refuse_bomb(file, parquet.metadata)
        table = parquet.read(None if columns is None else list(columns), use_threads=False)
        _refuse_odd_texts(table)
        return pl.DataFrame(table.replace_schema_metadata())


@contextmanager
def _opened(file: Path) -> Iterator[Any]:
    import polars as pl
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(file) as parquet:
            yield parquet
    # Arrow raises ValueError, TypeError and KeyError of Python's own for some damaged footers
    except (pa.ArrowException, pl.exceptions.PolarsError, OSError, ValueError, TypeError, KeyError) as error:
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        advice = "Export it again, or copy it again."
        raise InputError("cannot be read", where=str(file), found=ascii(reason)[1:-1], advice=advice) from None


def _refuse_odd_texts(table: Any) -> None:
    """Raise what Python or Arrow raises for texts that are no UTF-8: Polars would panic, past every handler."""
    table.validate(full=True)
    for field in table.schema:
        field.name.encode()
        for noted in (field.metadata or {}).items():
            b"".join(noted).decode()


def _refuse_bomb(file: Path, metadata: Any) -> None:
    """A few bytes can stand for any number of equal values, so the rows count as well as the bytes that are told."""
    size = file.stat().st_size
    told = sum(metadata.row_group(index).total_byte_size for index in range(metadata.num_row_groups))
    grown, bound = max(told, metadata.num_rows * metadata.num_columns * _VALUE_BYTES), limits().bound(size)
    if grown > bound:
        advice = f"If it is what you think it is, set {LIMIT_VARIABLE} to the bytes it may grow to."
        found = f"{grown} bytes from a file of {size}"
        raise InputError(
            "inflates too far", where=str(file), expected=f"at most {bound} bytes", found=found, advice=advice
        )
