"""Damaged JSON texts and the reading that was meant, worked out by hand."""

from __future__ import annotations

import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trace_budget.io.json.repair import candidates, mended_string


def first_reading(text: str) -> object:
    """The first candidate that is JSON, decoded; None when none is."""
    for candidate in candidates(text.encode()):
        try:
            return msgspec.json.decode(candidate)
        except msgspec.DecodeError:
            continue
    return None


@pytest.mark.parametrize(
    ("damaged", "meant"),
    [
        ('{"a": NaN, "b": -Infinity, "c": inf, "d": -nan(ind), "e": N/A}', dict.fromkeys("abcde")),
        ('{"a": +5, "b": 01, "c": 1., "d": .5, "e": True}', dict.fromkeys("abcde")),
        ('{"a": 1.5e-3, "b": -0, "c": true, "d": null}', {"a": 0.0015, "b": 0, "c": True, "d": None}),
        ('{"a": [1, 2,], "b": {"c": 3,},},', {"a": [1, 2], "b": {"c": 3}}),
        ('{"a": [,1,,2] "b": {} "c": 1 "d": "x"}', {"a": [1, 2], "b": {}, "c": 1, "d": "x"}),
        ('{"name": "say "hi" now", "ts": 1}', {"name": 'say "hi" now', "ts": 1}),
        ('{"name": "f("a", "b")", "ts": 1}', {"name": 'f("a", "b")', "ts": 1}),
        ('{"name": "x"}', {"name": "x"}),
        ('{"name": "x""}', {"name": 'x"'}),
        ('{"k": ["a "b" c", "d"], "n": 1}', {"k": ['a "b" c', "d"], "n": 1}),
        ('{"a": "x\ny\tz\x00", "b": 1}', {"a": "x\ny\tz\x00", "b": 1}),
        (r'{"a": "C:\csrc\u12", "b": "\\\"ok\""}', {"a": r"C:\csrc\u12", "b": '\\"ok"'}),
        (r'{"a": "\ud800x\udc00", "b": "\ud83d\ude00"}', {"a": "\ufffdx\ufffd", "b": "\U0001f600"}),
    ],
)
def test_what_was_meant(damaged: str, meant: object) -> None:
    assert first_reading(damaged) == meant


@pytest.mark.parametrize("damaged", ['{"name": "bad, "ph": "X", "ts": 1}', '{"a": {"b": 1', '{"a: 1}', '{"a" 1}', "{"])
def test_what_cannot_be_known_is_not_guessed(damaged: str) -> None:
    assert first_reading(damaged) is None


@given(
    st.recursive(
        st.none() | st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_whole_json_stays_what_it_is(value: object) -> None:
    assert json.loads(next(candidates(json.dumps(value).encode()))) == value
    assert json.loads(next(candidates(json.dumps(value, ensure_ascii=False).encode()))) == value


@given(st.binary())
def test_every_string_becomes_valid_and_valid_ones_stay(content: bytes) -> None:
    quoted = b'"' + content.replace(b'"', b"") + b'"'
    if not content.endswith(b"\\"):
        assert isinstance(json.loads(mended_string(quoted).decode("utf-8", "replace")), str)


@given(st.text())
def test_valid_strings_keep_their_text(text: str) -> None:
    for quoted in (json.dumps(text), json.dumps(text, ensure_ascii=False)):
        assert json.loads(mended_string(quoted.encode())) == text


def test_texts_beyond_the_limit_have_no_reading() -> None:
    assert list(candidates(b"x" * ((1 << 18) + 1))) == []
