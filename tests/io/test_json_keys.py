"""Keys that damage made unreadable are counted wherever a stream of JSON meets them, and nothing else is."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trace_budget.io.inflate import PlainStream
from trace_budget.io.json.ahead import AheadStream
from trace_budget.io.json.keys import broken_keys
from trace_budget.io.json.parts import PartStream
from trace_budget.io.json.stream import ObjectStream

decode = msgspec.json.Decoder(list[msgspec.Raw]).decode
BROKEN = {
    b'{"ca\xff": "kernel"}': 1,
    b'{"ca\xe4\xb8": "kernel", "\x80": 1}': 2,
    b'{"ca\xef\xbf\xbd": 1}': 1,
    b'{"cat": "kern\xfel"}': 1,
    b'{"ph" :\n"\xd8", "cat": "kernel"}': 1,
    b'{"name": "caf\xe9", "args": {"path": "/d\xfcr"}}': 0,
    b'{"name": "say \\"hi\xff\\": x"}': 0,
    '{"größe": 1, "cat": "кернел", "name": "\u5185\u6838"}'.encode(): 0,
}


@pytest.mark.parametrize("text", BROKEN)
def test_keys_and_categories_count_and_other_texts_do_not(text: bytes) -> None:
    assert broken_keys(text) == broken_keys(bytearray(text)) == BROKEN[text]


@given(st.recursive(st.text() | st.integers(), lambda inner: st.dictionaries(st.text(), inner), max_leaves=6))
def test_a_sound_document_has_none(document: object) -> None:
    if "\ufffd" not in repr(document):
        assert broken_keys(msgspec.json.encode(document)) == 0


@pytest.mark.parametrize("segment_bytes", [64, 333, 1 << 20])
def test_every_stream_counts_each_of_them_once(tmp_path: Path, segment_bytes: int) -> None:
    events = [
        b'{"ph":"X","c\xfft":"k","n":%d}' % n if n % 7 == 3 else b'{"ph":"X","cat":"k","n":%d}' % n for n in range(50)
    ]
    text = b'{"device\xff":1,"traceEvents":[' + b",".join(events) + b'],"o\xffher":2}'
    path = tmp_path / "t.json"
    path.write_bytes(text)
    with PlainStream(path) as plain:
        whole: ObjectStream[object] = ObjectStream(plain, "traceEvents", decode, segment_bytes)
        assert sum(map(len, whole)) == 50
    with PlainStream(path) as plain:
        ahead: AheadStream[object, object] = AheadStream(plain, "traceEvents", decode, segment_bytes)
        assert sum(map(len, ahead.batches(lambda _: None))) == 50
    with PlainStream(path) as plain:
        parts = PartStream(plain, {"traceEvents": decode}, segment_bytes)
        assert sum(len(found) for _, found in parts) == 50
    assert [each.damage.broken_keys for each in (whole, ahead, parts)] == [9, 9, 9]
