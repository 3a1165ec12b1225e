"""Mends the text of one damaged JSON object: bare NaN, control characters, wrong escapes, commas and quotes."""

from __future__ import annotations

import re
from collections.abc import Iterator

_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*+"?|[{}\[\],:]|[^\s"{}\[\],:]+', re.DOTALL)
_VALUE = re.compile(rb"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?|true|false|null")
_TO_ESCAPE = re.compile(rb'[\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})|\\')
_SURROGATES = re.compile(
    rb"(\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})|\\u[dD][89a-fA-F][0-9a-fA-F]{2}|\\\\"
)
_KEYS = rb'"(?:ph|cat|name|pid|tid|ts|dur|args|id|bp|s|sf)"\s*:'
_NAME = re.compile(rb'("name"\s*:\s*")(.*?)("\s*(?:,\s*' + _KEYS + rb"|\}))", re.DOTALL)
_STRING = re.compile(rb'"(.*?)"(?=\s*(?::|[}\]]|,\s*["{\[\-\dtfn]|$))', re.DOTALL)
_BARE_QUOTE = re.compile(rb'(?<!\\)"')
_CLOSING, _OPENING = (b"}", b"]"), (b"{", b"[")


def candidates(text: bytes) -> Iterator[bytes]:
    """Readings of a damaged text as JSON, the most literal first; none is promised to parse.

    Numbers JSON does not know become null, invalid escapes are kept literally, halves of surrogate pairs become U+FFFD.
    """
    yield _with_tokens_mended(text)
    named = _NAME.sub(lambda found: found[1] + _BARE_QUOTE.sub(rb'\\"', found[2]) + found[3], text)
    yield _with_tokens_mended(named)
    yield _with_tokens_mended(_STRING.sub(lambda found: b'"' + _BARE_QUOTE.sub(rb'\\"', found[1]) + b'"', named))


def _with_tokens_mended(text: bytes) -> bytes:
    out: list[bytes] = []
    for found in _TOKEN.finditer(text):
        token = found[0]
        if token.startswith(b'"'):
            token = mended_string(token)
        elif token not in b"{}[],:" and not _VALUE.fullmatch(token):
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
