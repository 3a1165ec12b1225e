"""Copies for which there is no room: the place for temporary files is named, the input is not blamed."""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from trace_budget.io import temp as scratch
from trace_budget.io.temp import NoRoomError, scratch_folder

SAMPLES = Path(__file__).parents[2] / "sample_traces"
DATABASE = SAMPLES / "rocpd/same_run.db"


def database_in_gzip(folder: Path) -> Path:
    path = folder / "run.db.gz"
    path.write_bytes(gzip.compress(DATABASE.read_bytes()))
    return path


def open_database(folder: Path) -> Path:
    path = folder / "run.db"
    path.write_bytes(DATABASE.read_bytes())
    path.with_name("run.db-wal").write_bytes(b"\0" * 100)
    return path


@pytest.mark.parametrize("make", [database_in_gzip, open_database])
def test_a_database_whose_copy_does_not_fit(make: object, tmp_path: Path) -> None:
    path, room = make(tmp_path), tmp_path / "room"  # type: ignore[operator]
    room.mkdir()
    command = [
        "bash",
        "-c",
        'ulimit -f 8; exec "$0" -m trace_budget kernels "$1" --no-cache',
        sys.executable,
        str(path),
    ]
    environment = os.environ | {"TMPDIR": str(room)}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 3
    told = f"{path}: no room for a temporary copy (found {room} takes no more). Make room, or set TMPDIR"
    assert done.stderr.startswith(f"trace-budget: {told}")
    assert done.stderr.count("\n") == 1
    assert not list(room.iterdir())


def test_an_archive_whose_members_do_not_fit_is_not_blamed(tmp_path: Path) -> None:
    from trace_budget.io.archive import members

    path = tmp_path / "runs.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.write(DATABASE, "run.db")
    code = (
        "import sys, signal, resource, pathlib; from trace_budget.io.archive import members\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (5000, 5000))\n"
        "try: list(members(pathlib.Path(sys.argv[1])))\n"
        "except Exception as error: print(type(error).__name__)"
    )
    assert len(list(members(path))) == 1
    done = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, check=True)
    assert done.stdout == "NoRoomError\n"


def test_no_folder_for_temporary_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scratch.tempfile, "tempdir", str(tmp_path / "gone"))
    with pytest.raises(NoRoomError, match=r"run\.db: no room"), scratch_folder(tmp_path / "run.db"):
        pass


def test_a_plain_database_needs_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from trace_budget import api

    monkeypatch.setattr(scratch.tempfile, "tempdir", str(tmp_path / "gone"))
    assert api.open_trace(DATABASE).gpu_ops.height
