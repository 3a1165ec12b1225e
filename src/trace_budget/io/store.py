"""A folder in which files appear whole or not at all: on a local disk, or in an object store by its URL (fsspec)."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol

from trace_budget.errors import InputError, OutputError, UsageError
from trace_budget.io.atomic import output_error
from trace_budget.io.existing import is_folder

TEMPORARY = "_tmp"
STALE_SECONDS = 86_400
_MOST_THREADS = 8
_CLIENTS = ("botocore", "aiobotocore", "aiohttp")  # whose errors are no OSError
_OBJECT_STORES = frozenset(("s3", "s3a", "gs", "gcs", "abfs", "abfss", "az", "adl", "oss", "memory"))
_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL


class Store(Protocol):
    """Where a dataset lies. Names are relative, with `/`; a method that cannot do its work raises OutputError."""

    address: str

    def names(self, folder: str) -> frozenset[str]:
        """Names of the files directly in a folder; none when there is no such folder."""
        ...

    def has(self, name: str) -> bool:
        """Whether there is a file of this name."""
        ...

    def put(self, files: Sequence[tuple[str, bytes]]) -> None:
        """Write files, each whole or not at all; they appear in the order given, after all have been written."""
        ...

    def read(self, name: str) -> bytes:
        """All bytes of one file."""
        ...

    def read_all(self, names: Sequence[str]) -> list[bytes]:
        """All bytes of each of several files."""
        ...

    def remove(self, name: str) -> None:
        """Remove a file; one that is not there is no error."""
        ...


def is_url(address: str) -> bool:
    """Whether an address is meant for fsspec (`s3://…`, `memory://…`), not a local path."""
    return "://" in address


def plain_address(address: str) -> str:
    """The address, as a local path where it is a `file://` URL."""
    return address.removeprefix("file://")


def store_at(address: str, *, create: bool = True) -> Store:
    """The store of a local folder or of a URL; the folder must be there already unless it may be created.

    Raises OutputError, UsageError without fsspec.
    """
    return RemoteStore(address) if is_url(address) else LocalStore(address, create=create)


def file_system(address: str) -> tuple[Any, str]:
    """The fsspec file system of a URL and the path inside it; UsageError when a package for it is missing."""
    try:
        from fsspec.core import url_to_fs

        system, path = url_to_fs(address)
    except ImportError as error:
        advice = "Install them: pip install 'trace-budget[remote]'"
        raise UsageError("packages for this URL are missing", where=address, found=str(error), advice=advice) from None
    except ValueError as error:
        raise UsageError("not a URL that can be read", where=address, found=str(error)) from None
    return system, str(path).rstrip("/")


@contextmanager
def reading_from(address: str) -> Iterator[None]:
    """Turn what a remote file system raises while it is read into InputError."""
    try:
        yield
    except FileNotFoundError:
        raise InputError("no such file or folder", where=address) from None
    except Exception as error:
        if not isinstance(error, OSError) and type(error).__module__.partition(".")[0] not in _CLIENTS:
            raise
        raise InputError("cannot be reached", where=address, found=str(error)) from error


class LocalStore:
    """A folder of this machine or of a shared file system. Files are written beside, synced, and renamed into place."""

    def __init__(self, address: str, *, create: bool = True) -> None:
        self.address = address
        self._root = Path(address)
        if not create and not is_folder(self._root):
            advice = "The same batch does what is missing."
            raise OutputError("the dataset was removed or moved while it was written", where=address, advice=advice)
        with _told(address):
            (self._root / TEMPORARY).mkdir(parents=True, exist_ok=True)
        self._forget_stale()

    def names(self, folder: str) -> frozenset[str]:
        """Names of the files directly in a folder."""
        return frozenset(entry.name for entry in self._entries(folder) if entry.is_file())

    def has(self, name: str) -> bool:
        """Whether there is a file of this name."""
        with _told(self.address):
            return (self._root / name).is_file()

    def put(self, files: Sequence[tuple[str, bytes]]) -> None:
        """Write all, sync all, then rename all in order."""
        with _told(self.address):
            self._put(files)

    def read(self, name: str) -> bytes:
        """All bytes of one file."""
        with _told(self.address):
            return (self._root / name).read_bytes()

    def read_all(self, names: Sequence[str]) -> list[bytes]:
        """All bytes of each of several files."""
        return [self.read(name) for name in names]

    def remove(self, name: str) -> None:
        """Remove a file."""
        with _told(self.address), suppress(FileNotFoundError):
            (self._root / name).unlink()

    def _entries(self, folder: str) -> list[os.DirEntry[str]]:
        with _told(self.address), suppress(FileNotFoundError), os.scandir(self._root / folder) as entries:
            return list(entries)
        return []

    def _put(self, files: Sequence[tuple[str, bytes]]) -> None:
        written = [self._root / TEMPORARY / f"{os.getpid()}-{uuid.uuid4().hex}.part" for _ in files]
        try:
            # All at once: a disk syncs several files in the time of one.
            with ThreadPoolExecutor(max(1, min(len(files), _MOST_THREADS))) as threads:
                list(threads.map(_write_synced, written, [data for _, data in files]))
            for temporary, (name, _) in zip(written, files, strict=True):
                target = self._root / name
                target.parent.mkdir(parents=True, exist_ok=True)
                temporary.replace(target)
        finally:
            for temporary in written:
                with suppress(OSError):
                    temporary.unlink(missing_ok=True)

    def _forget_stale(self) -> None:
        """Remove what killed runs left half-written; younger files may belong to a run that goes on."""
        oldest = time.time() - STALE_SECONDS
        for entry in self._entries(TEMPORARY):
            with suppress(OSError):
                if entry.stat().st_mtime < oldest:
                    Path(entry.path).unlink()


def _write_synced(path: Path, data: bytes) -> None:
    with os.fdopen(os.open(path, _FLAGS, 0o666), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


class RemoteStore:
    """An object store, where one put is one whole file, or another fsspec file system, where files are renamed."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._system, self._root = file_system(address)

    def names(self, folder: str) -> frozenset[str]:
        """Names of the files directly in a folder."""
        return frozenset(_last(entry["name"]) for entry in self._listed(folder) if entry["type"] == "file")

    def has(self, name: str) -> bool:
        """Whether there is a file of this name."""
        self._system.invalidate_cache()
        with _told(self.address):
            return bool(self._system.exists(f"{self._root}/{name}"))

    def put(self, files: Sequence[tuple[str, bytes]]) -> None:
        """Put one file after the other."""
        protocol = self._system.protocol
        renamed = _OBJECT_STORES.isdisjoint([protocol] if isinstance(protocol, str) else protocol)
        with _told(self.address):
            for name, data in files:
                (self._put_renamed if renamed else self._system.pipe_file)(f"{self._root}/{name}", data)

    def read(self, name: str) -> bytes:
        """All bytes of one file."""
        with _told(self.address):
            return bytes(self._system.cat_file(f"{self._root}/{name}"))

    def read_all(self, names: Sequence[str]) -> list[bytes]:
        """All bytes of each of several files, asked for at once where the store can do that."""
        paths = {name: self._system._strip_protocol(f"{self._root}/{name}") for name in names}
        with _told(self.address):
            found = self._system.cat(list(paths.values()), on_error="raise")
        return [bytes(found[path]) for path in paths.values()] if isinstance(found, dict) else [bytes(found)]

    def remove(self, name: str) -> None:
        """Remove a file."""
        with _told(self.address), suppress(FileNotFoundError):
            self._system.rm_file(f"{self._root}/{name}")

    def _put_renamed(self, target: str, data: bytes) -> None:
        """Write beside and rename; where a rename takes no name that is in use, the file there is the same."""
        temporary = f"{self._root}/{TEMPORARY}/{uuid.uuid4().hex}.part"
        for place in (temporary, target):
            self._system.makedirs(place.rpartition("/")[0], exist_ok=True)
        self._system.pipe_file(temporary, data)
        try:
            self._system.mv(temporary, target)
        except OSError:
            self._system.rm_file(temporary)
            if not self._system.exists(target):
                raise

    def _listed(self, folder: str) -> list[dict[str, Any]]:
        self._system.invalidate_cache()
        with _told(self.address), suppress(FileNotFoundError):
            return list(self._system.ls(f"{self._root}/{folder}", detail=True))
        return []


def _last(name: str) -> str:
    return name.rstrip("/").rpartition("/")[2]


@contextmanager
def _told(address: str) -> Iterator[None]:
    """Turn what a file system raises into the one-line error of an output."""
    try:
        yield
    except OSError as error:
        raise output_error(address, error) from error
    except Exception as error:
        if type(error).__module__.partition(".")[0] not in _CLIENTS:
            raise
        raise OutputError("cannot be reached", where=address, found=str(error)) from error
