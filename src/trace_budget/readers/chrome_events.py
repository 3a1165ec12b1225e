"""Chrome trace events of all profilers but PyTorch's: streamed, their loosely typed numbers made exact."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import polars as pl

from trace_budget.errors import InputError
from trace_budget.io.dictionary import Dictionary
from trace_budget.io.inflate import PlainStream
from trace_budget.io.json.document import Fields
from trace_budget.io.json.stream import ObjectStream
from trace_budget.io.json.typed import TypedList
from trace_budget.readers.csv_trace import ns_from_decimal
from trace_budget.readers.records import Records, trace_of
from trace_budget.schema import caveats
from trace_budget.schema.trace import Caveat, Trace
from trace_budget.units import NS_PER_US

T = TypeVar("T")
Number = str | int | float | None
_LONGEST_US = (1 << 62) // NS_PER_US
_BEYOND = 1 << 63
_MANY_DIGITS = re.compile(r"[-+]?\d{19,}")


@dataclass(frozen=True, slots=True)
class EventFile:
    """The events of one file as columns; `damage` says why it ends early, if it does.

    `lost` counts ids and sizes beyond Int64, which are null.
    """

    path: Path
    frame: pl.DataFrame
    damage: str
    caveats: tuple[Caveat, ...]
    lost: int


class Span(msgspec.Struct, gc=False):
    """An event as every writer of Chrome's format writes it; a reader adds `args` of its own."""

    ph: str | None = None
    name: str | None = None
    pid: Number = None
    tid: Number = None
    ts: Number = None
    dur: Number = None


class Ids:
    """Makes columns of ids and sizes; `lost` counts the numbers beyond Int64, which become null."""

    def __init__(self) -> None:
        self.lost = 0

    def __call__(self, values: Sequence[Number]) -> pl.Series:
        """Int64 of numbers that may be written as text; null for what is no integer."""
        return self._counted(integers(values), values)

    def trailing(self, values: Sequence[Number]) -> pl.Series:
        """Int64 of the number a text ends with (`Thread12`, `Stream0`, `7`); null without one."""
        texts = pl.Series([None if value is None else str(value) for value in values], dtype=pl.String)
        digits = texts.str.extract(r"(\d+)$", 1)
        return self._counted(digits.cast(pl.Int64, strict=False), digits.to_list())

    def _counted(self, column: pl.Series, values: Sequence[Number]) -> pl.Series:
        if column.null_count() > values.count(None):
            self.lost += sum(_is_beyond(values[at]) for at in column.is_null().arg_true())
        return column


def _is_beyond(value: Number) -> bool:
    """Whether what is no Int64 is a number too large for one."""
    if isinstance(value, str):
        return _MANY_DIGITS.fullmatch(value) is not None
    return value is not None and not -_BEYOND <= value < _BEYOND


def read_events(
    path: Path,
    event: type[T],
    columns: Callable[[Sequence[T], Ids], pl.DataFrame],
    texts: tuple[str, ...] = ("name",),
    after: re.Pattern[bytes] | None = None,
) -> EventFile:
    """Read the events of `traceEvents` (or of a bare array) as `columns` makes them of each batch, ids with `Ids`.

    String columns named in `texts` become Enum. With `after`, reading starts behind its first match (JSON in a page);
    InputError when there is none.
    """
    dictionaries = {name: Dictionary() for name in texts}
    ids = Ids()
    frames = [_coded(columns([], ids), dictionaries)]
    with PlainStream(path) as plain:
        if after is not None and not plain.skip_past(after):
            raise InputError("a page without a trace in it", where=str(path), expected=after.pattern.decode())
        decode = TypedList(event)
        stream = ObjectStream(plain, "traceEvents", decode)
        frames.extend(_coded(columns(batch, ids), dictionaries) for batch in stream)
        reason = plain.damage or ("" if stream.ended else "the list of events does not end")
        found, around = stream.damage, Fields(closed=True) if after else stream.fields
    frame = pl.concat(frames)
    place = f"byte {found.first_offset}" if found.first_offset is not None else ""
    return EventFile(
        path,
        frame.with_columns(dictionary.decoded(frame[name]) for name, dictionary in dictionaries.items()),
        reason or _cut(around),
        (
            *caveats.damaged_lines(found.dropped + decode.dropped, found.repaired, place),
            *caveats.broken_keys(found.broken_keys),
            *_around(around),
        ),
        ids.lost,
    )


def _cut(around: Fields) -> str:
    """Why events may be missing although their list ends."""
    return "another document follows" if around.more else "" if around.closed else "the document does not end"


def _around(around: Fields) -> tuple[Caveat, ...]:
    """What is wrong outside the list."""
    if around.more:
        return (caveats.several_documents(),)
    return (caveats.damaged_metadata(),) if around.damaged else ()


def _coded(frame: pl.DataFrame, dictionaries: dict[str, Dictionary]) -> pl.DataFrame:
    return frame.with_columns(dictionary.codes(frame[name]).alias(name) for name, dictionary in dictionaries.items())


def without_kernels(file: EventFile, spans: int, what: str, advice: str) -> InputError:
    """The error about a file with so many spans, none of a kernel."""
    return InputError("holds no GPU kernels", where=str(file.path), found=f"{spans} spans, none {what}", advice=advice)


def trace_of_events(file: EventFile, format_name: str, records: Records, **facts: Any) -> Trace:
    """The checked Trace of a file's records; `facts` are further fields of Trace.

    ROCm's and Hygon's profilers book the gap between kernels into the kernel, unless the facts say otherwise.
    """
    complete = replace(records, caveats=(*file.caveats, *records.caveats), lost=file.lost)
    return trace_of(file, format_name, complete, **{"dispatch_gap_in_duration": True, **facts})


def strings(values: Sequence[str | None]) -> pl.Series:
    """Text, null where there is none."""
    return pl.Series(values, dtype=pl.String)


def integers(values: Sequence[Number]) -> pl.Series:
    """Int64 of numbers that may be written as text; null for what is no integer."""
    kinds = set(map(type, values))
    if kinds <= {int, type(None)}:
        return pl.Series(values, dtype=pl.Int64, strict=False)
    if not kinds <= {str, type(None)}:
        values = [None if value is None else str(value) for value in values]
    return pl.Series(values, dtype=pl.String).cast(pl.Int64, strict=False)


def ns_of_whole_us(us: pl.Series) -> pl.Series:
    """Integer ns of whole microseconds; null for what is no time."""
    return (
        us.zip_with(us.is_between(0, _LONGEST_US), pl.Series([None], dtype=pl.Int64).new_from_index(0, us.len()))
        * NS_PER_US
    )


def ns_of_us(values: Sequence[Number]) -> pl.Series:
    """Integer ns of decimal microseconds written as text or number; digits beyond ns are cut."""
    texts = pl.Series([None if value is None else str(value) for value in values], dtype=pl.String)
    frame = texts.alias("us").to_frame()
    return frame.select(ns_from_decimal("us", 3)).to_series()
