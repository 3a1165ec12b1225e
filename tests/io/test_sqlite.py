"""SQLite files are read exactly, with named errors, and nothing is written beside them."""

from __future__ import annotations

import gc
import gzip
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trace_budget.errors import InputError
from trace_budget.io import sqlite

INT, TEXT = pl.Int64(), pl.String()
INT64 = st.integers(-(1 << 63), (1 << 63) - 1)


def made(path: Path, *statements: str) -> Path:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)
    return path


def listing(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in sorted(folder.iterdir())}


def column(path: Path, table: str, name: str, dtype: pl.DataType) -> list[object]:
    with sqlite.opened(path) as db:
        return db.read(table, {name: dtype})[name].to_list()


@settings(deadline=None)
@given(values=st.lists(st.one_of(INT64, st.none()), max_size=60))
def test_every_integer_comes_back_as_it_is(values: list[int | None], tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("ints") / "a.db"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE t (v INTEGER)")
        connection.executemany("INSERT INTO t VALUES (?)", [(value,) for value in values])
    assert column(path, "t", "v", INT) == values


def test_more_rows_than_a_chunk_keep_their_order(tmp_path: Path) -> None:
    path, count = tmp_path / "a.db", 3 * sqlite.CHUNK_ROWS + 17
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE t (v INTEGER, w TEXT)")
        connection.executemany("INSERT INTO t VALUES (?, ?)", [(i * i, str(i)) for i in range(count)])
    with sqlite.opened(path) as db:
        frame = db.read("t", {"w": TEXT, "v": INT})
    assert frame.columns == ["w", "v"]
    assert frame["v"].to_list() == [i * i for i in range(count)]
    assert frame["w"].to_list() == [str(i) for i in range(count)]


def test_integers_stored_as_something_else(tmp_path: Path) -> None:
    fill = (
        "INSERT INTO t VALUES ('1712195495604628867'), (' 12 '), ('0x10'), (''), (3.0), (3.5), (x'3132'), (NULL), (-4)"
    )
    path = made(tmp_path / "a.db", "CREATE TABLE t (v)", fill)
    assert column(path, "t", "v", INT) == [1_712_195_495_604_628_867, 12, None, None, 3, None, None, None, -4]


def test_text_that_is_not_text(tmp_path: Path) -> None:
    fill = "INSERT INTO t VALUES (CAST(x'61ff62' AS TEXT)), (7), (NULL), ('日本')"
    path = made(tmp_path / "a.db", "CREATE TABLE t (v)", fill)
    assert column(path, "t", "v", TEXT) == ["a\ufffdb", "7", None, "日本"]


def test_absent_columns_and_tables_are_null_and_empty(tmp_path: Path) -> None:
    path = made(tmp_path / "a.db", "CREATE TABLE t (gridZ INTEGER)", "INSERT INTO t VALUES (5)")
    with sqlite.opened(path) as db:
        assert db.read("t", {"gridz": INT, "absent": TEXT}).rows() == [(5, None)]
        assert db.read("nowhere", {"a": INT}).schema == {"a": INT}
        assert db.read("t", {"absent": INT}).height == 0
        assert db.has("t", "GRIDZ")
        assert not db.has("t", "absent")
        assert not db.has("nowhere")


def test_names_with_quotes_stay_names(tmp_path: Path) -> None:
    table, name = 't"; DROP TABLE u; --', 'a"b'
    create = f"CREATE TABLE {sqlite.quoted(table)} ({sqlite.quoted(name)} INTEGER)"
    fill = f"INSERT INTO {sqlite.quoted(table)} VALUES (9)"  # noqa: S608  (what is tested)
    path = made(tmp_path / "a.db", create, fill, "CREATE TABLE u (v INTEGER)")
    assert column(path, table, name, INT) == [9]


def test_where_takes_its_values_as_parameters(tmp_path: Path) -> None:
    path = made(tmp_path / "a.db", "CREATE TABLE t (v TEXT)", "INSERT INTO t VALUES ('a'), ('b'), ('x'' OR 1 --')")
    with sqlite.opened(path) as db:
        assert db.read("t", {"v": TEXT}, "v = ?", ("x' OR 1 --",))["v"].to_list() == ["x' OR 1 --"]


def test_views_and_virtual_tables_are_not_tables(tmp_path: Path) -> None:
    endless = "CREATE VIEW v AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n"
    path = made(tmp_path / "a.db", "CREATE TABLE t (v INTEGER)", endless, "CREATE VIRTUAL TABLE f USING fts5(x)")
    with sqlite.opened(path) as db:
        assert "t" in db.tables
        assert not {"v", "f"} & set(db.tables)


def test_nothing_can_be_written_or_attached(tmp_path: Path) -> None:
    path = made(tmp_path / "a.db", "CREATE TABLE t (v INTEGER)")
    other = made(tmp_path / "b.db", "CREATE TABLE u (v INTEGER)")
    with sqlite.opened(path) as db:
        with pytest.raises(sqlite3.Error):
            db.connection.execute("INSERT INTO t VALUES (1)")
        with pytest.raises(sqlite3.Error):
            db.connection.execute("ATTACH ? AS other", (str(other),))
        with pytest.raises(sqlite3.Error, match=r"not authorized|no such function"):
            db.connection.execute("SELECT load_extension('x')")


@contextmanager
def recording(folder: Path, mode: str) -> Iterator[sqlite3.Connection]:
    """A database whose writer is in the middle of it."""
    with closing(sqlite3.connect(folder / "live.db", isolation_level=None)) as connection:
        connection.execute(f"PRAGMA journal_mode={mode}")
        connection.execute("PRAGMA cache_size=2")
        connection.execute("CREATE TABLE t (v INTEGER, filler TEXT)")
        connection.executemany("INSERT INTO t VALUES (?, ?)", [(i, "x" * 900) for i in range(20)])
        yield connection


def killed(folder: Path, to: Path) -> Path:
    """The files as a killed writer leaves them."""
    to.mkdir()
    for file in folder.iterdir():
        if not file.name.endswith("-shm"):
            shutil.copyfile(file, to / file.name)
    return to / "live.db"


def test_rows_in_a_write_ahead_log_are_read_and_told(tmp_path: Path) -> None:
    (tmp_path / "at").mkdir()
    with recording(tmp_path / "at", "WAL"):
        path = killed(tmp_path / "at", tmp_path / "left")
    before = listing(path.parent)
    assert set(before) == {"live.db", "live.db-wal"}
    with sqlite.opened(path) as db:
        assert db.read("t", {"v": INT})["v"].to_list() == list(range(20))
        assert "live.db-wal" in db.damage
    assert listing(path.parent) == before


def test_a_transaction_that_never_ended_is_rolled_back(tmp_path: Path) -> None:
    (tmp_path / "at").mkdir()
    with recording(tmp_path / "at", "DELETE") as connection:
        connection.execute("BEGIN")
        connection.execute("UPDATE t SET v = -1")
        path = killed(tmp_path / "at", tmp_path / "left")
        connection.execute("ROLLBACK")
    before = listing(path.parent)
    assert set(before) == {"live.db", "live.db-journal"}
    with sqlite.opened(path) as db:
        assert db.read("t", {"v": INT})["v"].to_list() == list(range(20))
        assert "live.db-journal" in db.damage
    assert listing(path.parent) == before


@pytest.mark.parametrize("name", ["a.db-journal", "a.db-wal"])
def test_left_over_side_files_without_changes_do_not_count(tmp_path: Path, name: str) -> None:
    path = made(tmp_path / "a.db", "CREATE TABLE t (v INTEGER)", "INSERT INTO t VALUES (1)")
    (tmp_path / name).write_bytes(b"\0" * 28)
    with sqlite.opened(path) as db:
        assert db.damage == ""
        assert db.read("t", {"v": INT})["v"].to_list() == [1]


def test_a_folder_is_left_as_it_was(tmp_path: Path) -> None:
    path = made(tmp_path / "name with ?#%41.db", "PRAGMA journal_mode=WAL", "CREATE TABLE t (v INTEGER)")
    before = listing(tmp_path)
    with sqlite.opened(path) as db:
        assert db.tables["t"] == ("v",)
        assert listing(tmp_path) == before
    assert listing(tmp_path) == before


def many_pages(path: Path) -> Path:
    numbers = "WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500)"
    fill = f"{numbers} INSERT INTO t SELECT i, hex(zeroblob(200)) FROM n"  # noqa: S608  (a literal)
    return made(path, "CREATE TABLE t (v INTEGER, filler TEXT)", fill)


def test_a_compressed_database_is_read(tmp_path: Path) -> None:
    packed = tmp_path / "a.rpd.gz"
    packed.write_bytes(gzip.compress(many_pages(tmp_path / "a.db").read_bytes()))
    assert column(packed, "t", "v", INT) == list(range(1, 501))


def test_a_cut_database_says_how_long_it_should_be(tmp_path: Path) -> None:
    data = many_pages(tmp_path / "a.db").read_bytes()
    (tmp_path / "cut.db").write_bytes(data[:9_000])
    with pytest.raises(InputError, match=rf"cut short \(expected {len(data)} bytes, found 9000 bytes\)"):
        column(tmp_path / "cut.db", "t", "v", INT)


def test_a_cut_gzip_stream_says_so_too(tmp_path: Path) -> None:
    packed = gzip.compress(many_pages(tmp_path / "a.db").read_bytes(), 1)
    (tmp_path / "cut.db.gz").write_bytes(packed[: len(packed) // 2])
    with pytest.raises(InputError, match=r"cut short .*gzip stream ends early"):
        column(tmp_path / "cut.db.gz", "t", "v", INT)


@pytest.mark.parametrize("packed", [False, True])
def test_another_database_behind_the_first_is_told(tmp_path: Path, packed: bool) -> None:
    data = many_pages(tmp_path / "a.db").read_bytes()
    path = tmp_path / "two.db"
    path.write_bytes(gzip.compress(data) * 2 if packed else data * 2)
    with sqlite.opened(path) as database:
        assert database.damage == "another database follows it, which is not read"
    assert column(path, "t", "v", INT) == list(range(1, 501))
    with sqlite.opened(tmp_path / "a.db") as database:
        assert database.damage == ""


def test_damage_in_the_middle_names_the_table(tmp_path: Path) -> None:
    data = bytearray(many_pages(tmp_path / "a.db").read_bytes())
    data[20_000:28_000] = b"\xff" * 8_000
    (tmp_path / "bad.db").write_bytes(data)
    with pytest.raises(InputError, match=r"bad\.db, table t: .*malformed.*recover"):
        column(tmp_path / "bad.db", "t", "v", INT)
    assert gc.isenabled()


def test_a_value_beyond_the_limit_names_limit_and_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = made(tmp_path / "a.db", "CREATE TABLE t (v TEXT)", "INSERT INTO t VALUES (hex(zeroblob(5000)))")
    monkeypatch.setattr(sqlite, "LONGEST_VALUE_BYTES", 2_000)
    with pytest.raises(InputError, match="table t: holds a value of more than 2000 bytes"):
        column(path, "t", "v", TEXT)


@pytest.mark.parametrize("content", [b"", b"hello", b"SQLite format 4\0" + b"\0" * 100])
def test_what_is_no_database_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.db").write_bytes(content)
    with pytest.raises(InputError, match="no SQLite database"), sqlite.opened(tmp_path / "a.db"):
        pass


@pytest.mark.parametrize("name", ["missing.db", "."])
def test_what_is_no_file_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError), sqlite.opened(tmp_path / name):
        pass


def test_garbage_collection_is_as_it_was(tmp_path: Path) -> None:
    path = many_pages(tmp_path / "a.db")
    for wanted in (False, True):
        (gc.enable if wanted else gc.disable)()
        try:
            column(path, "t", "v", INT)
            assert gc.isenabled() is wanted
        finally:
            gc.enable()
