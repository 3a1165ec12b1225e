"""Exactly one reader recognises a file, by content; known unreadable files are refused with what to do."""

from __future__ import annotations

import gzip
import os
import sqlite3
import zipfile
from contextlib import closing
from pathlib import Path

import pytest

from kineto_texts import document, kernel
from trace_budget import readers
from trace_budget.contracts import Head, Reader, ReadOptions
from trace_budget.errors import InputError, UsageError
from trace_budget.inputs.detect import description, detect, head_of
from trace_budget.schema.trace import empty_trace

KINETO = document([kernel("k", 1, 1)])


def written(folder: Path, data: bytes, name: str = "unknown") -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


@pytest.mark.parametrize(
    "data",
    [
        KINETO,
        gzip.compress(KINETO, mtime=0),
        b"\xef\xbb\xbf\n  " + KINETO,
        b'[{"ph": "X", "cat": "kernel", "name": "k"}]',
        b'[{"ph": "X", "cat": "Kernel", "name": "k"}]',
        b'[{"ph": "X", "name": "k", "args": {"stream": 7, "correlation": 5}}]',
        b'{"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "k"',
        b'{"deviceProperties": [], "traceEvents": []}',
        b'{"meta": {"a": 1}, "schemaVersion": 1',
    ],
)
@pytest.mark.parametrize("name", ["unknown", "trace.csv", "x.db"])
def test_kineto_whatever_its_name(tmp_path: Path, data: bytes, name: str) -> None:
    assert detect(written(tmp_path, data, name)).name == "kineto"


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "empty file"),
        (b"  \n ", "no bytes once decompressed"),
        (gzip.compress(b"", mtime=0), "no bytes once decompressed"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5\n", "git lfs pull --include unknown"),
        (b"Dispatch_ID,Kernel_Name,GPU_ID,Grid_Size,Start_Timestamp\n1,k,0,1,2\n", "rocprofv3 --kernel-trace"),
        (b'{"traceEvents": []}', "no format that can be read"),
        (b'{"results": []}', "found text that starts '{\"results\": []}'"),
        (gzip.compress(b"hello\x1b[31m", mtime=0), r"gzip-compressed text that starts 'hello\\x1b[31m'"),
        (b"\x7fELF\x02\x01\x01\x00\x99", "bytes that start 7f 45 4c 46"),
    ],
)
def test_what_cannot_be_read(tmp_path: Path, data: bytes, words: str) -> None:
    with pytest.raises(InputError) as caught:
        detect(written(tmp_path, data))
    assert words.replace("\\\\", "\\") in caught.value.line()
    assert "\n" not in caught.value.line()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("run.nsys-rep", "nsys export --type sqlite run.nsys-rep"),
        ("run.qdrep", "nsys export"),
        ("traces.otf2", "rocprofv3 --kernel-trace"),
        ("run.ncu-rep", "ncu --import run.ncu-rep"),
    ],
)
def test_what_cannot_be_read_by_its_name(tmp_path: Path, name: str, words: str) -> None:
    with pytest.raises(InputError) as caught:
        detect(written(tmp_path, b"\x01\x02\x03\x04binary", name))
    assert words in caught.value.line()


def test_a_name_alone_refuses_nothing(tmp_path: Path) -> None:
    assert detect(written(tmp_path, KINETO, "run.nsys-rep")).name == "kineto"


def test_a_zip_archive_names_its_members(tmp_path: Path) -> None:
    path = tmp_path / "traces.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("rank0.json", KINETO)
    with pytest.raises(InputError, match=r"1 members: rank0\.json.*unzip traces\.zip"):
        detect(path)
    with pytest.raises(InputError, match="damaged zip"):
        detect(written(tmp_path, path.read_bytes()[:40]))


def test_what_is_no_file(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (tmp_path, pipe, tmp_path / "missing", Path("/dev/null")):
        with pytest.raises(InputError):
            detect(path)


def test_an_unknown_database_lists_its_tables(tmp_path: Path) -> None:
    path = tmp_path / "x.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE recipes (id)")
        connection.commit()
    with pytest.raises(InputError, match="SQLite with tables recipes"):
        detect(path)
    packed = written(tmp_path, gzip.compress(path.read_bytes()))
    assert head_of(packed).names == ("recipes",)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["unknown", "x.db"]


def test_a_format_can_be_named(tmp_path: Path) -> None:
    path = written(tmp_path, b"anything")
    assert detect(path, "kineto").name == "kineto"
    with pytest.raises(UsageError, match="one of kineto"):
        detect(path, "nonsense")
    with pytest.raises(InputError, match="empty file"):
        detect(written(tmp_path, b""), "kineto")


def test_several_candidates_are_named_not_guessed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def greedy(name: str) -> Reader:
        return Reader(name, name, "", "", lambda head: True, lambda path, options: empty_trace(str(path), name))

    monkeypatch.setattr(readers, "NAMES", ("one", "two"))
    monkeypatch.setattr(readers, "load", greedy)
    with pytest.raises(InputError, match=r"several formats.*found one, two"):
        detect(written(tmp_path, KINETO))
    monkeypatch.setattr(readers, "NAMES", ("one",))
    assert detect(written(tmp_path, KINETO)).read(Path("x"), ReadOptions()).format == "one"


def test_a_long_list_of_tables_is_cut() -> None:
    head = Head(Path("x"), b"SQLite", "none", 1, tuple("abcdefgh"))
    assert description(head) == "SQLite with tables a, b, c, d, e, f, …"
