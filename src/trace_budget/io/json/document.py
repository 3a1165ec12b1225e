"""What surrounds an array in a JSON file: where the array starts, and the other fields of its object."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import msgspec

from trace_budget.io.json.repair import candidates

_STRUCTURE = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[{}\[\]]', re.DOTALL)
_OFFSET = re.compile(r"\(byte (\d+)\)$")
_OPENS = re.compile(rb"\s*:\s*\[")
_EVENT = re.compile(rb'"ph"\s*:')
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_PADDING = b" \t\r\n\0"
_DECODER = msgspec.json.Decoder(dict[str, msgspec.Raw])


@dataclass(frozen=True, slots=True)
class Fields:
    """The other members of the array's object, undecoded.

    `closed` says whether the document came to its end, `damaged` whether something is wrong outside the array,
    `more` whether objects follow that are not in the array: another document, an array under the same or another key,
    or what damage cut off from it.
    """

    values: dict[str, msgspec.Raw] = field(default_factory=dict)
    closed: bool = False
    damaged: bool = False
    more: bool = False


def array_start(text: bytes, key: bytes) -> tuple[int, int] | None:
    """Where the array under the top-level `key` (or the bare array) begins: its key's and its first element's index.

    Arrays under the same key deeper inside are no answer. None when `text` holds no such array.
    """
    first = len(text) - len(text.removeprefix(_BYTE_ORDER_MARK).lstrip())
    if text[first : first + 1] == b"[":
        return 0, first + 1
    depth, quoted = 0, b'"%s"' % key
    for found in _STRUCTURE.finditer(text):
        token = found[0]
        if token in (b"{", b"["):
            depth += 1
        elif token in (b"}", b"]"):
            depth -= 1
        elif depth == 1 and token == quoted and (opens := _OPENS.match(text, found.end())):
            return found.start(), opens.end()
    return None


def offset_of(error: msgspec.DecodeError, length: int) -> int:
    """The byte offset an error names; `length`, that of the text, when it names none (the text ended early)."""
    found = _OFFSET.search(str(error))
    return min(int(found[1]), length) if found else length


def is_trailing(error: msgspec.DecodeError) -> bool:
    """Whether the error only says that something follows a complete value; its offset is one past what follows then."""
    return "trailing characters" in str(error)


def fields_around(head: bytes, tail: bytes | None) -> Fields:
    """The fields of the object from the text before the array's key and after the array; tail None: never closed."""
    head = head.removeprefix(_BYTE_ORDER_MARK).lstrip()
    if not head:
        rest = (tail or b"").strip(_PADDING)
        return Fields(closed=tail is not None, damaged=bool(rest), more=_objects_follow(rest))
    if tail is not None:
        values, rest, mended = _members(head + b'"":0' + tail)
        if values is not None:
            lists = (bytes(value) for value in values.values() if bytes(memoryview(value)[:1]) == b"[")
            more = _objects_follow(rest) or (mended and _EVENT.search(tail) is not None)
            more = more or any(_EVENT.search(text) for text in lists)
            return Fields(values, closed=True, damaged=mended or bool(rest), more=more)
    cut = tail is None or not tail.rstrip(_PADDING).endswith(b"}")
    values, _, mended = _members(head + b'"":0}')
    more = tail is not None and _EVENT.search(tail) is not None
    return Fields(values or {}, closed=not cut, damaged=mended or values is None or not cut, more=more)


def _members(text: bytes) -> tuple[dict[str, msgspec.Raw] | None, bytes, bool]:
    """The members of the object at the start of `text`, what follows it, and whether it had to be mended."""
    try:
        return _DECODER.decode(text), b"", False
    except msgspec.DecodeError as error:
        if is_trailing(error):
            end = text.rfind(b"}", 0, offset_of(error, len(text)) - 1) + 1
            return _DECODER.decode(text[:end]), text[end:].strip(_PADDING), False
    except UnicodeDecodeError:
        return _members(text.decode("utf-8", "replace").encode())
    for candidate in candidates(text):
        try:
            return _DECODER.decode(candidate), b"", True
        except msgspec.DecodeError:
            continue
    return None, b"", True


def _objects_follow(text: bytes) -> bool:
    return text[:1] in (b"{", b"[") or _EVENT.search(text) is not None
