"""Events on the streams of an XSpace by its wire format alone; NotStrictError where a message does not fit."""

from __future__ import annotations

from collections.abc import Iterator

from .count_json import NotStrictError
from .protobuf_level import _varint

_PLANES, _LINES, _NAME, _EVENTS = 1, 3, 2, 4


def events_of_streams(data: bytes) -> int:
    """Events of all lines `Stream #…` of all planes `/device:…`."""
    planes = [list(_fields(plane)) for number, plane in _fields(data) if number == _PLANES]
    on_device = [fields for fields in planes if any(n == _NAME and v.startswith(b"/device:") for n, v in fields)]
    lines = [list(_fields(line)) for fields in on_device for number, line in fields if number == _LINES]
    streams = [fields for fields in lines if any(n == _NAME and v.startswith(b"Stream #") for n, v in fields)]
    return sum(number == _EVENTS for fields in streams for number, _ in fields)


def _fields(data: bytes) -> Iterator[tuple[int, bytes]]:
    """(number, content) of every field; that of numbers is empty."""
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        if at < 0 or key >> 3 == 0:
            raise NotStrictError("a key that cannot be")
        kind = key & 7
        if kind == 0:
            _, at = _varint(data, at)
            content = b""
        else:
            length, at = _varint(data, at) if kind == 2 else ({1: 8, 5: 4}.get(kind, -1), at)
            content, at = (data[at : at + length], at + length) if length >= 0 <= at else (b"", -1)
        if at < 0 or at > len(data):
            raise NotStrictError("a field that does not fit")
        yield key >> 3, content
