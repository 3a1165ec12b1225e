"""Decodes JSON arrays of typed objects, leaving out the elements whose fields have other types."""

from __future__ import annotations

import re
from typing import Generic, TypeVar

import msgspec

T = TypeVar("T")
_NO_TEXT = re.compile("[\udc80-\udcff]")


class TypedList(Generic[T]):
    """A decoder from the bytes of a JSON array to objects of one type; `dropped` counts elements of another shape.

    Bytes that are not UTF-8 become replacement characters. Raises msgspec.DecodeError for what is no JSON array.
    """

    def __init__(self, element: type[T]) -> None:
        self.dropped = 0
        self._all = msgspec.json.Decoder(list[element])  # type: ignore[valid-type]
        self._one = msgspec.json.Decoder(element)
        self._raw = msgspec.json.Decoder(list[msgspec.Raw])

    def __call__(self, text: memoryview) -> list[T]:
        """The objects of one array."""
        try:
            return self._decoded(text)
        # older msgspec raises UnicodeDecodeError for text that is not UTF-8
        except (msgspec.DecodeError, UnicodeDecodeError):
            data = bytes(text)
            clean = data.decode("utf-8", "replace").encode()
            if clean == data:
                raise
        # other damage must be known by its place in the text as it was, whose length the replacements change
        self._check(_NO_TEXT.sub("?", data.decode("utf-8", "surrogateescape")).encode())
        return self._decoded(memoryview(clean))

    def _check(self, text: bytes) -> None:
        try:
            self._all.decode(text)
        except msgspec.ValidationError:
            self._raw.decode(text)

    def _decoded(self, text: memoryview) -> list[T]:
        try:
            return self._all.decode(text)
        except msgspec.ValidationError:
            elements = self._raw.decode(text)
        found = [element for raw in elements if (element := self._fitting(raw)) is not None]
        self.dropped += len(elements) - len(found)
        return found

    def _fitting(self, raw: msgspec.Raw) -> T | None:
        try:
            return self._one.decode(raw)
        except msgspec.ValidationError:
            return None
