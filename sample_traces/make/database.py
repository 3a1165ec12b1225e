"""Write an SQLite file whose content is the same on every run, small enough to be committed."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

Row = dict[str, object]
_TYPES = {
    "~": "TEXT",
    "#": "REAL",
    "{": "JSONB DEFAULT '{}' NOT NULL",
    "*": "INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT",
}


@dataclass
class Content:
    """Tables with their rows, in order, and statements to run after them (views, indexes).

    Columns are told as words: `pid` is an integer, `name~` text, `value#` a float, `extdata{` JSON, `id*` the row id.
    """

    tables: dict[str, str] = field(default_factory=dict)
    rows: dict[str, list[Row]] = field(default_factory=dict)
    after: list[str] = field(default_factory=list)

    def table(self, name: str, columns: str) -> None:
        """Declare a table."""
        self.tables[name] = ", ".join(_declared(word) for word in columns.split())
        self.rows[name] = []

    def add(self, table: str, /, **values: object) -> None:
        """Add a row; columns not named keep their default."""
        self.rows[table].append(values)


def _declared(word: str) -> str:
    kind = _TYPES.get(word[-1])
    return f'"{word[:-1]}" {kind}' if kind else f'"{word}" INTEGER'


def write(path: Path, content: Content) -> None:
    """Write all of it into a new file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for pragma in ("page_size=512", "journal_mode=OFF", "synchronous=OFF"):
            connection.execute(f"PRAGMA {pragma}")
        connection.execute("BEGIN")
        for name, columns in content.tables.items():
            connection.execute(f"CREATE TABLE `{name}` ({columns})")
            for row in content.rows[name]:
                names, marks = ", ".join(f'"{key}"' for key in row), ", ".join("?" * len(row))
                connection.execute(f"INSERT INTO `{name}` ({names}) VALUES ({marks})", tuple(row.values()))  # noqa: S608
        for statement in content.after:
            connection.execute(statement)
        connection.execute("COMMIT")
        connection.execute("VACUUM")
