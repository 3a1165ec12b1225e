"""Keys and categories of JSON objects that damage made unreadable: every decoder passes over what they stand for."""

from __future__ import annotations

import re

_LOST = b"\xef\xbf\xbd"  # U+FFFD: where a program that read the file before met such a byte
_HIGH_KEY = re.compile(rb'(?<!\\)"([^"\\]*[\x80-\xff][^"\\]*)"\s*:')
_HIGH_KIND = re.compile(rb'"(?:ph|cat)"\s*:\s*"([^"\\]*[\x80-\xff][^"\\]*)"')


def broken_keys(text: bytes | bytearray) -> int:
    """How many keys (and values of `ph` and `cat`, which say what an event is) hold bytes that are not UTF-8.

    Fast for ASCII and for sound UTF-8; `text` may start and end in the middle of anything.
    """
    if text.isascii() or (_is_utf8(text) and _LOST not in text):
        return 0
    found = (match[1] for pattern in (_HIGH_KEY, _HIGH_KIND) for match in pattern.finditer(text))
    return sum(_LOST in key or not _is_utf8(key) for key in found)


def _is_utf8(text: bytes | bytearray) -> bool:
    try:
        text.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
