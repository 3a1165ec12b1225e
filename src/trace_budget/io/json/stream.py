"""Streams the objects of one array in a large JSON file, in bounded memory, whatever its layout and damage."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

import msgspec

from trace_budget.errors import InputError
from trace_budget.io.inflate import PlainStream
from trace_budget.io.json.document import Fields, array_start, fields_around
from trace_budget.io.json.keys import broken_keys
from trace_budget.io.json.segment import Damage, SegmentReader

T = TypeVar("T")
Batch = TypeVar("Batch")
SEGMENT_BYTES = 4 << 20
LONGEST_BYTES = 1 << 26
_TAIL_BYTES = 1 << 24
_FIRST_WINDOW_BYTES = 1 << 14
_BETWEEN_OBJECTS = re.compile(rb"\}\s*(,)\s*\{")
_PADDING = b", \t\r\n\0"


@dataclass(frozen=True, slots=True)
class Section:
    """A piece of the array between `[` and `]`, and the text behind it from the comma on; no piece, no place to cut."""

    buffer: bytearray
    after: bytes
    final: bool

    def rest(self, stop: int) -> bytes:
        """The text to go on with when reading stopped at `stop` in the buffer."""
        return bytes(self.buffer[stop:-1]) + self.after if stop < len(self.buffer) else self.after[1:]


class ObjectStream(Generic[T]):
    """The objects of the top-level array `key` (or of a file that is a bare array), one list per segment.

    `decode` turns the bytes of a JSON array into objects, raising msgspec.DecodeError. To be read after iteration:
    `fields`, the other members of the surrounding object; `ended`, whether the array was closed; `damage`, what was
    mended or dropped. Raises InputError when there is no such array, and beyond 64 MiB for one object.
    """

    def __init__(
        self, plain: PlainStream, key: str, decode: Callable[[memoryview], list[T]], segment_bytes: int = SEGMENT_BYTES
    ) -> None:
        self.fields = Fields()
        self.ended = False
        self._plain = plain
        self._key = key.encode()
        self._segment_bytes = segment_bytes
        self._reader = SegmentReader(decode)
        self._head = b""
        self._offset = 0

    @property
    def damage(self) -> Damage:
        """What was mended and dropped so far."""
        return self._reader.damage

    def __iter__(self) -> Iterator[list[T]]:
        return self._told(self._segments())

    def _told(self, segments: Generator[Batch, None, bytes]) -> Iterator[Batch]:
        """Pass on what the segments give, then read the fields around the array."""
        try:
            tail = yield from segments
            after = tail + self._plain.read(_TAIL_BYTES) if self.ended else None
            self.fields = fields_around(self._head, after)
            self.damage.broken_keys += broken_keys(self._head) + broken_keys(after or b"")
        except msgspec.DecodeError as error:
            raise InputError("JSON that cannot be read", where=str(self._plain.path), found=str(error)) from None
        except RecursionError:
            raise InputError(
                "JSON nested too deep", where=str(self._plain.path), expected="at most 1000 levels"
            ) from None

    def _open(self) -> bytes:
        """Read up to the array's opening bracket; gives what was read beyond it."""
        text, wanted = b"", self._segment_bytes
        while True:
            more = self._plain.read(wanted)
            text += more
            start = array_start(text, self._key)
            if start is None and (not more or len(text) > LONGEST_BYTES):
                start = self._unsure_start(text)
            if start is not None:
                self._head, self._offset = text[: start[0]], start[1]
                return text[self._offset :]
            wanted = len(text)

    def _unsure_start(self, text: bytes) -> tuple[int, int]:
        """Where metadata is damaged itself: the first array under that key, whatever surrounds it."""
        found = re.search(rb'"%s"\s*:\s*\[' % re.escape(self._key), text)
        if found is None:
            expected = f'"{self._key.decode()}": [ within the first {LONGEST_BYTES} bytes, or a bare array'
            raise InputError("JSON without a list of events", where=str(self._plain.path), expected=expected)
        return found.start(), found.end()

    def _segments(self) -> Generator[list[T], None, bytes]:
        """Yield the objects piece by piece; returns the text read beyond the array's end."""
        rest, final = self._open(), False
        while not (final or self.ended):
            cut = self._cut(rest)
            final = cut.final
            if not cut.buffer:
                rest = self._kept(cut.after[1:])
                continue
            piece = self._reader.read(cut.buffer, self._offset - 1, final)
            rest = cut.rest(piece.stop)
            self._offset += piece.stop - 1
            self.ended = piece.ended
            self._note_keys(cut.buffer, piece.stop)
            yield piece.objects
            if not self.ended:
                self._kept(rest)
        return rest

    def _note_keys(self, buffer: bytearray, stop: int) -> None:
        """Count the keys that are no text in what was read of a segment."""
        self.damage.broken_keys += broken_keys(buffer if stop == len(buffer) else buffer[:stop])

    def _cut(self, rest: bytes) -> Section:
        """Read on and cut where an object ends."""
        more = self._plain.parts(max(self._segment_bytes, len(rest)))
        buffer = bytearray().join((b"[", rest, *more))
        final = not any(more)
        comma = len(buffer.rstrip(_PADDING)) if final else boundary(buffer)
        if comma < 0:
            return Section(bytearray(), bytes(buffer), final=False)
        after = bytes(buffer[comma:])
        buffer[comma:] = b"]"
        return Section(buffer, after, final)

    def _kept(self, rest: bytes) -> bytes:
        if len(rest) > LONGEST_BYTES:
            where = f"{self._plain.path}, byte {self._offset}"
            raise InputError(
                "one event is too long", where=where, expected=f"at most {LONGEST_BYTES} bytes", found="more"
            )
        return rest


def boundary(buffer: bytearray) -> int:
    """The last comma between a `}` and a `{`: mostly one between two objects of the array; -1 when there is none."""
    window = _FIRST_WINDOW_BYTES
    while True:
        start = max(0, len(buffer) - window)
        commas = [found.start(1) for found in _BETWEEN_OBJECTS.finditer(buffer, start)]
        if commas or not start:
            return commas[-1] if commas else -1
        window *= 8
