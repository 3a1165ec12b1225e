"""Mutations of a Parquet table: values, types, rows and columns."""

from __future__ import annotations

import io
from collections.abc import Callable
from random import Random

import polars as pl

_ODD_NUMBERS = (None, 0, -1, 2**62, 2**63 - 1, -(2**63))
_ODD_TEXTS = (None, "", "abc", "-5", "\x1b[31m", 'a"b', "k" * 3_000)


def value(rng: Random, frame: pl.DataFrame) -> pl.DataFrame:
    """Some values of one column are odd."""
    name = rng.choice(frame.columns)
    odd = rng.choice(_ODD_TEXTS if frame[name].dtype == pl.String else _ODD_NUMBERS)
    row = pl.int_range(pl.len()) % rng.choice((1, 3, max(frame.height, 1))) == 0
    return frame.with_columns(
        pl.when(row).then(pl.lit(odd).cast(frame[name].dtype, strict=False)).otherwise(name).alias(name)
    )


def dtype(rng: Random, frame: pl.DataFrame) -> pl.DataFrame:
    """One column has another type."""
    name = rng.choice(frame.columns)
    other = rng.choice(
        (pl.String(), pl.Float64(), pl.Int8(), pl.UInt64(), pl.Boolean(), pl.Binary(), pl.List(pl.Int64))
    )
    return frame.with_columns(pl.col(name).cast(pl.String).cast(other, strict=False).alias(name))


def rows(rng: Random, frame: pl.DataFrame) -> pl.DataFrame:
    """Rows missing, doubled, or in another order."""
    some = frame.gather_every(3)
    return rng.choice((frame.clear(), some, pl.concat([frame, some]), pl.concat([frame, frame]), frame.reverse()))


def column(rng: Random, frame: pl.DataFrame) -> pl.DataFrame:
    """A column is missing or has another name."""
    name = rng.choice(frame.columns)
    return frame.drop(name) if rng.random() < 0.5 else frame.rename({name: rng.choice(("x", name.upper() + "_", ""))})


MUTATIONS: tuple[Callable[[Random, pl.DataFrame], pl.DataFrame], ...] = (value, value, value, dtype, rows, rows, column)


def mutated(rng: Random, data: bytes) -> tuple[bytes, list[str]]:
    """The table after one or two changes, and what they are called; what Polars cannot express is left out."""
    frame, done = pl.read_parquet(data), []
    for _ in range(rng.choice((1, 1, 2))):
        change = rng.choice(MUTATIONS)
        try:
            frame = change(rng, frame)
            done.append(change.__name__)
        except pl.exceptions.PolarsError:
            continue
    buffer = io.BytesIO()
    noted = pl.read_parquet_metadata(io.BytesIO(data))
    frame.write_parquet(buffer, metadata={key: text for key, text in noted.items() if key.startswith("trace_budget.")})
    return buffer.getvalue(), done
