"""SQLite files, read-only: private copies where SQLite would have to write, typed columns in chunks, named errors.

Only ordinary tables are read, by name, never views: what a file defines as a view is SQL of unknown origin and cost,
and profilers leave views out when they are killed. Extensions stay off, attached files are not allowed.
"""

from __future__ import annotations

import gc
import os
import shutil
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from trace_budget.errors import InputError
from trace_budget.io.existing import is_file
from trace_budget.io.inflate import CHUNK_BYTES, PlainStream
from trace_budget.io.temp import error_when_full, scratch_folder

if TYPE_CHECKING:
    import polars as pl

MAGIC = b"SQLite format 3\0"
CHUNK_ROWS = 16_384
LONGEST_VALUE_BYTES = 1 << 26
# the second comes where SQLite's own message quotes damaged bytes of the schema, the last for damaged lengths of values
_ERRORS = (sqlite3.Error, UnicodeDecodeError, MemoryError)
_WAL_HEADER_BYTES = 32
_JOURNAL_MAGIC = bytes.fromhex("d9d505f920a163d7")
_RECOVER = "Copy it again from where it was recorded, or recover what is left: sqlite3 FILE .recover | sqlite3 NEW.db"


@dataclass(frozen=True, slots=True)
class Database:
    """An open database: `tables` maps each table to its columns; `damage` says why it may be incomplete, else ''."""

    path: Path
    connection: sqlite3.Connection
    tables: Mapping[str, tuple[str, ...]]
    damage: str = ""

    def has(self, table: str, *columns: str) -> bool:
        """Whether the table exists and has all these columns (names compared like SQLite does, ignoring case)."""
        present = {name.lower() for name in self.tables.get(table, ())}
        return table in self.tables and all(column.lower() in present for column in columns)

    def read(
        self,
        table: str,
        columns: Mapping[str, pl.DataType],
        where: str = "",
        parameters: Sequence[Any] = (),
    ) -> pl.DataFrame:
        """Columns of one table as Int64, Int32 or String in storage order; columns the table lacks are null.

        Whole numbers stored as text are read exactly; what is no whole number becomes null. `where` is SQL with `?`
        for each of `parameters`. Raises InputError naming the table when it is damaged or a value is too long.
        """
        return _read(self, table, columns, where, parameters)

    def filled(self, prefix: str) -> bool:
        """Whether any table whose name starts so holds a row; InputError naming the table when it is damaged."""
        for table in (name for name in self.tables if name.startswith(prefix)):
            try:
                if self.connection.execute(f"SELECT 1 FROM {quoted(table)} LIMIT 1").fetchone():  # noqa: S608
                    return True
            except _ERRORS as error:
                raise _input_error(self.path, table, error) from None
        return False


@contextmanager
def opened(path: Path) -> Iterator[Database]:
    """Open an SQLite file, compressed or not, without writing anything beside it.

    A database that its writer did not close (a `-wal` or `-journal` file beside it) is copied with it to a private
    temporary folder, where SQLite may finish or roll back the pending changes. Raises InputError for anything that is
    no SQLite file or cut short.
    """
    with ExitStack() as stack:
        if pending := _pending_changes(path):
            file, damage = _copied(path, pending, stack.enter_context(scratch_folder(path)))
        else:
            file, damage = _inflated(path, stack)
            follows = _check_length(path, file, damage)
            damage = damage or follows
        with closing(_connected(path, file, immutable=file == path)) as connection:
            yield Database(path, connection, _tables(path, connection), damage)


def quoted(identifier: str) -> str:
    """Quote an identifier for SQL, whatever characters it holds."""
    return '"' + identifier.replace('"', '""') + '"'


def _pending_changes(path: Path) -> list[Path]:
    """Find the files beside a database that hold changes its writer did not finish; left-over ones do not count."""
    wal, journal = (path.with_name(path.name + suffix) for suffix in ("-wal", "-journal"))
    found = [wal] if is_file(wal) and wal.stat().st_size > _WAL_HEADER_BYTES else []
    if is_file(journal):
        with journal.open("rb") as handle:
            found += [journal] if handle.read(len(_JOURNAL_MAGIC)) == _JOURNAL_MAGIC else []
    return found


def _copied(path: Path, pending: Sequence[Path], folder: Path) -> tuple[Path, str]:
    for source in (path, *pending):
        try:
            with error_when_full(path):
                shutil.copyfile(source, folder / source.name)
        except OSError as error:
            advice = "Let the profiler close the database."
            raise InputError("cannot be copied", where=str(source), found=error.strerror or "", advice=advice) from None
    names = ", ".join(file.name for file in pending)
    return folder / path.name, f"its writer did not close it, {names} lies beside it"


def _inflated(path: Path, stack: ExitStack) -> tuple[Path, str]:
    """The database itself, or a plain copy that lasts as long as `stack`."""
    with PlainStream(path) as stream:
        if stream.compression not in ("gzip", "zstd"):
            return path, ""
        copy = stack.enter_context(scratch_folder(path)) / "database"
        with error_when_full(path), copy.open("wb") as target:
            while chunk := stream.read(CHUNK_BYTES):
                target.write(chunk)
        return copy, stream.damage


