"""Text in UTF-16 or UTF-32, as PowerShell's redirects write it, delivered as UTF-8 while it is read."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator

_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_LITTLE, _BIG = re.compile(rb"(?:[\x20-\x7e]\x00){8}"), re.compile(rb"(?:\x00[\x20-\x7e]){8}")


def encoding_of(first: bytes) -> str | None:
    """The encoding of a text that is not UTF-8, by its byte order mark or the zeros of its first characters."""
    marked = next((name for mark, name in _MARKS if first.startswith(mark)), None)
    return marked or ("utf-16-le" if _LITTLE.match(first) else "utf-16-be" if _BIG.match(first) else None)


def as_utf8(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """The same bytes, or the same text in UTF-8 where it was UTF-16 or UTF-32; halves of characters are replaced."""
    first = next(chunks, b"")
    encoding = encoding_of(first)
    if encoding is None:
        if first:
            yield first
        yield from chunks
        return
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    yield decoder.decode(first).encode("utf-8", "replace")
    for chunk in chunks:
        yield decoder.decode(chunk).encode("utf-8", "replace")
    if last := decoder.decode(b"", final=True):
        yield last.encode("utf-8", "replace")
