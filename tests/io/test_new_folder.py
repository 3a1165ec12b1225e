"""A folder appears whole or not at all, and takes the place of another in one step."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from trace_budget.errors import OutputError
from trace_budget.io import new_folder
from trace_budget.io.new_folder import write_folder


def content(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.iterdir()}


@pytest.fixture(params=["in one step", "in two steps"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """As Linux does it, and as systems do it that cannot exchange two names."""
    if request.param == "in two steps":
        monkeypatch.setattr(new_folder, "_exchanged", lambda one, other: False)


@pytest.mark.usefixtures("way")
def test_it_is_written_refused_and_replaced(tmp_path: Path) -> None:
    out = tmp_path / "above" / "out"
    write_folder(out, {"a": b"1", "b": b"2"})
    assert content(out) == {"a": b"1", "b": b"2"}
    with pytest.raises(OutputError, match="already exists"):
        write_folder(out, {"a": b"3"})
    assert content(out) == {"a": b"1", "b": b"2"}
    write_folder(out, {"c": b"3"}, overwrite=True)
    assert content(out) == {"c": b"3"}
    write_folder(tmp_path / "new", {"d": b"4"}, overwrite=True)
    assert content(tmp_path / "new") == {"d": b"4"}
    assert sorted(p.name for p in out.parent.iterdir()) == ["out"]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["above", "new"]


@pytest.mark.usefixtures("way")
def test_a_file_of_that_name_goes_as_well(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("a file")
    write_folder(tmp_path / "out", {"a": b"1"}, overwrite=True)
    assert content(tmp_path / "out") == {"a": b"1"}
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_what_cannot_be_replaced_comes_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_folder(tmp_path / "out", {"a": b"old"})
    rename = Path.rename

    def failing(path: Path, target: Path) -> Path:
        if path.suffix == ".part":
            raise PermissionError(errno.EACCES, "no")
        return rename(path, target)

    monkeypatch.setattr(new_folder, "_exchanged", lambda one, other: False)
    monkeypatch.setattr(Path, "rename", failing)
    with pytest.raises(OutputError, match="no permission"):
        write_folder(tmp_path / "out", {"a": b"new"}, overwrite=True)
    assert content(tmp_path / "out") == {"a": b"old"}
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


@pytest.mark.usefixtures("way")
def test_one_that_came_while_it_was_written_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = new_folder._write

    def slowly(file: Path, data: bytes) -> None:
        write(file, data)
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / "theirs").write_bytes(b"0")

    monkeypatch.setattr(new_folder, "_write", slowly)
    with pytest.raises(OutputError, match="already exists"):
        write_folder(tmp_path / "out", {"mine": b"1"})
    assert content(tmp_path / "out") == {"theirs": b"0"}
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_a_name_may_be_as_long_as_the_file_system_allows(tmp_path: Path) -> None:
    write_folder(tmp_path / ("x" * 255), {"a": b"1"})
    assert content(tmp_path / ("x" * 255)) == {"a": b"1"}


@pytest.mark.skipif(sys.platform != "linux", reason="names change places in one step on Linux alone")
def test_a_kill_at_any_moment_leaves_the_old_or_the_new(tmp_path: Path) -> None:
    """Killed before the exchange and right after it: by the code itself, so that no chance decides."""
    code = (
        "import os, sys, signal, pathlib; from trace_budget.io import new_folder\n"
        "exchanged = new_folder._exchanged\n"
        "def kill(one, other):\n"
        "    if sys.argv[2] == 'after': assert exchanged(one, other)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "new_folder._exchanged = kill\n"
        "new_folder.write_folder(pathlib.Path(sys.argv[1]), {'a': b'new'}, overwrite=True)\n"
    )
    out = tmp_path / "out"
    for moment, left in (("before", b"old"), ("after", b"new")):
        write_folder(out, {"a": b"old"}, overwrite=True)
        done = subprocess.run([sys.executable, "-c", code, out, moment], check=False, env=os.environ)
        assert done.returncode == -9
        assert content(out) == {"a": left}
