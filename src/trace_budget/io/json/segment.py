"""One piece of a JSON array of objects: all its whole objects, whatever is damaged between them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import islice
from typing import Generic, TypeVar

import msgspec

from trace_budget.io.json.document import is_trailing, offset_of
from trace_budget.io.json.repair import candidates

T = TypeVar("T")
_STRUCTURE = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[{}\[\]]', re.DOTALL)
_KEY = rb'"(?:ph|cat|name|pid|tid|ts|dur|args|id|bp)"\s*:'
_NEXT_OBJECT = re.compile(rb"[^:\[\s]\s*(\{)\s*" + _KEY)
_DIRECTLY_NEXT = re.compile(rb"[,\s]*\{\s*" + _KEY)
_ARRAY_END = re.compile(rb'\}\s*(\])\s*(?:,\s*"[^"]*"\s*:|\}\s*\Z)')
HOPELESS = 256
_LOOKS_WHOLE = re.compile(rb'"ph"\s*:')


@dataclass(slots=True)
class Damage:
    """What was met so far: objects mended and dropped, and the byte offset (in the plain text) of the first one.

    `broken_keys` counts keys and categories that are no text: decoders pass over what stands under them.
    """

    repaired: int = 0
    dropped: int = 0
    first_offset: int | None = None
    broken_keys: int = 0

    def note(self, offset: int, repaired: int = 0, dropped: int = 0) -> None:
        """Count one damaged place."""
        self.repaired += repaired
        self.dropped += dropped
        if self.first_offset is None:
            self.first_offset = offset


@dataclass(slots=True)
class Piece(Generic[T]):
    """What a segment gave: its objects, where in the buffer reading stopped, and whether the array ended there."""

    objects: list[T] = field(default_factory=list)
    stop: int = 0
    ended: bool = False


class SegmentReader(Generic[T]):
    """Decodes pieces of a JSON array.

    `decode` turns the bytes of a JSON array into objects, raising msgspec.DecodeError only for what is no JSON:
    elements of any kind must pass. A piece is a buffer between `[` and `]` that the caller put there. Where it was cut
    at a wrong place its last object is left for the next piece (`stop` points at it), unless `final`.
    """

    def __init__(self, decode: Callable[[memoryview], list[T]]) -> None:
        self.damage = Damage()
        self._decode = decode
        self._in_vain = 0

    def read(self, buffer: bytearray, offset: int, final: bool) -> Piece[T]:
        """All objects of one piece; `offset` is where buffer[0] lies in the plain text."""
        piece: Piece[T] = Piece()
        at = 0
        while True:
            try:
                piece.objects += self._decode(memoryview(buffer)[at:])
                piece.stop = len(buffer)
                return piece
            except msgspec.DecodeError as error:
                after = self._past_error(piece, buffer, at, error, offset, final)
            if after < 0:
                return piece
            at = after - 1
            buffer[at] = ord("[")

    def closes(self, buffer: bytearray, end: int) -> bool:
        """Whether the `]` of a whole piece at `end` is the array's for sure: no damage yet, no object follows."""
        return self.damage.first_offset is None and not self._more_objects(buffer, end)

    def _past_error(
        self, piece: Piece[T], buffer: bytearray, at: int, error: msgspec.DecodeError, offset: int, final: bool
    ) -> int:
        """Take what is whole around one error; the index of the object to go on with, -1 when the piece is done."""
        bad = at + offset_of(error, len(buffer) - at)
        if is_trailing(error):
            return self._past_bracket(piece, buffer, at, buffer.rfind(b"]", at, bad - 1), offset, final)
        start, bad = _last_object(buffer, at, bad)
        self._take_whole(piece, buffer, at, start)
        after = _next_object(buffer, start, bad)
        if after < 0 and not final:
            piece.stop = start
            return -1
        if after < 0:
            self._finish(piece, buffer, start, bad, offset)
            return -1
        self._mend(piece, bytes(buffer[start:after]), offset + start, cut=False)
        return after

    def _past_bracket(self, piece: Piece[T], buffer: bytearray, at: int, end: int, offset: int, final: bool) -> int:
        """Take the objects before a `]`; after damage it may be none of the array's, which only what follows says."""
        more = self._more_objects(buffer, end)
        if not (more or final) and self.damage.first_offset is not None:
            piece.stop = at + 1
            return -1
        piece.objects += self._decode(memoryview(buffer)[at : end + 1])
        piece.stop, piece.ended = end + 1, not more
        if not more:
            return -1
        self.damage.note(offset + end, repaired=1)
        return _next_object(buffer, end, end + 1)

    def _more_objects(self, buffer: bytearray, end: int) -> bool:
        """Whether a `]` is not the array's, but one that damage left: objects of the same kind follow."""
        if self.damage.first_offset is None:
            return _DIRECTLY_NEXT.match(buffer, end + 1) is not None
        return _NEXT_OBJECT.search(buffer, end) is not None

    def _take_whole(self, piece: Piece[T], buffer: bytearray, at: int, start: int) -> None:
        comma = buffer.rfind(b",", at, start)
        if comma > at:
            buffer[comma] = ord("]")
            piece.objects += self._decode(memoryview(buffer)[at : comma + 1])

    def _finish(self, piece: Piece[T], buffer: bytearray, start: int, bad: int, offset: int) -> None:
        """The last damaged object of the text: up to the array's end, or cut off with the text."""
        end = _ARRAY_END.search(buffer, max(start, bad - 1), len(buffer) - 1)
        stop = end.start(1) if end else len(buffer) - 1
        self._mend(piece, bytes(buffer[start:stop]), offset + start, cut=end is None)
        piece.stop, piece.ended = (stop + 1, True) if end else (len(buffer), False)

    def _mend(self, piece: Piece[T], text: bytes, offset: int, cut: bool) -> None:
        """Read a damaged stretch: as a whole, else object by object; an object that the text's end cut is no damage."""
        found = self._mended(text)
        if found is not None:
            piece.objects += found
            self.damage.note(offset, repaired=len(found))
            return
        starts = [0, *(match.start(1) for match in _NEXT_OBJECT.finditer(text))]
        for start, stop in zip(starts, [*starts[1:], len(text)], strict=True):
            part = text[start:stop]
            found = self._mended(part) if len(starts) > 1 and _LOOKS_WHOLE.search(part) else None
            if found is not None:
                piece.objects += found
                self.damage.note(offset + start, repaired=len(found))
            elif not (cut and stop == len(text)):
                self.damage.note(offset + start, dropped=1)

    def _mended(self, text: bytes) -> list[T] | None:
        # Where hundreds in a row had no reading the rest has none either: only the quickest is tried, so that a file
        # in which every object is damaged alike takes no hundred times as long as a sound one.
        tried = 1 if self._in_vain >= HOPELESS else None
        for candidate in islice(candidates(text), tried):
            try:
                found = self._decode(memoryview(b"[" + candidate + b"]"))
            except msgspec.DecodeError:
                continue
            self._in_vain = 0
            return found
        self._in_vain += 1
        return None


def _last_object(buffer: bytearray, at: int, bad: int) -> tuple[int, int]:
    """Where the last object that begins before an error begins, and where the error is at the latest.

    The text up to the error is known to be well-formed, but the error may come up to a word too late: an object that
    no comma announces lies behind it.
    """
    depth, last = 1, at + 1
    for found in _STRUCTURE.finditer(buffer, at + 1, bad):
        token = found[0]
        if token in (b"{", b"["):
            if depth == 1 and not _is_announced(buffer, found.start()):
                return last, found.start()
            last = found.start() if depth == 1 else last
            depth += 1
        elif token in (b"}", b"]"):
            depth -= 1
    return last, bad


def _is_announced(buffer: bytearray, at: int) -> bool:
    before = at - 1
    while buffer[before] in b" \t\r\n":
        before -= 1
    return buffer[before] in b",["


def _next_object(buffer: bytearray, start: int, bad: int) -> int:
    """Where the first object after an error seems to begin, by its first key; -1 when none does."""
    before = len(buffer[start:bad].rstrip()) - 1 + start
    found = _NEXT_OBJECT.search(buffer, max(before, start), len(buffer) - 1)
    return found.start(1) if found else -1
