"""The first plain bytes of a file, and the table names of an SQLite file: enough to recognise a format."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from trace_budget.io import sqlite
from trace_budget.io.inflate import PlainStream

PROBE_BYTES = 1 << 18


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
    tables = _tables(path) if data.startswith(sqlite.MAGIC) else ()
    return Probe(data, compression, size_bytes, tables)


def _tables(path: Path) -> tuple[str, ...]:
    with sqlite.opened(path) as database:
        return tuple(database.tables)
