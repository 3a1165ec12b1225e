"""Typed arrays: elements of another shape are left out and counted, bytes that are not UTF-8 replaced."""

from __future__ import annotations

import msgspec
import pytest

from trace_budget.io.json.typed import TypedList


class Point(msgspec.Struct):
    x: int
    name: str = ""


def test_elements_that_fit_stay_in_order() -> None:
    decode = TypedList(Point)
    found = decode(memoryview(b'[{"x":1},{"x":"2"},7,{"y":3},{"x":4,"name":"n","more":[]},null]'))
    assert found == [Point(1), Point(4, "n")]
    assert decode.dropped == 4
    assert decode(memoryview(b'[{"x":5}]')) == [Point(5)]
    assert decode.dropped == 4


def test_bytes_that_are_not_utf8_become_replacement_characters() -> None:
    decode = TypedList(Point)
    assert decode(memoryview(b'[{"x":1,"name":"a\xffb"}]')) == [Point(1, "a\ufffdb")]
    assert decode.dropped == 0


@pytest.mark.parametrize("text", [b'[{"x":1}', b'[{"x":1}] tail', b'[{"x":"1"},{]', b'{"x":1}'])
def test_what_is_no_array_raises_and_counts_nothing(text: bytes) -> None:
    decode = TypedList(Point)
    with pytest.raises(msgspec.DecodeError):
        decode(memoryview(text))
    assert decode.dropped == 0
