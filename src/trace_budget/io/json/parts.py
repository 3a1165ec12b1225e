"""Streams named parts of one large JSON document in the order of the file, in bounded memory, also when it is cut."""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterator, Mapping
from typing import Any

import msgspec

from trace_budget.errors import InputError
from trace_budget.io.inflate import PlainStream
from trace_budget.io.json.keys import broken_keys
from trace_budget.io.json.segment import Damage, SegmentReader
from trace_budget.io.json.stream import LONGEST_BYTES, SEGMENT_BYTES, boundary

_LONGEST_KEY = 256
_STRUCTURE = re.compile(rb'"(?:[^"\\]|\\.)*+"?|[{}\[\]]', re.DOTALL)
_PADDING = b", \t\r\n\0"

Decode = Callable[[memoryview], list[Any]]


class PartStream:
    """The arrays and objects that stand under the given keys, wherever in the document: (key, objects) per piece.

    Keys inside a part are not looked for. Each decoder turns the bytes of a JSON array into objects, raising
    msgspec.DecodeError; an object is given as the only element of one. To be read after iteration: `complete`, whether
    the document was closed; `damage`, what was mended or dropped. Raises InputError beyond 64 MiB for one object.
    """

    def __init__(self, plain: PlainStream, parts: Mapping[str, Decode], segment_bytes: int = SEGMENT_BYTES) -> None:
        self.complete = False
        self.damage = Damage()
        self._plain = plain
        self._parts = parts
        self._segment_bytes = segment_bytes
        self._offset = 0
        keys = "|".join(map(re.escape, parts))
        self._start = re.compile(rf'(?<!\\)"({keys})"\s*:\s*([\[{{])'.encode())

    def __iter__(self) -> Iterator[tuple[str, list[Any]]]:
        text = b""
        try:
            while found := self._next(text):
                key, opening, rest = found
                part = self._array(key, rest) if opening == b"[" else self._object(key, rest)
                text = yield from part
        except RecursionError:
            limit = "at most about 1000 levels"
            raise InputError("JSON nested too deep", where=str(self._plain.path), expected=limit) from None

    def _read(self) -> bytes:
        more = self._plain.read(self._segment_bytes)
        self._offset += len(more)
        return more

    def _next(self, text: bytes) -> tuple[str, bytes, bytes] | None:
        """The key and opening bracket of the next part, and the text read behind it; None at the document's end."""
        while True:
            if found := self._start.search(text):
                self.damage.broken_keys += broken_keys(text[: found.start()])
                return found[1].decode(), found[2], text[found.end() :]
            more = self._read()
            if not more:
                self.damage.broken_keys += broken_keys(text)
                self.complete = text.rstrip().endswith(b"}") and not self._plain.truncated
                return None
            self.damage.broken_keys += broken_keys(text[:-_LONGEST_KEY])
            text = text[-_LONGEST_KEY:] + more

    def _array(self, key: str, rest: bytes) -> Generator[tuple[str, list[Any]], None, bytes]:
        """Yield the array's objects; returns the text read behind its end, or nothing when it was cut."""
        reader = SegmentReader(self._parts[key])
        reader.damage = self.damage
        final = False
        while not final:
            more = self._read()
            final = not more
            buffer = bytearray(b"[") + rest + more
            comma = len(buffer.rstrip(_PADDING)) if final else boundary(buffer)
            if comma < 0:
                rest = self._kept(bytes(buffer[1:]))
                continue
            after = bytes(buffer[comma:])
            buffer[comma:] = b"]"
            piece = reader.read(buffer, self._offset - len(buffer) - len(after), final)
            self.damage.broken_keys += broken_keys(buffer[: piece.stop])
            rest = bytes(buffer[piece.stop : -1]) + after if piece.stop < len(buffer) else after[1:]
            yield key, piece.objects
            if piece.ended:
                return rest
            self._kept(rest)
        return b""

    def _object(self, key: str, rest: bytes) -> Generator[tuple[str, list[Any]], None, bytes]:
        """Yield one object; returns the text behind it, or nothing when it was cut."""
        while (end := _end_of_object(rest)) < 0:
            more = self._read()
            if not more:
                return b""
            rest = self._kept(rest + more)
        try:
            yield key, self._parts[key](memoryview(b"[{" + rest[:end] + b"]"))
        except msgspec.DecodeError:
            self.damage.note(self._offset - len(rest), dropped=1)
        self.damage.broken_keys += broken_keys(rest[:end])
        return rest[end:]

    def _kept(self, rest: bytes) -> bytes:
        if len(rest) > LONGEST_BYTES:
            where = f"{self._plain.path}, before byte {self._offset}"
            limit = f"at most {LONGEST_BYTES} bytes"
            raise InputError("one object is too long", where=where, expected=limit, found="more")
        return rest


def _end_of_object(text: bytes) -> int:
    """The index behind the brace that closes an object whose opening brace stood before the text; -1 when none does."""
    depth = 1
    for found in _STRUCTURE.finditer(text):
        if found[0] in (b"{", b"["):
            depth += 1
        elif found[0] in (b"}", b"]"):
            depth -= 1
        if depth == 0:
            return found.end()
    return -1
