"""Gzip by raw deflate, member by member: all bytes before a cut survive; a wrong checksum or length is reported."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from importlib import import_module
from typing import Any, BinaryIO

MAGIC = b"\x1f\x8b"
_READ_BYTES = 1 << 16
_TRAILER_BYTES = 8
_HEADER_BYTES = 10
_LENGTH_MODULUS = 1 << 32
_HAS_CHECKSUM, _HAS_EXTRA, _HAS_NAME, _HAS_COMMENT = 2, 4, 8, 16


class Gunzip:
    """Inflates the gzip members of an open file; after the last chunk `damage` says what was wrong, empty when nothing.

    `complete` is False when bytes are missing after what was delivered. Source: RFC 1951, RFC 1952.
    """

    def __init__(self, file: BinaryIO) -> None:
        self.damage = ""
        self.complete = True
        self._file = file
        self._ahead = b""

    def chunks(self, chunk_bytes: int) -> Iterator[bytes]:
        """The plain bytes in pieces of at most `chunk_bytes`."""
        while self._enter_member():
            yield from self._member(chunk_bytes)

    def _fill(self, count: int) -> bool:
        """Have at least `count` bytes ahead, unless the file ends before."""
        while len(self._ahead) < count:
            more = self._file.read(_READ_BYTES)
            if not more:
                return False
            self._ahead += more
        return True

    def _enter_member(self) -> bool:
        """Step over a member's header (and zero padding before it); False at the end of the file."""
        if not self.complete:
            return False
        while self._fill(1) and not self._ahead.lstrip(b"\0"):
            self._ahead = b""
        if not self._ahead:
            return False
        self._ahead = self._ahead.lstrip(b"\0")
        if not self._fill(_HEADER_BYTES) or not self._ahead.startswith(MAGIC):
            return self._cut("bytes follow that are no gzip member")
        return self._skip_header(self._ahead[3]) or self._cut("gzip header ends early")

    def _skip_header(self, flags: int) -> bool:
        at = _HEADER_BYTES
        if flags & _HAS_EXTRA:
            if not self._fill(at + 2):
                return False
            at += 2 + int.from_bytes(self._ahead[at : at + 2], "little")
        for flag in (_HAS_NAME, _HAS_COMMENT):
            if flags & flag:
                end = self._find_zero(at)
                if end < 0:
                    return False
                at = end + 1
        at += 2 if flags & _HAS_CHECKSUM else 0
        if not self._fill(at):
            return False
        self._ahead = self._ahead[at:]
        return True

    def _find_zero(self, start: int) -> int:
        while (end := self._ahead.find(b"\0", start)) < 0:
            if len(self._ahead) > 2 * _READ_BYTES or not self._fill(len(self._ahead) + 1):
                return -1
        return end

    def _member(self, chunk_bytes: int) -> Iterator[bytes]:
        library = _library()
        inflater = library.decompressobj(-15)
        checksum = size_bytes = 0
        pending, self._ahead = self._ahead, b""
        while not inflater.eof:
            pending = pending or self._file.read(_READ_BYTES)
            try:
                chunk = inflater.decompress(pending, chunk_bytes)
            except MemoryError:  # the file may be sound
                raise
            except Exception as error:  # noqa: BLE001  (zlib.error, or the class of isal)
                self._cut(f"gzip stream damaged: {error}")
                return
            if not chunk and not pending and not inflater.eof:
                self._cut("gzip stream ends early")
                return
            pending = inflater.unconsumed_tail
            checksum = library.crc32(chunk, checksum)
            size_bytes += len(chunk)
            yield chunk
        self._ahead = inflater.unused_data
        self._leave_member(checksum, size_bytes)

    def _leave_member(self, checksum: int, size_bytes: int) -> None:
        if not self._fill(_TRAILER_BYTES):
            self._cut("gzip stream ends early")
            return
        if int.from_bytes(self._ahead[:4], "little") != checksum:
            self.damage = self.damage or "gzip checksum does not match"
        if int.from_bytes(self._ahead[4:8], "little") != size_bytes % _LENGTH_MODULUS:
            self.damage = self.damage or "gzip length does not match"
        self._ahead = self._ahead[_TRAILER_BYTES:]

    def _cut(self, reason: str) -> bool:
        self.damage = self.damage or reason
        self.complete = False
        return False


def _library() -> Any:
    """What inflates raw deflate and sums: isal when it is installed (faster), else zlib."""
    try:
        return import_module("isal.isal_zlib")
    except ImportError:
        return zlib
