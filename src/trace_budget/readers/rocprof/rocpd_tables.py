"""The tables of a rocpd database as one frame per kind, whichever schema version and however many processes wrote them.

Each process writes its own set of tables, with its guid as suffix; row ids mean something within one guid only, so
every frame carries `guid` and every join uses it. Versions 3.x keep times and places in the rows, 4.x in `rocpd_track`
(and some in `rocpd_timestamp`). The views the writer adds are never used: a killed writer leaves none.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import polars as pl

from trace_budget.io.sqlite import Database

_SUFFIX = re.compile(r"_?[0-9A-Fa-f]{8}[0-9A-Fa-f_]*")
_PLACE = ("pid", "tid", "agent_id", "queue_id", "stream_id")


def tables_of(names: Sequence[str], base: str) -> list[str]:
    """The tables called `base`, or `base` and a guid."""
    return [name for name in names if name == base or _is_suffixed(name, base)]


def _is_suffixed(name: str, base: str) -> bool:
    return name.startswith(f"{base}_") and _SUFFIX.fullmatch(name, len(base) + 1) is not None


def frame_of(
    db: Database, base: str, numbers: Sequence[str] = (), texts: Sequence[str] = (), sizes: Sequence[str] = ()
) -> pl.DataFrame:
    """The columns of all tables of one kind, with `guid`: the suffix of the table, or its column where it has none."""
    columns: dict[str, pl.DataType] = {name: pl.Int64() for name in numbers}
    columns |= {name: pl.String() for name in texts} | {name: pl.Int32() for name in sizes}
    frames = [pl.DataFrame(schema={**columns, "guid": pl.String()})]
    for table in tables_of(tuple(db.tables), base):
        suffix = table[len(base) :].strip("_").replace("_", "-")
        if suffix:
            frames.append(db.read(table, columns).with_columns(pl.lit(suffix).alias("guid")))
        else:
            frames.append(db.read(table, {**columns, "guid": pl.String()}).with_columns(pl.col("guid").fill_null("")))
    return pl.concat(frames)


def timed_rows(db: Database, base: str, numbers: Sequence[str], sizes: Sequence[str] = ()) -> pl.DataFrame:
    """Rows of one kind with start, end and the row ids of their place, from wherever the schema version keeps them."""
    tables = tables_of(tuple(db.tables), base)
    tracked = any(db.has(table, "track_id") for table in tables)
    stamped = any(db.has(table, "start_id") for table in tables)
    ids = (*(("track_id",) if tracked else ()), *(("start_id", "end_id") if stamped else ()))
    rows = frame_of(db, base, ("start", "end", *_PLACE, *ids, *numbers), sizes=sizes)
    if tracked:
        tracks = frame_of(db, "rocpd_track", ("id", *_PLACE))
        rows = _filled(looked_up(rows, "track_id", tracks, **{name: f"{name}_found" for name in _PLACE}), _PLACE)
    if stamped:
        stamps = frame_of(db, "rocpd_timestamp", ("id", "value"))
        for edge in ("start", "end"):
            rows = looked_up(rows, f"{edge}_id", stamps, value=f"{edge}_found")
        rows = _filled(rows, ("start", "end"))
    return rows.drop(ids)


def _filled(rows: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    filled = [pl.coalesce(name, f"{name}_found").alias(name) for name in names]
    return rows.with_columns(filled).drop(f"{name}_found" for name in names)


def looked_up(rows: pl.DataFrame, column: str, values: pl.DataFrame, **renamed: str) -> pl.DataFrame:
    """Add columns of `values` (guid, id, …), renamed as stated, by the row id in `column`; only these are copied."""
    new = (pl.col(old).alias(name) for old, name in renamed.items())
    wanted = values.select("guid", pl.col("id").alias(column), *new).unique(["guid", column], keep="first")
    found = rows.select("guid", column).join(wanted, on=["guid", column], how="left", maintain_order="left")
    return rows.with_columns(found[name] for name in renamed.values())
