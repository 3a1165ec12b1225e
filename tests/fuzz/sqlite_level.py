"""Mutations of SQLite files: values, rows, columns and tables by SQL, and single pages."""
# ruff: noqa: S608  (names are quoted, and the databases are thrown away)

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from random import Random

_ODD_VALUES = (
    *(None, "", "abc", " 12 ", "-5", "1e3", "NaN", "99999999999999999999", "x'y\"z", "\x1b[31m", "k" * 3_000, "\0"),
    *(0, -1, 1, 2**63 - 1, -(2**63), 2**53 + 1, 0.5, -1.25, 1e300, float("inf"), b"", b"\0\xff", b"k" * 100),
)
_ODD_NAMES = ("x", 'a"b', "a'b; DROP TABLE x", "", "select", "ü", "a b")


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def value(rng: Random, db: sqlite3.Connection) -> None:
    """One value, or one column of all rows, is odd."""
    table, column = _place(rng, db)
    where = (
        ""
        if rng.random() < 0.2
        else f" WHERE rowid % 7 = {rng.randrange(7)}"
        if rng.random() < 0.5
        else _one(db, rng, table)
    )
    db.execute(f"UPDATE {_quoted(table)} SET {_quoted(column)} = ?{where}", (rng.choice(_ODD_VALUES),))


def swapped(rng: Random, db: sqlite3.Connection) -> None:
    """One column holds what another should."""
    table, column = _place(rng, db)
    other = rng.choice(_columns(db, table))
    db.execute(f"UPDATE {_quoted(table)} SET {_quoted(column)} = {_quoted(other)}")


def rows_gone(rng: Random, db: sqlite3.Connection) -> None:
    """Some or all rows of a table are missing."""
    table, _ = _place(rng, db)
    db.execute(f"DELETE FROM {_quoted(table)}" + rng.choice(("", " WHERE rowid % 3 = 1", _one(db, rng, table))))


def rows_twice(rng: Random, db: sqlite3.Connection) -> None:
    """A table without its keys, its rows doubled."""
    table, _ = _place(rng, db)
    db.execute(f"CREATE TABLE copy_of_it AS SELECT * FROM {_quoted(table)}")
    part = rng.choice(("", " WHERE rowid % 5 = 2", _one(db, rng, "copy_of_it")))
    db.execute(f"INSERT INTO copy_of_it SELECT * FROM {_quoted(table)}{part}")
    db.execute(f"DROP TABLE {_quoted(table)}")
    db.execute(f"ALTER TABLE copy_of_it RENAME TO {_quoted(table)}")


def table_gone(rng: Random, db: sqlite3.Connection) -> None:
    """A table is missing, or has another name."""
    table, _ = _place(rng, db)
    if rng.random() < 0.6:
        db.execute(f"DROP TABLE {_quoted(table)}")
    else:
        db.execute(f"ALTER TABLE {_quoted(table)} RENAME TO {_quoted(rng.choice(_ODD_NAMES))}")


def table_is_a_view(rng: Random, db: sqlite3.Connection) -> None:
    """A view, possibly one without end, stands where a table should."""
    table, _ = _place(rng, db)
    db.execute(f"ALTER TABLE {_quoted(table)} RENAME TO hidden")
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS id FROM n"
    db.execute(f"CREATE VIEW {_quoted(table)} AS {rng.choice(('SELECT * FROM hidden', endless))}")


def column(rng: Random, db: sqlite3.Connection) -> None:
    """A column is missing, or has another name."""
    table, name = _place(rng, db)
    if rng.random() < 0.5:
        db.execute(f"ALTER TABLE {_quoted(table)} DROP COLUMN {_quoted(name)}")
    else:
        db.execute(f"ALTER TABLE {_quoted(table)} RENAME COLUMN {_quoted(name)} TO {_quoted(rng.choice(_ODD_NAMES))}")


MUTATIONS: tuple[Callable[[Random, sqlite3.Connection], None], ...] = (
    *(value, value, value, value, swapped, rows_gone, rows_twice, table_gone, table_is_a_view, column),
)


def mutated(rng: Random, data: bytes) -> tuple[bytes, list[str]]:
    """The database after one or two changes by SQL, and what they are called; what SQLite refuses is left out."""
    done = []
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as db:
        db.deserialize(data)
        db.execute("PRAGMA foreign_keys=OFF")
        for _ in range(rng.choice((1, 1, 2))):
            change = rng.choice(MUTATIONS)
            with suppress(sqlite3.Error, IndexError):
                change(rng, db)
                done.append(change.__name__)
        return db.serialize(), done


def page(rng: Random, data: bytes) -> bytes:
    """One page is lost, or stands where another should."""
    size = int.from_bytes(data[16:18], "big") or 4_096
    pages = [data[at : at + size] for at in range(0, len(data), size)]
    at = rng.randrange(len(pages))
    pages[at] = rng.choice((b"\0" * size, pages[rng.randrange(len(pages))], rng.randbytes(size)))
    return b"".join(pages)


def _place(rng: Random, db: sqlite3.Connection) -> tuple[str, str]:
    """A table, one that holds rows more often, and a column."""
    names = [
        name
        for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'")
    ]
    filled = [name for name in names if db.execute(f"SELECT 1 FROM {_quoted(name)} LIMIT 1").fetchone()]
    table = rng.choice(filled if filled and rng.random() < 0.9 else names)
    return table, rng.choice(_columns(db, table))


def _columns(db: sqlite3.Connection, table: str) -> list[str]:
    return [name for (name,) in db.execute("SELECT name FROM pragma_table_info(?)", (table,))]


def _one(db: sqlite3.Connection, rng: Random, table: str) -> str:
    rows = db.execute(f"SELECT count(*) FROM {_quoted(table)}").fetchone()[0]
    return f" WHERE rowid = (SELECT rowid FROM {_quoted(table)} LIMIT 1 OFFSET {rng.randrange(max(rows, 1))})"
