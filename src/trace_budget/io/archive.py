"""Members of zip and tar archives (plain, gzip, zstd), given out one at a time as private files, within limits."""

from __future__ import annotations

import atexit
import lzma
import os
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from trace_budget.errors import InputError
from trace_budget.io.inflate import CHUNK_BYTES, PlainStream, compression_of, limits
from trace_budget.io.temp import error_when_full, scratch_folder

_TAR_MAGIC = slice(257, 262)
_LONGEST_NAME_BYTES = 255
# RuntimeError: what zipfile raises for encrypted members, and (a kind of it) for versions and methods it does not know;
# ValueError: places before the archive, names that are no UTF-8; struct.error: headers cut short
BROKEN = (
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    EOFError,
    OSError,
    RuntimeError,
    ValueError,
)


@dataclass(frozen=True, slots=True)
class Member:
    """One file in an archive, the `index`-th from 0, in a private folder for as long as it is looked at."""

    name: str
    path: Path
    index: int = 0


def is_archive(head: bytes, compression: str) -> bool:
    """Whether the first plain bytes of a file (or its being a zip) say that it holds other files."""
    return compression == "zip" or head[_TAR_MAGIC] == b"ustar"


def members(path: Path) -> Iterator[Member]:
    """Each regular file of an archive in stored order; the one before is gone when the next is asked for.

    Raises InputError for a damaged or encrypted archive and beyond the limits on inflated bytes.
    """
    with scratch_folder(path) as folder, _named(path):
        budget = _Budget(path)
        for index, (name, file) in enumerate(_zip_files(path) if _is_zip(path) else _tar_files(path)):
            target = folder / _plain_name(name)
            with file:
                budget.copy(file, target)
            yield Member(name, target, index)
            target.unlink(missing_ok=True)


def _plain_name(name: str) -> str:
    """The last part of a member's name, which may give its rank; `member` where that is no name of a file."""
    last = Path(name).name
    fits = last not in ("", "..") and "\0" not in last and len(os.fsencode(last)) <= _LONGEST_NAME_BYTES
    return last if fits else "member"


@contextmanager
def member(path: Path, name: str, index: int | None = None) -> Iterator[Path]:
    """One member by its name, as a private file that is removed afterwards. Raises InputError when it is not there.

    `index` says which one where a name stands more than once.
    """
    found = _zip_member(path, name) if _is_zip(path) else _tar_member(path, name, index)
    yield from found


def _zip_member(path: Path, name: str) -> Iterator[Path]:
    """The last of this name, as unpacking would leave it."""
    with scratch_folder(path) as folder:
        target = folder / _plain_name(name)
        with _named(path), zipfile.ZipFile(path) as archive, archive.open(name) as file:
            _Budget(path).copy(file, target)
        yield target


def _tar_member(path: Path, name: str, index: int | None) -> Iterator[Path]:
    """The cursor of this process goes on behind the last member: members asked for in order are read once."""
    yield _cursor_at(path).seek(name, index)


@contextmanager
def _named(path: Path) -> Iterator[None]:
    try:
        yield
    except KeyError as error:
        raise InputError("no such member", where=str(path), found=str(error)) from None
    except BROKEN as error:
        advice = "Copy it again."
        raise InputError("an archive that cannot be read", where=str(path), found=str(error), advice=advice) from None


class _Budget:
    """Copies members until the archive has grown beyond what a file of its size may."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._bound = limits().bound(path.stat().st_size)
        self._copied = 0

    def copy(self, source: IO[bytes], target: Path) -> None:
        with error_when_full(self._path), target.open("wb") as file:
            while chunk := source.read(CHUNK_BYTES):
                self._copied += len(chunk)
                if self._copied > self._bound:
                    expected = f"at most {self._bound} bytes"
                    raise InputError("inflates too far", where=str(self._path), expected=expected)
                file.write(chunk)


def _is_zip(path: Path) -> bool:
    """By its first bytes: the end of a tar archive may look like a zip that it holds."""
    with path.open("rb") as file:
        return compression_of(file.read(4)) == "zip"


def _zip_files(path: Path) -> Iterator[tuple[str, IO[bytes]]]:
    with zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            if not _is_folder(info):
                yield info.filename, archive.open(info)


def names_in(archive: zipfile.ZipFile) -> list[str]:
    """The names of the files in an open zip archive, in stored order."""
    return [info.filename for info in archive.infolist() if not _is_folder(info)]


def _is_folder(info: zipfile.ZipInfo) -> bool:
    """As `is_dir` says, which Python 3.11 cannot say of an empty name."""
    return info.filename.endswith("/")


def _tar_files(path: Path) -> Iterator[tuple[str, IO[bytes]]]:
    with PlainStream(path) as plain, tarfile.open(fileobj=cast("IO[bytes]", plain), mode="r|") as archive:
        for info in archive:
            file = archive.extractfile(info) if info.isfile() else None
            if file is not None:
                yield info.name, file


class _Cursor:
    """One walk through a tar archive; asked for members in stored order, it never starts again."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._walk = members(path)

    def seek(self, name: str, index: int | None = None) -> Path:
        for again in (False, True):
            if again:
                self._walk = members(self.path)
            for found in self._walk:
                if found.name == name and index in (None, found.index):
                    return found.path
        raise InputError("no such member", where=str(self.path), found=ascii(name))


_CURSORS: dict[Path, _Cursor] = {}
# while Python still has what the walk needs to remove its folder
atexit.register(_CURSORS.clear)


def _cursor_at(path: Path) -> _Cursor:
    """The cursor of the archive this process works on; that of another archive is closed."""
    if path not in _CURSORS:
        _CURSORS.clear()
        _CURSORS[path] = _Cursor(path)
    return _CURSORS[path]
