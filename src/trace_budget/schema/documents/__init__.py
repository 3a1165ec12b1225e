"""The JSON documents as frozen structs, built as such: their fields, in their order, are the contract.

Keys are only added. A field without a value in some answers is UNSET there, and its key is absent. `rows` are those
of the table CSV and Parquet write, whose columns the question declares.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct, to_builtins

Facts = Mapping[str, object]
Rows = Sequence[Facts]


def plain(answer: Struct) -> dict[str, object]:
    """The values of a document under its keys: text, numbers, lists and dicts."""
    values: dict[str, object] = to_builtins(answer, enc_hook=_number)
    return values


def _number(value: Any) -> object:
    """The plain number of a NumPy scalar."""
    return value.item()
