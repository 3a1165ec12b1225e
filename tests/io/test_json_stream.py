"""Objects of a large array come out whole, whatever the layout, the segment size, and the damage between them."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kineto_damages import DAMAGES
from kineto_texts import LAYOUTS, ORDERS, document, event_text, kernel
from trace_budget.errors import InputError
from trace_budget.io.inflate import PlainStream
from trace_budget.io.json.stream import ObjectStream

GOOD = [kernel(f"k{index}<int, {{lambda()#1}}>", 1_000 + 10 * index, 5.125, correlation=index) for index in range(200)]
NAMES = [str(event["name"]) for event in GOOD]
SEGMENTS = (300, 2_000, 20_000, 4 << 20)
PLACES = (0, 1, 100, 199, 200)


class Named(msgspec.Struct):
    """An event of which only the name is looked at, undecoded."""

    name: msgspec.Raw = msgspec.Raw(b"null")


Element = Named | str | int | float | bool | list[object] | None
DECODER = msgspec.json.Decoder(list[Element])


def decoded(text: memoryview) -> list[Element]:
    """The elements; bare strings that are not UTF-8 are made so, names stay as they are."""
    try:
        return DECODER.decode(text)
    except UnicodeDecodeError:
        return DECODER.decode(bytes(text).decode("utf-8", "replace").encode())


def streamed(folder: Path, data: bytes, segment_bytes: int) -> tuple[list[str], ObjectStream[Element]]:
    """The names of all events, and the stream they came from."""
    path = folder / "trace.json"
    path.write_bytes(data)
    with PlainStream(path) as plain:
        stream = ObjectStream(plain, "traceEvents", decoded, segment_bytes)
        texts = [bytes(item.name) for objects in stream for item in objects if isinstance(item, Named)]
    return [str(msgspec.json.decode(text.decode("utf-8", "replace").encode())) for text in texts], stream


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("order", ORDERS)
def test_every_layout_at_every_segment_size(tmp_path: Path, layout: str, order: str) -> None:
    meta = {
        "a": {"traceEvents": [{"name": "decoy"}]},
        "b": '"traceEvents": [',
        "c": [{"name": "x"}, {"name": "y"}],
        "n": 5,
    }
    data = document(GOOD, meta, layout, order)
    for segment_bytes in (1, 7, *SEGMENTS):
        found, stream = streamed(tmp_path, data, segment_bytes)
        assert found == NAMES
        assert (stream.ended, stream.fields.closed, stream.fields.more) == (True, True, False)
        assert {key: msgspec.json.decode(raw) for key, raw in stream.fields.values.items() if key} == meta
        assert (stream.damage.repaired, stream.damage.dropped, stream.damage.first_offset) == (0, 0, None)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("case", DAMAGES)
def test_all_good_events_survive_one_damaged_one(tmp_path: Path, case: str, layout: str) -> None:
    damage = DAMAGES[case]
    expected = [damage.name] if damage.name else []
    for place in PLACES:
        events = [*GOOD[:place], damage.text(layout), *GOOD[place:]]
        data = document(events, layout=layout)
        for segment_bytes in SEGMENTS if place == 100 else (20_000,):
            found, stream = streamed(tmp_path, data, segment_bytes)
            at = (place, segment_bytes)
            assert [name for name in found if name in NAMES] == NAMES, at
            assert [name for name in found if name not in NAMES] == expected, at
            assert stream.damage.repaired == len(expected), at
            if place == 200 and case in ("no_closing_brace", "no_braces_at_the_end", "cut_in_its_middle"):
                # Without its end the last event looks like a file that was cut.
                assert stream.damage.dropped + (not stream.ended) >= 1, at
                continue
            assert (stream.damage.dropped, stream.ended) == (1 - len(expected), True), at
            assert data[stream.damage.first_offset or 0 :].startswith(str(events[place]).strip().encode()), at


@pytest.mark.parametrize("layout", ["kineto", "minified"])
def test_every_complete_event_before_a_cut_survives(tmp_path: Path, layout: str) -> None:
    events = GOOD[:3]
    data = document(events, layout=layout, order="events_first")
    ends = [data.index(end) + len(end) for end in (event_text(event, layout).strip().encode() for event in events)]
    for cut in range(data.index(b"[") + 1, len(data)):
        for segment_bytes in (4 << 20,) if cut % 10 else (64, 4 << 20):
            found, stream = streamed(tmp_path, data[:cut], segment_bytes)
            assert found == [name for name, end in zip(NAMES, ends, strict=False) if end <= cut], cut
            assert not (stream.ended and stream.fields.closed), cut
            assert (stream.damage.repaired, stream.damage.dropped) == (0, 0), cut


@settings(deadline=None)
@given(st.data())
def test_a_cut_or_a_changed_byte_never_raises_anything_but_an_input_error(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    text = bytearray(document(GOOD[:6], layout=data.draw(st.sampled_from(LAYOUTS))))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(text.index(b"[") + 1, len(text) - 1))
        if data.draw(st.booleans()):
            text[at] = data.draw(st.integers(0, 255))
        else:
            del text[at : at + data.draw(st.integers(1, 80))]
    segment_bytes = data.draw(st.sampled_from((50, 333, 4 << 20)))
    try:
        found, stream = streamed(tmp_path_factory.mktemp("fuzz"), bytes(text), segment_bytes)
    except InputError:
        return
    whole, _ = streamed(tmp_path_factory.mktemp("fuzz"), bytes(text), 4 << 20)
    assert found == whole
    try:
        meant = msgspec.json.decode(text.decode("utf-8", "replace").encode())
    except msgspec.DecodeError:
        damaged = stream.damage.first_offset is not None or not stream.ended
        assert damaged or stream.fields.damaged or stream.fields.more or not stream.fields.closed
    else:
        events = meant["traceEvents"] if isinstance(meant, dict) else meant
        assert found == [str(event.get("name")) for event in events if isinstance(event, dict)]


def test_lists_of_objects_inside_events_are_no_boundaries(tmp_path: Path) -> None:
    events = [{**event, "args": {"stack": [{"name": "f", "ph": "X"}, {"name": "g"}, {"ph": 1}] * 3}} for event in GOOD]
    for segment_bytes in SEGMENTS:
        found, stream = streamed(tmp_path, document(events), segment_bytes)
        assert found == NAMES
        assert stream.damage.first_offset is None


@pytest.mark.parametrize(
    ("between", "repaired"), [(" ", 1), (",,", 1), (", ,\n,", 1), (", null, ", 0), (", 5, ", 0), ("], ", 1)]
)
def test_what_stands_between_two_events(tmp_path: Path, between: str, repaired: int) -> None:
    left, right = event_text(GOOD[0]), event_text(GOOD[1])
    data = b'{"schemaVersion": 1, "traceEvents": [' + (left + between + right).encode() + b"]}"
    found, stream = streamed(tmp_path, data, 4 << 20)
    assert found == NAMES[:2]
    assert stream.damage.repaired == repaired


def test_bare_array_with_and_without_its_end(tmp_path: Path) -> None:
    texts = ", ".join(map(event_text, GOOD)).encode()
    for head in (b"[", b"\xef\xbb\xbf \n["):
        for tail, ended in ((b"]", True), (b"]\n", True), (b"", False), (b",\n", False)):
            found, stream = streamed(tmp_path, head + texts + tail, 2_000)
            assert (found, stream.ended, stream.fields.closed, stream.fields.values) == (NAMES, ended, ended, {})


def test_a_second_document_is_seen_and_not_read(tmp_path: Path) -> None:
    for first in (document(GOOD), b"[" + ", ".join(map(event_text, GOOD)).encode() + b"]"):
        found, stream = streamed(tmp_path, first + b"\n" + document(GOOD[:5]), 20_000)
        assert (found, stream.ended, stream.fields.more) == (NAMES, True, True)


def test_metadata_that_is_damaged_does_not_hide_the_events(tmp_path: Path) -> None:
    data = document(GOOD, {"INFO": "x", "baseTimeNanoseconds": 5}).replace(b'"x"', b'"a "quoted" { word"')
    found, stream = streamed(tmp_path, data, 20_000)
    assert found == NAMES
    assert bytes(stream.fields.values["baseTimeNanoseconds"]) == b"5"
    assert (stream.fields.damaged, stream.fields.more) == (True, False)


def test_events_cut_off_by_a_false_end_are_told(tmp_path: Path) -> None:
    data = document(GOOD[:9]).replace(b'"name": "k5', b'], "name": "k5')
    found, stream = streamed(tmp_path, data, 4 << 20)
    assert found == [*NAMES[:5], *NAMES[6:9]]
    assert stream.damage.dropped == 1
    early = document(GOOD[:9], layout="minified").replace(b'"traceEvents":[', b'"traceEvents":[],')
    found, stream = streamed(tmp_path, early, 4 << 20)
    assert found == NAMES[:9]
    assert stream.damage.first_offset is not None
    key = document(GOOD[:9], layout="minified").replace(b'"traceEvents":[{', b'"traceEvents":[], "x":{')
    found, stream = streamed(tmp_path, key, 4 << 20)
    assert (found, stream.fields.more) == ([], True)


@pytest.mark.parametrize(
    "data", [b"{}", b'{"a": [1]}', b'{"traceEvents": 5}', b"5", b"hello", b"\xff\xfe\0", b'{"traceEvents']
)
def test_without_a_list_of_events(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(InputError, match="without a list of events"):
        streamed(tmp_path, data, 4 << 20)


@pytest.mark.parametrize("opening", [b'{"traceEvents": [{"args": ', b'{"x": '])
def test_nesting_has_a_limit(tmp_path: Path, opening: bytes) -> None:
    with pytest.raises(InputError, match=r"nested too deep|without a list of events"):
        streamed(tmp_path, opening + b"[" * 1_000_000, 4 << 20)


def test_one_endless_string_has_a_limit(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"too long.*at most 67108864 bytes"):
        streamed(tmp_path, b'[{"name": "' + b"x}, {" * (14 << 20), 4 << 20)
