"""Text in UTF-16 or UTF-32, as PowerShell's redirects write it, delivered as UTF-8 while it is read."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator

from trace_budget.errors import InputError

_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_LITTLE, _BIG = re.compile(rb"(?:[\x20-\x7e]\x00){8}"), re.compile(rb"(?:\x00[\x20-\x7e]){8}")

# ASCII off by one byte, as behind a line end of one; a line end of two single bytes read as one character
_SHIFTED = re.compile("[" + "".join(chr(code << 8) for code in range(0x20, 0x7F)) + "]{8}|[!-~][\u0a0d\u0d0a]")


def encoding_of(first: bytes) -> str | None:
    """The encoding of a text that is not UTF-8, by its byte order mark or the zeros of its first characters."""
    marked = next((name for mark, name in _MARKS if first.startswith(mark)), None)
    return marked or ("utf-16-le" if _LITTLE.match(first) else "utf-16-be" if _BIG.match(first) else None)


def as_utf8(chunks: Iterator[bytes], where: str = "") -> Iterator[bytes]:
    """The same bytes, or the same text in UTF-8 where it was UTF-16 or UTF-32; halves of characters are replaced.

    Raises InputError where single bytes among those of two make ASCII text unreadable: half of the lines would be lost.
    """
    first = next(chunks, b"")
    encoding = encoding_of(first)
    if encoding is None:
        if first:
            yield first
        yield from chunks
        return
    decoder = codecs.getincrementaldecoder(encoding)("replace")
    yield _checked(decoder.decode(first), where)
    for chunk in chunks:
        yield _checked(decoder.decode(chunk), where)
    if last := decoder.decode(b"", final=True):
        yield _checked(last, where)


def _checked(text: str, where: str) -> bytes:
    if _SHIFTED.search(text):
        raise InputError(
            "UTF-16 text with single bytes in it, as line ends that another program wrote",
            where=where,
            expected="two bytes a character",
            found="characters half a character off",
            advice="Write the file again with one program, best as UTF-8.",
        )
    return text.encode("utf-8", "replace")
