"""Mends the text of one damaged JSON object: bare NaN, control characters, wrong escapes, commas and quotes."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator

_TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[{}\[\],:]|[^\s"{}\[\],:]+', re.DOTALL)
_STRING_OR_WORD = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|(?<=[:,\[\s])[-+]?[A-Za-z][^\s"{}\[\],:]*', re.DOTALL)
_STRUCTURE_OR_VALUE = re.compile(rb"[{}\[\],:]|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?|true|false|null")
_TO_ESCAPE = re.compile(rb'[\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})|\\')
_SURROGATES = re.compile(
    rb"(\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})|\\u[dD][89a-fA-F][0-9a-fA-F]{2}|\\\\"
)
_KEY = re.compile(rb'"(?:ph|cat|name|pid|tid|ts|dur|args|id|bp|s|sf)"\s*:')
_NAME_OPENS = re.compile(rb'"name"\s*:\s*"')
_NAME_CLOSES = re.compile(rb'"(?=\s*(?:,\s*' + _KEY.pattern + rb"|\}))")
_STRING_OPENS = re.compile(rb'"')
_STRING_CLOSES = re.compile(rb'"(?=\s*(?::|[}\]]|,\s*["{\[\-\dtfn]|\Z))')
_BARE_QUOTE = re.compile(rb'(?<!\\)"')
_LONGEST_BYTES = 1 << 18
_BEFORE_VALUE = (b",", b":", b"[")
_CLOSING, _OPENING = (b"}", b"]"), (b"{", b"[")


def candidates(text: bytes) -> Iterator[bytes]:
    """Readings of a damaged text as JSON, the most literal first; none is promised to parse.

    Numbers JSON does not know become null, invalid escapes are kept literally, halves of surrogate pairs become U+FFFD.
    Texts beyond 256 KiB have no reading: damage is local, and the work must stay bounded.
    """
    text = text.strip(b", \t\r\n")
    if len(text) > _LONGEST_BYTES:
        return
    yield _STRING_OR_WORD.sub(_known_word, text)
    yield _with_tokens_mended(text)
    named = _requoted(text, _NAME_OPENS, _NAME_CLOSES)
    if named != text:
        yield _with_tokens_mended(named)
    quoted = _requoted(named, _STRING_OPENS, _STRING_CLOSES)
    if quoted != named:
        yield _with_tokens_mended(quoted)


def _known_word(found: re.Match[bytes]) -> bytes:
    """Bare words alone are the commonest damage, and so many in one file that they have a fast way."""
    word = found[0]
    return word if word.startswith(b'"') or word in (b"true", b"false", b"null") else b"null"


def _requoted(text: bytes, opens: re.Pattern[bytes], closes: re.Pattern[bytes]) -> bytes:
    """Escape the quotes inside strings that begin at `opens` and end at the next quote that looks like an end."""
    ends = [found.start() for found in closes.finditer(text)]
    parts: list[bytes] = []
    at = 0
    while (found := opens.search(text, at)) and (place := bisect_left(ends, found.end())) < len(ends):
        parts += (text[at : found.end()], _quotes_escaped(text[found.end() : ends[place]]), b'"')
        at = ends[place] + 1
    return b"".join(parts) + text[at:]


def _quotes_escaped(content: bytes) -> bytes:
    """The content of a string with its bare quotes escaped; what holds a key is no string, but one without an end."""
    return content if _KEY.search(content) else _BARE_QUOTE.sub(rb'\\"', content)


def _with_tokens_mended(text: bytes) -> bytes:
    out: list[bytes] = []
    for found in _TOKEN.finditer(text):
        token = found[0]
        if token.startswith(b'"'):
            token = mended_string(token)
        elif not _STRUCTURE_OR_VALUE.fullmatch(token) and (out[-1:] or [b"["])[0] in _BEFORE_VALUE:
            token = b"null"
        _append(out, token)
    while out and out[-1] == b",":
        out.pop()
    return b"".join(out)


def _append(out: list[bytes], token: bytes) -> None:
    """Add a token, dropping commas that lead nowhere and adding those between two values."""
    last = out[-1] if out else b"["
    if token == b"," and (last == b"," or last in _OPENING):
        return
    if token in _CLOSING and last == b",":
        out.pop()
    if token not in (b",", b":", *_CLOSING) and last not in (b",", b":", *_OPENING):
        out.append(b",")
    out.append(token)


def mended_string(token: bytes) -> bytes:
    """A quoted JSON string whose control characters, invalid escapes and half surrogate pairs are made valid."""
    escaped = _TO_ESCAPE.sub(_escaped, token)
    return _SURROGATES.sub(_whole_pair, escaped) if b"\\u" in escaped else escaped


def _escaped(found: re.Match[bytes]) -> bytes:
    text = found[0]
    if text == b"\\":
        return b"\\\\"
    return text if text.startswith(b"\\") else b"\\u%04x" % text[0]


def _whole_pair(found: re.Match[bytes]) -> bytes:
    return found[0] if found[1] or found[0] == b"\\\\" else b"\\ufffd"
