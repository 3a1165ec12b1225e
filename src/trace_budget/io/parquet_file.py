"""One Parquet file, read by Arrow within limits: on some damaged pages the reader of Polars ends the whole process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from trace_budget.errors import InputError
from trace_budget.io.inflate import LIMIT_VARIABLE, limits

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
    """The table, or some of its columns. InputError when it is damaged or grows beyond the limits on inflated bytes.

    Polars gets nothing to panic over, past every handler: texts are checked, and what it noted itself is read here.
    """
    import polars as pl
    import pyarrow as pa

    with _opened(file) as parquet:
        _refuse_bomb(file, parquet.metadata)
        table = parquet.read(None if columns is None else list(columns), use_threads=False)
        table.validate(full=True)
        noted = {field.name: _noted_texts(field) for field in table.schema}
        enums = {name: pl.Enum(_categories(texts)) for name, texts in noted.items() if texts is not None}
        plain = [field.remove_metadata().with_name(field.name.encode().decode()) for field in table.schema]
        return pl.DataFrame(table.cast(pa.schema(plain))).with_columns(
            pl.col(name).cast(pl.String).cast(enum) for name, enum in enums.items()
        )


def _noted_texts(field: Any) -> bytes | None:
    """What Polars (its version 1 under the first name) noted of an Enum; None for any other column."""
    noted = field.metadata or {}
    return noted.get(b"_PL_ENUM_VALUES", noted.get(b"_PL_ENUM_VALUES2"))


def _categories(noted: bytes) -> list[str]:
    """The texts of an Enum, each behind its length: `3;abc`. ValueError for anything else."""
    texts, rest = [], noted
    while rest:
        length, _, behind = rest.partition(b";")
        size = int(length)
        if not 0 <= size <= len(behind):
            raise ValueError("texts of an Enum are cut")
        texts.append(behind[:size].decode())
        rest = behind[size:]
    return texts


@contextmanager
def _opened(file: Path) -> Iterator[Any]:
    import polars as pl
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        # by an open file: Arrow takes no name that is not UTF-8
        with file.open("rb") as handle, pq.ParquetFile(handle) as parquet:
            yield parquet
    # Arrow raises ValueError, TypeError and KeyError of Python's own for some damaged footers
    except (pa.ArrowException, pl.exceptions.PolarsError, OSError, ValueError, TypeError, KeyError) as error:
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        advice = "Export it again, or copy it again."
        raise InputError("cannot be read", where=str(file), found=ascii(reason)[1:-1], advice=advice) from None


def _refuse_bomb(file: Path, metadata: Any) -> None:
    """A few bytes can stand for any number of equal values, so the rows count as well as the bytes that are stated."""
    size = file.stat().st_size
    stated = sum(metadata.row_group(index).total_byte_size for index in range(metadata.num_row_groups))
    grown, bound = max(stated, metadata.num_rows * metadata.num_columns * _VALUE_BYTES), limits().bound(size)
    if grown > bound:
        advice = f"If it is what you think it is, set {LIMIT_VARIABLE} to the bytes it may grow to."
        found = f"{grown} bytes from a file of {size}"
        raise InputError(
            "inflates too far", where=str(file), expected=f"at most {bound} bytes", found=found, advice=advice
        )
