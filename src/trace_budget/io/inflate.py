"""The plain bytes of a file that may be compressed (gzip, zstd), read front to back within limits."""

from __future__ import annotations

import io
import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from trace_budget.errors import InputError
from trace_budget.io import bytes_read
from trace_budget.io.gunzip import Gunzip
from trace_budget.io.utf16 import as_utf8

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

CHUNK_BYTES = 1 << 20
_LONGEST_MATCH = 1 << 12
_ZSTD_BITE_BYTES = 1 << 10
LIMIT_VARIABLE = "TRACE_BUDGET_INFLATE_LIMIT"
_MAGIC = ((b"\x1f\x8b", "gzip"), (b"\x28\xb5\x2f\xfd", "zstd"), (b"PK\x03\x04", "zip"), (b"PK\x05\x06", "zip"))
_ZSTD_LIBRARIES = ("compression.zstd", "zstandard", "backports.zstd")


@dataclass(frozen=True, slots=True)
class Limits:
    """How far a compressed file may grow: `free_bytes` always, then up to `ratio` x its size and `total_bytes`."""

    free_bytes: int = 1 << 28
    ratio: int | None = 250
    total_bytes: int = 1 << 36

    def bound(self, size_bytes: int) -> int:
        """The most plain bytes a compressed file of `size_bytes` may give."""
        by_ratio = self.total_bytes if self.ratio is None else max(self.free_bytes, self.ratio * size_bytes)
        return min(self.total_bytes, by_ratio)


def limits() -> Limits:
    """The default limits, or the size in bytes that TRACE_BUDGET_INFLATE_LIMIT allows whatever the ratio."""
    text = os.environ.get(LIMIT_VARIABLE, "")
    if not text:
        return Limits()
    if not (text.isascii() and text.isdigit()):
        raise InputError(f"{LIMIT_VARIABLE} is not a size", expected="a number of bytes", found=ascii(text))
    return Limits(ratio=None, total_bytes=int(text))


def size_of(path: Path) -> int:
    """The size in bytes of a regular file; InputError for what is missing, a folder, a pipe, a device or unreadable."""
    try:
        status = path.stat()
    except (OSError, ValueError) as error:
        raise InputError("cannot be opened", where=str(path), found=_reason(error)) from None
    if stat.S_ISDIR(status.st_mode):
        raise InputError("a folder, not a file", where=str(path), advice="Name one trace inside it.")
    if not stat.S_ISREG(status.st_mode):
        advice = "Write its content to a file first."
        raise InputError("a pipe, socket or device, not a file", where=str(path), advice=advice)
    return status.st_size


def compression_of(data: bytes) -> str:
    """none, gzip, zstd or zip, by the first bytes."""
    return next((name for magic, name in _MAGIC if data.startswith(magic)), "none")


class _AsItWas(io.RawIOBase):
    """The first bytes of a file, as many as it had when it was opened; InputError for what the system fails to read."""

    def __init__(self, path: Path, size_bytes: int) -> None:
        self._path, self._size, self._left = path, size_bytes, size_bytes
        self._file: io.FileIO | None = None  # what cannot be opened is closed too
        try:
            self._file = path.open("rb", buffering=0)
        except OSError as error:
            raise InputError("cannot be opened", where=str(path), found=_reason(error)) from None

    def readable(self) -> bool:
        """As every raw file says of itself."""
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        """Fill the buffer as far as the bytes go."""
        assert self._file is not None  # noqa: S101  (there is no such object where it could not be opened)
        try:
            count = self._file.readinto(memoryview(buffer)[: self._left]) or 0
        except OSError as error:
            raise InputError("cannot be read", where=str(self._path), found=_reason(error)) from None
        self._left -= count
        bytes_read.report(self._size - self._left, self._size)
        return count

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()
        super().close()


