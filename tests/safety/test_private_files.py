"""Temporary files: in folders that only their owner can enter, gone when the answer is there, also after an error."""

from __future__ import annotations

import gzip
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from formats.answers import SAMPLES, said
from trace_budget.errors import InputError
from trace_budget.io import sqlite


@pytest.fixture(autouse=True)
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty temporary folder and a mask that hides nothing; at the end the folder must be empty again."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    mask = os.umask(0)
    yield folder
    os.umask(mask)
    assert list(folder.iterdir()) == []


def packed(folder: Path) -> Path:
    path = folder / "same_run.db.gz"
    path.write_bytes(gzip.compress((SAMPLES / "rocpd/same_run.db").read_bytes()))
    return path


def with_journal(folder: Path) -> Path:
    """A database whose writer is still at work: its log lies beside it."""
    path = folder / "open.db"
    shutil.copyfile(SAMPLES / "rocpd/same_run.db", path)
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA journal_mode=WAL")
        db.execute("CREATE TABLE more (x)")
        for side in ("-wal", "-shm"):
            shutil.copyfile(f"{path}{side}", f"{folder / 'kept'}{side}")
        shutil.copyfile(path, folder / "kept")
    return folder / "kept"


@pytest.mark.parametrize("make", [packed, with_journal])
def test_copies_of_databases_are_private(tmp_path: Path, scratch: Path, make: object) -> None:
    path = make(tmp_path)  # type: ignore[operator]
    with sqlite.opened(path) as database:
        (folder,) = scratch.iterdir()
        assert folder.stat().st_mode & 0o777 == 0o700
        assert any(folder.iterdir())
        assert database.tables


def test_they_are_gone_after_an_error(tmp_path: Path) -> None:
    path = tmp_path / "x.db.gz"
    path.write_bytes(gzip.compress((SAMPLES / "rocpd/same_run.db").read_bytes()[:9_000]))
    with pytest.raises(InputError, match="cut short"), sqlite.opened(path):
        pass


def test_outputs_obey_the_mask_and_leave_nothing_beside_them(tmp_path: Path) -> None:
    place = tmp_path / "out"
    place.mkdir()
    os.umask(0o077)
    trace = str(SAMPLES / "kineto/same_run.json")
    assert said("kernels", trace, "-o", str(place / "kernels.json"), "-q").code == 0
    assert said("ingest", trace, "-o", str(place / "tables"), "-q").code == 0
    assert {path.name for path in place.iterdir()} == {"kernels.json", "tables"}
    modes = {path.stat().st_mode & 0o077 for path in place.rglob("*")}
    assert modes == {0}
