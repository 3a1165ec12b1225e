"""The tables of a rocpd database as one frame per kind, whichever schema version and however many processes wrote them.

Each process writes its own set of tables, with its guid as suffix; row ids mean something within one guid only, so
every frame carries `guid` and every join uses it. Versions 3.x keep times and places in the rows, 4.x in `rocpd_track`
(and some in `rocpd_timestamp`). The views the writer adds are never used: a killed writer leaves none.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import polars as pl

from trace_budget.files.sqlite import Database

_SUFFIX = re.compile(r"_?[0-9A-Fa-f]{8}[0-9A-Fa-f_]*")
_PLACE = ("nid", "pid", "tid", "agent_id", "queue_id", "stream_id")


def tables_of(names: Sequence[str], base: str) -> list[str]:
    """The tables called `base`, or `base` and a guid."""
    return [name for name in names if name == base or _is_suffixed(name, base)]


def _is_suffixed(name: str, base: str) -> bool:
    return name.startswith(f"{base}_") and _SUFFIX.fullmatch(name, len(base) + 1) is not None


def frame_of(db: Database, base: str, numbers: Sequence[str] = (), texts: Sequence[str] = ()) -> pl.DataFrame:
    """The columns of all tables of one kind, with `guid`: the suffix of the table, or its column where it has none."""
    columns: dict[str, pl.DataType] = {name: pl.Int64() for name in numbers} | {name: pl.String() for name in texts}
    frames = [pl.DataFrame(schema={**columns, "guid": pl.String()})]
    for table in tables_of(tuple(db.tables), base):
        suffix = table[len(base) :].strip("_").replace("_", "-")
        if suffix:
            frames.append(db.read(table, columns).with_columns(pl.lit(suffix).alias("guid")))
        else:
            frames.append(db.read(table, {**columns, "guid": pl.String()}).with_columns(pl.col("guid").fill_null("")))
    return pl.concat(frames)


def timed_rows(db: Database, base: str, numbers: Sequence[str]) -> pl.DataFrame:
    """Rows of one kind with start, end and the row ids of their place, from wherever the schema version keeps them."""
    rows = frame_of(db, base, ("start", "end", "start_id", "end_id", "track_id", *_PLACE, *numbers))
    if rows["track_id"].null_count() < rows.height:
        rows = _with_track(db, rows)
    if rows["start_id"].null_count() < rows.height:
        rows = _with_timestamps(db, rows)
    return rows.drop("start_id", "end_id", "track_id")


def _with_track(db: Database, rows: pl.DataFrame) -> pl.DataFrame:
    tracks = frame_of(db, "rocpd_track", ("id", *_PLACE)).rename({"id": "track_id"})
    joined = rows.join(tracks, on=["guid", "track_id"], how="left", suffix="_of_track", maintain_order="left")
    filled = joined.with_columns(pl.coalesce(name, f"{name}_of_track").alias(name) for name in _PLACE)
    return filled.drop(f"{name}_of_track" for name in _PLACE)


def _with_timestamps(db: Database, rows: pl.DataFrame) -> pl.DataFrame:
    stamps = frame_of(db, "rocpd_timestamp", ("id", "value"))
    for edge in ("start", "end"):
        values = stamps.rename({"id": f"{edge}_id", "value": f"{edge}_value"})
        rows = rows.join(values, on=["guid", f"{edge}_id"], how="left", maintain_order="left")
        rows = rows.with_columns(pl.coalesce(edge, f"{edge}_value").alias(edge)).drop(f"{edge}_value")
    return rows


def looked_up(rows: pl.DataFrame, column: str, values: pl.DataFrame, **renamed: str) -> pl.DataFrame:
    """Join `values` (guid, id, …) by the row id in `column`; `renamed` maps its columns to new names, others go."""
    new = (pl.col(old).alias(name) for old, name in renamed.items())
    wanted = values.select("guid", pl.col("id").alias(column), *new)
    return rows.join(wanted, on=["guid", column], how="left", maintain_order="left")