def _check_length(path: Path, file: Path, damage: str) -> str:
    """SQLite only says `malformed` for a cut file; its header says how long it should be, and what follows is passed.

    Returns what is wrong with a file that holds another database behind its own.
    """
    header = _bytes_at(file, 0, 100)
    if not header.startswith(MAGIC):
        raise InputError("is no SQLite database", where=str(path), found=ascii(header[:16]))
    page_bytes = int.from_bytes(header[16:18], "big")
    page_bytes = 65_536 if page_bytes == 1 else page_bytes
    pages = int.from_bytes(header[28:32], "big")
    count_is_valid = header[24:28] == header[92:96]
    size = file.stat().st_size
    if len(header) == 100 and count_is_valid and size < pages * page_bytes:
        found = f"{size} bytes" + (f", {damage}" if damage else "")
        raise InputError(
            "database is cut short",
            where=str(path),
            expected=f"{pages * page_bytes} bytes",
            found=found,
            advice=_RECOVER,
        )
    follows = count_is_valid and _bytes_at(file, pages * page_bytes, len(MAGIC)) == MAGIC
    return "another database follows it, which is not read" if follows else ""


def _bytes_at(file: Path, offset: int, count: int) -> bytes:
    with file.open("rb") as handle:
        handle.seek(offset)
        return handle.read(count)


def _connected(path: Path, file: Path, *, immutable: bool) -> sqlite3.Connection:
    """Connect; a file without pending changes is immutable, so that SQLite makes no lock or `-shm` file beside it."""
    mode = "mode=ro&immutable=1" if immutable else "mode=rw"
    try:
        connection = sqlite3.connect(
            f"file:{quote(os.fsencode(file.resolve()))}?{mode}", uri=True, isolation_level=None
        )
    except _ERRORS as error:
        raise _input_error(path, "sqlite_master", error) from None
    connection.text_factory = lambda data: data.decode("utf-8", "replace")
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_VALUE_BYTES)
    connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    for pragma in ("trusted_schema=OFF", "query_only=ON", "cell_size_check=ON", "mmap_size=0"):
        connection.execute(f"PRAGMA {pragma}")
    return connection


def _tables(path: Path, connection: sqlite3.Connection) -> dict[str, tuple[str, ...]]:
    select = "SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%' ORDER BY name"
    try:
        names = [name for (name,) in connection.execute(select)]
        columns = {n: connection.execute("SELECT name FROM pragma_table_info(?)", (n,)).fetchall() for n in names}
    except _ERRORS as error:
        raise _input_error(path, "sqlite_master", error) from None
    return {name: tuple(column for (column,) in rows) for name, rows in columns.items()}


def _read(
    db: Database, table: str, columns: Mapping[str, pl.DataType], where: str, parameters: Sequence[Any]
) -> pl.DataFrame:
    import polars as pl

    stored = {name.lower(): name for name in db.tables.get(table, ())}
    present = [name for name in columns if name.lower() in stored]
    if not present:
        return pl.DataFrame(schema=dict(columns))
    select = ", ".join(quoted(stored[name.lower()]) for name in present)
    sql = f"SELECT {select} FROM {quoted(table)}" + (f" WHERE {where}" if where else "")  # noqa: S608  (quoted above)
    frames = [pl.DataFrame(schema={name: columns[name] for name in present})]
    try:
        for rows in _chunks(db.connection, sql, parameters):
            series = zip(present, zip(*rows, strict=True), strict=True)
            frames.append(pl.DataFrame([_column(name, values, columns[name]) for name, values in series]))
    except _ERRORS as error:
        raise _input_error(db.path, table, error) from None
    frame = pl.concat(frames, rechunk=True)
    return frame.select(
        pl.col(name) if name in present else pl.lit(None, dtype=dtype).alias(name) for name, dtype in columns.items()
    )


def _chunks(connection: sqlite3.Connection, sql: str, parameters: Sequence[Any]) -> Iterator[list[tuple[Any, ...]]]:
    """Rows in chunks. Garbage collection pauses: each pass would walk every row tuple, a third of the reading time."""
    cursor = connection.execute(sql, parameters)
    collecting = gc.isenabled()
    gc.disable()
    try:
        while rows := cursor.fetchmany(CHUNK_ROWS):
            yield rows
    finally:
        if collecting:
            gc.enable()


def _column(name: str, values: Sequence[Any], dtype: pl.DataType) -> pl.Series:
    """SQLite types values, not columns: a declared integer may hold text."""
    import polars as pl

    try:
        return pl.Series(name, values, dtype=dtype)
    except (TypeError, pl.exceptions.PolarsError):
        texts = [None if v is None or isinstance(v, bytes) else _as_text(v) for v in values]
        return pl.Series(name, texts, dtype=pl.String).str.strip_chars().cast(dtype, strict=False)


def _as_text(value: Any) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _input_error(path: Path, table: str, error: sqlite3.Error | UnicodeDecodeError | MemoryError) -> InputError:
    # a damaged schema is quoted in the message, line breaks and all
    text = ascii(" ".join(str(error).split()))[1:-1] or "a value that does not fit into memory"
    damaged = "malformed" in text or "not a database" in text or not isinstance(error, sqlite3.Error)
    advice = _RECOVER if damaged else "Is the profiler still writing it?" if "locked" in text else ""
    where = f"{path}, table {table}"
    if "too big" in text:
        return InputError(f"holds a value of more than {LONGEST_VALUE_BYTES} bytes", where=where, found=text)
    return InputError("cannot be read", where=where, found=text, advice=advice)
