"""Named parts of a large document, against the json module, at every piece size and cut."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from trace_budget.io.inflate import PlainStream
from trace_budget.io.json.parts import PartStream

ANY = msgspec.json.Decoder(list[Any]).decode


def read(path: Path, *keys: str, segment_bytes: int = 64) -> tuple[list[tuple[str, list[Any]]], PartStream]:
    with PlainStream(path) as plain:
        stream = PartStream(plain, dict.fromkeys(keys, ANY), segment_bytes)
        return list(stream), stream


def joined(pieces: list[tuple[str, list[Any]]]) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for key, objects in pieces:
        found.setdefault(key, []).extend(objects)
    return found


@pytest.mark.parametrize("segment_bytes", [7, 33, 64, 1_000, 1 << 20])
@pytest.mark.parametrize("indent", [None, 1])
def test_arrays_and_objects_wherever_they_stand(tmp_path: Path, segment_bytes: int, indent: int | None) -> None:
    rows = [{"i": i, "in": {"x": [i]}, "text": 'a "},{" b ]'} for i in range(40)]
    document = {
        "meta": {"pid": 1, "s": "} ]"},
        "skip": [{"rows": 1}],
        "deep": {"rows": rows, "none": [], "more": rows[:3]},
    }
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"list": [document, document]}, indent=indent))
    pieces, stream = read(path, "meta", "rows", "more", "none", segment_bytes=segment_bytes)
    assert joined(pieces) == {"meta": [document["meta"]] * 2, "rows": rows * 2, "none": [], "more": rows[:3] * 2}
    assert stream.complete
    assert (stream.damage.repaired, stream.damage.dropped) == (0, 0)


def test_keys_inside_texts_and_inside_parts_are_not_parts(tmp_path: Path) -> None:
    document = {"command": ['"rows":[{"no":1}]'], "meta": {"rows": [{"no": 2}]}, "rows": [{"yes": 1}]}
    path = tmp_path / "a.json"
    path.write_text(json.dumps(document))
    pieces, _ = read(path, "meta", "rows")
    assert joined(pieces) == {"meta": [document["meta"]], "rows": [{"yes": 1}]}


def test_every_cut_gives_the_whole_objects_before_it(tmp_path: Path) -> None:
    rows = [{"i": i, "d": {"x": i}} for i in range(12)]
    text = json.dumps({"meta": {"pid": 1}, "rows": rows, "tail": {}}, separators=(",", ":"))
    begin, path = text.index("[") + 1, tmp_path / "a.json"
    ends = [
        begin + len(",".join(json.dumps(r, separators=(",", ":")) for r in rows[: n + 1])) for n in range(len(rows))
    ]
    for cut in range(begin, len(text)):
        path.write_text(text[:cut])
        pieces, stream = read(path, "meta", "rows")
        assert joined(pieces)["rows"] == rows[: sum(end <= cut for end in ends)], cut
        assert not stream.complete or text[:cut].endswith("}")


VALUES = st.recursive(
    st.integers() | st.text(max_size=5) | st.none(),
    lambda v: st.lists(v, max_size=3) | st.dictionaries(st.text(max_size=3), v, max_size=3),
    max_leaves=8,
)
OBJECTS = st.lists(st.dictionaries(st.sampled_from(["a", "b", "c"]), VALUES, max_size=3), max_size=8)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150, deadline=None)
@given(OBJECTS, OBJECTS, st.integers(1, 200))
def test_any_document_reads_as_json_reads_it(tmp_path: Path, first: list[Any], second: list[Any], size: int) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps({"x": {"first": first, "n": 1}, "second": second}))
    pieces, stream = read(path, "first", "second", segment_bytes=size)
    assert joined(pieces) == {"first": first, "second": second}
    assert stream.complete