class PlainStream:
    """Reads the plain bytes of a file once, front to back, text in UTF-16 as UTF-8; a context manager.

    `truncated` becomes True when the compressed stream turns out cut or damaged, with the reason in `damage`; all that
    was readable is delivered first. A zip archive is delivered as it is. A file that grows is read up to its size at
    opening. Raises InputError beyond the limits, for what the system cannot read, and for zstd without a zstd library.
    """

    def __init__(self, path: Path, allowed: Limits | None = None) -> None:
        self.path = path
        self.size_bytes = size_of(path)
        self.damage = ""
        self._bound = (allowed or limits()).bound(self.size_bytes)
        self._file = io.BufferedReader(_AsItWas(path, self.size_bytes))
        self.compression = compression_of(self._file.peek(4)[:4])
        self._chunks = as_utf8(self._plain_chunks(), str(path))
        self._rest = b""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @property
    def truncated(self) -> bool:
        """Whether damage was met so far."""
        return bool(self.damage)

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def read(self, size: int = -1) -> bytes:
        """The next `size` bytes, fewer only at the end; all that is left for a negative size."""
        return b"".join(self.parts(size))

    def parts(self, size: int = -1) -> list[bytes]:
        """What `read` gives, in the pieces it comes in: who puts them together anyway saves a copy."""
        parts = [self._rest]
        have = len(self._rest)
        while (size < 0 or have < size) and (chunk := next(self._chunks, b"")):
            parts.append(chunk)
            have += len(chunk)
        last = parts[-1]
        end = len(last) - (0 if size < 0 else max(have - size, 0))
        parts[-1], self._rest = last[:end], last[end:]
        return parts

    def give_back(self, data: bytes) -> None:
        """Have `data`, the last bytes that were read, read again."""
        self._rest = data + self._rest

    def skip_past(self, pattern: re.Pattern[bytes]) -> bool:
        """Read on until just behind the first match of `pattern` (up to 4 KiB long); False, at the end, without one."""
        window = b""
        while chunk := self.read(CHUNK_BYTES):
            window += chunk
            if found := pattern.search(window):
                self._rest = window[found.end() :] + self._rest
                return True
            window = window[-_LONGEST_MATCH:]
        return False

    def _plain_chunks(self) -> Iterator[bytes]:
        if self.compression == "gzip":
            return self._bounded(self._gzip())
        if self.compression == "zstd":
            return self._bounded(self._zstd())
        return self._uncompressed()

    def _uncompressed(self) -> Iterator[bytes]:
        while chunk := self._file.read(CHUNK_BYTES):
            yield chunk

    def _gzip(self) -> Iterator[bytes]:
        gunzip = Gunzip(self._file)
        yield from (chunk for chunk in gunzip.chunks(CHUNK_BYTES) if chunk)
        self.damage = gunzip.damage

    def _zstd(self) -> Iterator[bytes]:
        """Frame after frame, in small bites: a few bytes of a frame may stand for many."""
        frame, begun = _zstd_frame(self.path), False
        while bite := self._file.read(_ZSTD_BITE_BYTES):
            while bite:
                try:
                    chunk = frame.decompress(bite)
                except MemoryError:  # the file may be sound
                    raise
                except Exception as error:  # noqa: BLE001  (each zstd library raises a class of its own)
                    self.damage = f"zstd stream damaged: {error}"
                    return
                bite, begun = frame.unused_data if frame.eof else b"", not frame.eof
                frame = _zstd_frame(self.path) if frame.eof else frame
                if chunk:
                    yield chunk
        self.damage = "zstd stream ends early" if begun else ""

    def _bounded(self, chunks: Iterator[bytes]) -> Iterator[bytes]:
        total = 0
        for chunk in chunks:
            total += len(chunk)
            if total > self._bound:
                advice = f"If it is what you think it is, set {LIMIT_VARIABLE} to the bytes it may grow to."
                found = f"more, from a file of {self.size_bytes} bytes"
                raise InputError(
                    "inflates too far",
                    where=str(self.path),
                    expected=f"at most {self._bound} bytes",
                    found=found,
                    advice=advice,
                )
            yield chunk


def _zstd_frame(path: Path) -> Any:
    """A decompressor for one frame: of the standard library, or of the first zstd library that is installed."""
    for name in _ZSTD_LIBRARIES:
        try:
            made = import_module(name).ZstdDecompressor()
        except ImportError:
            continue
        return made.decompressobj() if hasattr(made, "decompressobj") else made
    advice = f"Unpack it first: zstd -d {path.name}"
    raise InputError("zstd-compressed, and no zstd library is installed", where=str(path), advice=advice)


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
