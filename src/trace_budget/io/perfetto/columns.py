"""Answers of trace_processor (QueryResult messages) to Polars columns, without a Python object per cell."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

# perfetto.protos.QueryResult.CellsBatch.CellType
_INTEGER = 2
_TEXT = 4
_CELL_OF: dict[type[pl.DataType], int] = {pl.Int64: _INTEGER, pl.String: _TEXT}


def frame(result: Any, columns: Mapping[str, type[pl.DataType]]) -> pl.DataFrame:
    """The answer as a frame of the declared Int64 and String columns; a cell of any other type is null.

    A QueryResult holds its cells row by row: one array of cell types, and one pool of values per type.
    """
    names = list(result.column_names)
    if names != list(columns):
        raise ValueError(f"the query gives columns {names}, declared {list(columns)}")
    parts = [_batch(batch, columns) for batch in result.batch if len(batch.cells)]
    return pl.concat(parts) if parts else pl.DataFrame(schema=dict(columns))


def _batch(batch: Any, columns: Mapping[str, type[pl.DataType]]) -> pl.DataFrame:
    types = np.array(batch.cells, dtype=np.int8).reshape(-1, len(columns))
    pools = {
        _INTEGER: pl.Series(np.array(batch.varint_cells, dtype=np.int64)),
        _TEXT: pl.Series(_texts(batch.string_cells), dtype=pl.String),
    }
    place = {cell: _places(types, cell) for cell in pools}
    return pl.DataFrame(
        [
            _column(name, pools[_CELL_OF[dtype]], place[_CELL_OF[dtype]][:, index])
            for index, (name, dtype) in enumerate(columns.items())
        ]
    )


def _places(types: np.ndarray[Any, np.dtype[np.int8]], cell: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """For every cell its place in the pool of `cell`, or -1 where the cell is of another type."""
    mine = types.ravel() == cell
    return np.where(mine, np.cumsum(mine) - 1, -1).reshape(types.shape)


def _column(name: str, pool: pl.Series, places: np.ndarray[Any, np.dtype[np.int64]]) -> pl.Series:
    index = pl.Series(places).to_frame("place").select(pl.when(pl.col("place") >= 0).then(pl.col("place")))
    return pool.gather(index.to_series()).alias(name)


def _texts(joined: str | bytes) -> list[str]:
    """Each text is ended by a zero byte; protobuf hands out bytes when they are not all UTF-8."""
    text = joined.decode("utf-8", "replace") if isinstance(joined, bytes) else joined
    return text.split("\0")[:-1]
