"""Mutations of JSON text: values, keys, whole events and the punctuation between them."""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random

_STRING = rb'"(?:[^"\\]|\\.)*"'
_VALUE = re.compile(rb"(?<=[:\[,])(\s*)(" + _STRING + rb"|-?\d[\d.eE+-]*|true|false|null)(?=\s*[,\]}])")
_KEY = re.compile(_STRING + rb"\s*:")
_PUNCTUATION = re.compile(rb'[{}\[\],:"]')
_EVENT = re.compile(rb"\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}", re.DOTALL)
_ODD_VALUES = (
    *(b"NaN", b"Infinity", b"-nan", b"N/A", b"null", b"true", b"false", b'""', b"[]", b"{}", b"[[]]", b'{"a": [1]}'),
    *(b"-1", b"-0", b"0", b"1e3", b"1.5", b"1e400", b"123456789012345678901234567890", b"9223372036854775807"),
    *(b"18446744073709551615", b"-9223372036854775808", b"0.0000000000000001", b"1712195495604.7629123", b"00012"),
    *(b'"12"', b'"-3.25"', b'"kernel"', b'"X"', b'"B"', b'"gpu_memcpy"', b'"CUDA functions"', b'"user_annotation"'),
    *(
        b'"a"b"',
        b'"a\nb"',
        b'"\\c"',
        b'"\\ud800"',
        b'"\\u0000"',
        b'"\xff\xfe"',
        b'"\x1b[31m"',
        b'"' + b"k" * 5_000 + b'"',
    ),
    *(b"[" * 200 + b"]" * 200, b"[" * 5_000 + b"]" * 5_000),
)
_ODD_KEYS = (b'"":', b'"ts":', b'"dur":', b'"cat":', b'"ph":', b'"args":', b'"name":', b'"traceEvents":', b'"a\\"b":')


def _one_of(rng: Random, pattern: re.Pattern[bytes], text: bytes) -> re.Match[bytes] | None:
    """A match near a random place: cheaper than finding all."""
    at = rng.randrange(len(text) + 1)
    return pattern.search(text, at) or pattern.search(text)


def value(rng: Random, text: bytes) -> bytes:
    """Another value."""
    found = _one_of(rng, _VALUE, text)
    return _put(text, found.span(2), rng.choice(_ODD_VALUES)) if found else text


def key(rng: Random, text: bytes) -> bytes:
    """Another key, or the same twice, or none."""
    found = _one_of(rng, _KEY, text)
    if found is None:
        return text
    other = rng.choice((*_ODD_KEYS, found[0] + b"1," + found[0], b""))
    return _put(text, found.span(), other)


def punctuation(rng: Random, text: bytes) -> bytes:
    """A bracket, comma, colon or quote is missing, doubled or another."""
    found = _one_of(rng, _PUNCTUATION, text)
    if found is None:
        return text
    return _put(text, found.span(), rng.choice((b"", found[0] * 2, b"}", b"]", b",", b'"', b"{", b"[")))


def event_gone(rng: Random, text: bytes) -> bytes:
    """An event is missing, its comma stays."""
    found = _one_of(rng, _EVENT, text)
    return _put(text, found.span(), rng.choice((b"", b"{}", b"null", b"1", b"[]", b'"x"'))) if found else text


def event_twice(rng: Random, text: bytes) -> bytes:
    """An event stands there twice, with a comma or without."""
    found = _one_of(rng, _EVENT, text)
    return _put(text, found.span(), found[0] + rng.choice((b",", b",\n", b"")) + found[0]) if found else text


def event_cut(rng: Random, text: bytes) -> bytes:
    """An event breaks off in its middle; the next follows."""
    found = _one_of(rng, _EVENT, text)
    return _put(text, found.span(), found[0][: rng.randrange(len(found[0]))]) if found else text


def garbage(rng: Random, text: bytes) -> bytes:
    """Something that is no JSON between two events."""
    found = _one_of(rng, _EVENT, text)
    extra = rng.choice((b"@@@", b"]", b"}", b"Traceback (most recent call last):\n", b"\0" * 9, b'"', b"{" * 40))
    return text[: found.end()] + extra + text[found.end() :] if found else text


def another_document(rng: Random, text: bytes) -> bytes:
    """The document twice, or its second half behind it."""
    return text + rng.choice((b"", b"\n", b",")) + (text if rng.random() < 0.5 else text[len(text) // 2 :])


MUTATIONS: tuple[Callable[[Random, bytes], bytes], ...] = (
    *(value, value, value, value, key, key, punctuation, punctuation, event_gone, event_twice, event_cut, garbage),
    another_document,
)


def _put(text: bytes, span: tuple[int, int], new: bytes) -> bytes:
    return text[: span[0]] + new + text[span[1] :]
