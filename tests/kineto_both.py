"""Reads a Kineto trace with and without the accelerator and compares everything that is told of it."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import polars as pl
import pytest

from trace_budget.contracts import ReadOptions
from trace_budget.errors import TraceBudgetError
from trace_budget.readers.kineto import kineto
from trace_budget.readers.kineto.scan import SWITCH, built_library
from trace_budget.schema.trace import Trace

needs_library = pytest.mark.skipif(built_library() is None, reason="the accelerator was not built")


def reading(path: Path, segment_bytes: int, accelerated: bool) -> Trace | str:
    """The trace, or the error it ends with."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(SWITCH, "" if accelerated else "1")
        try:
            return kineto.read(path, ReadOptions(), segment_bytes)
        except TraceBudgetError as error:
            return str(error)


def same_reading(path: Path, segment_bytes: int) -> Trace | str:
    """What both ways of reading give, which must be the same in every field, column, type and order of rows."""
    pure, fast = reading(path, segment_bytes, accelerated=False), reading(path, segment_bytes, accelerated=True)
    if isinstance(pure, str) or isinstance(fast, str):
        assert pure == fast
        return fast
    for name in {field.name for field in fields(Trace)} - {"engine"}:
        one, other = getattr(pure, name), getattr(fast, name)
        if isinstance(one, pl.DataFrame):
            assert one.schema == other.schema, name
            assert one.equals(other), name
        else:
            assert one == other, name
    return fast
