"""Members of archives: every regular file once, within limits, whatever the archive's form; damage is told."""

import gzip
import io
import random
import tarfile
import zipfile
from pathlib import Path

import pytest

from trace_budget.errors import InputError
from trace_budget.io.archive import is_archive, member, members, names_in
from trace_budget.io.inflate import LIMIT_VARIABLE
from trace_budget.io.probe import probe

FILES = {f"run/{name}.json": random.Random(name).randbytes(5_000) for name in "abcdef"}


def tarred(mode: str) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as archive:  # type: ignore[call-overload]
        for name, data in FILES.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
        link = tarfile.TarInfo("run/link")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    return buffer.getvalue()


def zipped() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.mkdir("run") if hasattr(archive, "mkdir") else None
        for name, data in FILES.items():
            archive.writestr(name, data)
    return buffer.getvalue()


CASES = {"plain.tar": tarred("w"), "packed.tgz": tarred("w:gz"), "all.zip": zipped()}


@pytest.fixture(params=CASES)
def archive(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / str(request.param)
    path.write_bytes(CASES[request.param])
    return path


def test_an_archive_is_known_by_its_content(archive: Path) -> None:
    seen = probe(archive)
    assert is_archive(seen.data, seen.compression)


def test_every_regular_file_comes_once_and_goes(archive: Path) -> None:
    found, places = {}, []
    for each in members(archive):
        found[each.name] = each.path.read_bytes()
        places.append(each.path)
    assert found == FILES
    assert not any(place.exists() for place in places)


def test_members_by_name_in_any_order(archive: Path) -> None:
    names = [*FILES, *reversed(FILES), "run/c.json", "run/c.json"]
    for name in names:
        with member(archive, name) as path:
            assert path.read_bytes() == FILES[name]
            assert path.name == Path(name).name


def test_a_member_that_is_not_there(archive: Path) -> None:
    with pytest.raises(InputError, match="no such member"), member(archive, "run/none.json"):
        pass


def test_a_bomb_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(LIMIT_VARIABLE, "20000")
    path = tmp_path / "bomb.zip"
    path.write_bytes(zipped())
    with pytest.raises(InputError, match="inflates too far"):
        list(members(path))


def test_a_cut_archive_gives_what_lies_before_the_cut(tmp_path: Path) -> None:
    path = tmp_path / "cut.tgz"
    path.write_bytes(gzip.compress(tarred("w")[:12_000], mtime=0))
    seen = []
    with pytest.raises(InputError, match="an archive that cannot be read"):
        for each in members(path):
            seen.append(each.name)
    assert seen == ["run/a.json", "run/b.json"]  # 5,000 bytes each, behind headers of 512


def nameless(path: Path) -> None:
    """A zip whose second member has an empty name."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.json", b"1")
        archive.writestr("e.json", b"22")
        archive.writestr("folder/", b"")
    path.write_bytes(path.read_bytes().replace(b"e.json", b"\0.json"))  # a name ends at the first zero


def test_members_without_a_name_are_members(tmp_path: Path) -> None:
    path = tmp_path / "all.zip"
    nameless(path)
    assert [(each.name, each.path.name, each.path.stat().st_size) for each in members(path)] == [
        ("a.json", "a.json", 1),
        ("", "member", 2),
    ]
    with zipfile.ZipFile(path) as archive:
        assert names_in(archive) == ["a.json", ""]


def test_headers_of_a_zip_that_lie_elsewhere(tmp_path: Path) -> None:
    path = tmp_path / "all.zip"
    data = zipped()
    offset = data.rindex(b"run/a.json") - 4  # where the directory says its header stands
    for place in (len(data) - 5, 0xFFFF_FFF0):
        path.write_bytes(data[:offset] + place.to_bytes(4, "little") + data[offset + 4 :])
        with pytest.raises(InputError, match="an archive that cannot be read"):
            list(members(path))


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_damaged_members_of_every_method(method: int, tmp_path: Path) -> None:
    path = tmp_path / "all.zip"
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr("a.json", FILES["run/a.json"])
    data = bytearray(path.read_bytes())
    for at in range(36, 60):
        data[at] ^= 0xFF
    path.write_bytes(data)
    with pytest.raises(InputError, match="an archive that cannot be read"):
        list(members(path))


def test_what_goes_wrong_while_a_member_is_looked_at_is_no_damage(archive: Path) -> None:
    with pytest.raises(ValueError, match="mine"), member(archive, "run/b.json"):
        raise ValueError("mine")
