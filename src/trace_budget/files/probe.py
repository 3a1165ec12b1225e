"""The first plain bytes of a file, and the table names of an SQLite file: enough to recognise a format."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from trace_budget.errors import InputError
from trace_budget.files.inflate import PlainStream, plain_file

PROBE_BYTES = 1 << 18
SQLITE_MAGIC = b"SQLite format 3\0"


@dataclass(frozen=True, slots=True)
class Probe:
    """The first bytes, decompressed; `compression` is none, gzip, zstd or zip; `tables` are those of an SQLite file."""

    data: bytes
    compression: str
    size_bytes: int
    tables: tuple[str, ...] = ()


def probe(path: Path) -> Probe:
    """Look at a file without reading it whole; InputError when it or its SQLite schema cannot be read."""
    with PlainStream(path) as stream:
        data = stream.read(PROBE_BYTES)
        compression, size_bytes = stream.compression, stream.size_bytes
    tables = _tables(path) if data.startswith(SQLITE_MAGIC) else ()
    return Probe(data, compression, size_bytes, tables)


def _tables(path: Path) -> tuple[str, ...]:
    """Names of tables and views; read only, and without creating files beside the database."""
    with plain_file(path) as plain:
        mode = "mode=ro" if Path(f"{plain}-wal").exists() else "immutable=1"
        try:
            with closing(sqlite3.connect(f"file:{quote(str(plain.absolute()))}?{mode}", uri=True)) as connection:
                query = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY name"
                return tuple(name for (name,) in connection.execute(query))
        except sqlite3.Error as error:
            advice = "Copy it again from the machine that wrote it, or re-record."
            raise InputError(
                "its SQLite schema cannot be read", where=str(path), found=str(error), advice=advice
            ) from None
