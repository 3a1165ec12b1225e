"""Archives whose members try to get out of their folder, or are no files: nothing is written elsewhere."""

from __future__ import annotations

import io
import tarfile
import zipfile
from pathlib import Path

import pytest

from formats.answers import SAMPLES, said
from safety.tree import files_below
from trace_budget.errors import InputError
from trace_budget.io.archive import member, members

DATA = (SAMPLES / "kineto/same_run.json").read_bytes()
NAMES = (
    "../../out.json",
    "/var/tmp/absolute.json",  # noqa: S108
    "a/../../up.json",
    "..",
    "deep/..",
    "c:\\windows\\x.json",
    "esc\x1b[2Jape.json",
    "two\nlines.json",
    "k" * 300 + ".json",
    ".hidden.json",
    "-rf",
    "plain.json",
)
SAVING = ("--kernel", "paged_attention", "--saving-us", "3", "-q", "--engine", "here")


def zipped(path: Path) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name in NAMES:
            archive.writestr(name, DATA)
    return path


def tarred(path: Path) -> Path:
    kinds = {"link": tarfile.SYMTYPE, "hard": tarfile.LNKTYPE, "fifo": tarfile.FIFOTYPE, "zero": tarfile.CHRTYPE}
    with tarfile.open(path, "w:gz") as archive:
        for name in NAMES:
            info = tarfile.TarInfo(name)
            info.size, info.mode = len(DATA), 0o4777
            archive.addfile(info, io.BytesIO(DATA))
        for name, kind in kinds.items():
            info = tarfile.TarInfo(f"{name}.json")
            info.type, info.linkname, info.devmajor, info.devminor = kind, "/etc/passwd", 1, 5
            archive.addfile(info)
    return path


MAKERS = {"all.zip": zipped, "all.tar.gz": tarred}


@pytest.mark.parametrize("name", MAKERS)
def test_every_member_lies_in_its_private_folder(tmp_path: Path, name: str) -> None:
    archive, seen = MAKERS[name](tmp_path / name), []
    for found in members(archive):
        folder = found.path.parent
        assert folder.stat().st_mode & 0o777 == 0o700
        assert found.path.resolve().parent == folder.resolve()
        assert not found.path.is_symlink()
        assert found.path.stat().st_mode & 0o7000 == 0
        assert found.path.read_bytes() == DATA
        seen.append(found.name)
    assert len(seen) == len(NAMES)
    assert not folder.exists()
    with member(archive, seen[0]) as path:
        assert path.name == "out.json"
        assert path.read_bytes() == DATA


@pytest.mark.parametrize("name", MAKERS)
def test_a_batch_over_them_writes_nothing_but_its_dataset(tmp_path: Path, name: str) -> None:
    place = tmp_path / "in"
    place.mkdir()
    archive = MAKERS[name](place / name)
    answer = said("batch", str(place), "-o", str(tmp_path / "out"), *SAVING)
    assert answer.code in (0, 3), answer.err
    assert "\x1b" not in answer.err
    assert list(files_below(place)) == [archive.name]
    assert {path.name for path in tmp_path.iterdir()} == {"in", "out"}
    assert not Path("/var/tmp/absolute.json").exists()  # noqa: S108  (the place it asks for)


def test_a_bomb_in_an_archive_is_refused_before_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "bomb.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.json", bytes(300 << 20))
    with pytest.raises(InputError, match="inflates too far"):
        list(members(path))
