"""Which reader reads a file: exactly one must recognise its content, whatever its name."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from trace_budget import readers
from trace_budget.contracts import Head, Reader
from trace_budget.errors import InputError, UsageError
from trace_budget.inputs.unreadable import refuse_known, refuse_named
from trace_budget.io.parquet_folder import MAGIC, ParquetFolder, only_trace, table_names
from trace_budget.io.probe import probe
from trace_budget.schema.trace import Caveat

_SHOWN_BYTES = 48
_SHOWN_TABLES = 6


def detect(path: Path, format: str | None = None) -> Reader:  # noqa: A002  (the word users know)
    """The reader for `path`, or the one called `format` without asking whether it recognises the file.

    Raises InputError when the file is empty, unreadable, known to be unreadable, of no known format, or claimed by
    several readers; UsageError when `format` is not a reader's name.
    """
    if format is not None and format not in readers.NAMES:
        raise UsageError("no such input format", expected=f"one of {', '.join(readers.NAMES)}", found=ascii(format))
    head = head_of(path)
    refuse_known(head)
    known = readers.recognising(head)
    return _only(head, known) if format is None else _as_told(readers.load(format), known)


def _as_told(reader: Reader, recognising: list[Reader]) -> Reader:
    """The reader the user named; what it reads from content that is not like its format carries a warning."""
    if reader.name in [other.name for other in recognising]:
        return reader
    like = " or ".join(other.name for other in recognising) or "no known format"
    text = f"read as {reader.name}, as --from says, but the content looks like {like}: figures may be of something else"
    caveat = Caveat("format_forced", text, 1, "warning")
    return replace(reader, read=lambda path, options: reader.read(path, options).with_caveats((caveat,)))


def head_of(path: Path) -> Head:
    """The first plain bytes of a file, and its table names when it is an SQLite database or a folder of Parquet."""
    if tables := table_names(only_trace(path)):
        folder = ParquetFolder(only_trace(path))
        return Head(path, MAGIC, "none", folder.size_bytes, tables)
    seen = probe(path)
    return Head(path, seen.data, seen.compression, seen.size_bytes, seen.tables)


def _only(head: Head, candidates: list[Reader]) -> Reader:
    if len(candidates) == 1:
        return candidates[0]
    if candidates:
        names = ", ".join(reader.name for reader in candidates)
        advice = "Say which one is meant by naming the input format."
        raise InputError("could be read as several formats", where=str(head.path), found=names, advice=advice)
    refuse_named(head)
    raise InputError(
        "no format that can be read",
        where=str(head.path),
        expected=f"one of {', '.join(readers.NAMES)}",
        found=description(head),
    )


def description(head: Head) -> str:
    """What a file holds, in words that are safe to print."""
    packed = "" if head.compression == "none" else f"{head.compression}-compressed "
    if head.names:
        more = ", …" if len(head.names) > _SHOWN_TABLES else ""
        holder = "a folder of Parquet files" if head.data == MAGIC else f"{packed}SQLite"
        return f"{holder} with tables {', '.join(ascii(name)[1:-1] for name in head.names[:_SHOWN_TABLES])}{more}"
    start = head.data.lstrip()[:_SHOWN_BYTES]
    if start.isascii() and b"\0" not in start:
        return f"{packed}text that starts {start.decode('ascii')!a}"
    return f"{packed}bytes that start {start[:8].hex(' ')}"
