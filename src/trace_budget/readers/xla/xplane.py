"""XPlane profiles of JAX and TensorFlow: `plugins/profile/TIME/HOST.xplane.pb`, an XSpace of planes, lines and events.

Source: openxla `xplane.proto` and the names its writers give planes and lines (`/device:GPU:0`, `Stream #7(Compute)`,
`XLA Ops`, `Steps`, `/host:CPU`). Read: the streams of GPUs, the XLA ops of TPUs, step numbers, host calls that have a
correlation id. Not read: derived lines (modules, names of scopes), counters. No real file was at hand.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from trace_budget.contracts import FileNames, Head, Reader, ReadOptions
from trace_budget.errors import InputError
from trace_budget.io.inflate import PlainStream
from trace_budget.readers.csv_trace import NO_MARKERS
from trace_budget.readers.records import Records, trace_of
from trace_budget.readers.xla import places
from trace_budget.readers.xla.xspace import xspace_type
from trace_budget.schema import caveats
from trace_budget.schema.tables import MARKERS
from trace_budget.schema.trace import Trace

_MARKS = (b"/device:", b"/host:")
_FIRST_BYTES = 1024
_DEVICE, _STREAM = re.compile(places.DEVICE), re.compile(places.STREAM)
_CALL, _COPY, _FILL = re.compile(places.CALL), re.compile(places.COPY), re.compile(places.FILL)
_PS = 1_000
_OP_COLUMNS = {
    **{"name": pl.String, "kind": pl.String, "device": pl.Int64, "stream": pl.Int64},
    **{"start_ns": pl.Int64, "end_ns": pl.Int64, "correlation": pl.Int64, "pid": pl.Int64},
}
_CALL_COLUMNS = {
    **{"name": pl.String, "pid": pl.Int64, "tid": pl.Int64},
    **{"start_ns": pl.Int64, "end_ns": pl.Int64, "correlation": pl.Int64},
}


@dataclass(frozen=True, slots=True)
class _File:
    """What was read, and why it may be incomplete."""

    path: Path
    damage: str = ""


def _recognises(head: Head) -> bool:
    start = head.data[:_FIRST_BYTES]
    return start.startswith(b"\n") and any(mark in start for mark in _MARKS)


def _read(path: Path, options: ReadOptions) -> Trace:
    from google.protobuf.message import DecodeError

    with PlainStream(path) as stream:
        data, damage = stream.read(), stream.damage
    try:
        planes = xspace_type().FromString(data).planes
    except DecodeError as error:
        whole = "whole protobuf messages"
        raise InputError("a damaged XSpace", where=str(path), expected=whole, found=str(error)) from error
    ops = pl.DataFrame(list(_device_rows(planes)), schema=_OP_COLUMNS, orient="row")
    if not ops.height:
        names = ", ".join(sorted(ascii(_text(plane.name)) for plane in planes)[:6]) or "none"
        raise InputError("no device work", where=str(path), expected="lines of /device:GPU:N", found=f"planes {names}")
    calls = pl.DataFrame(list(_host_rows(planes)), schema=_CALL_COLUMNS, orient="row")
    records = Records(ops, calls, _steps(planes), ("correlation",), earliest_ns=0)
    return trace_of(_File(path, damage), "xplane", records, source_bytes=len(data))


def _device_rows(planes: Any) -> Iterator[tuple[object, ...]]:
    """Device work: what runs on streams, or, on a device without streams, the ops of XLA."""
    for plane in planes:
        device = _DEVICE.match(_text(plane.name))
        if not device:
            continue
        names, correlation = _names(plane.event_metadata), _stat_id(plane, "correlation_id")
        streams = [
            (line, match) for line in plane.lines if (match := _STREAM.match(_text(line.name or line.display_name)))
        ]
        chosen = [(line, int(match[1])) for line, match in streams]
        chosen = chosen or [(line, 0) for line in plane.lines if _text(line.name) == places.OPS]
        for line, stream in chosen:
            for event in _timed(line):
                start, end = _times(line, event)
                name = names.get(event.metadata_id, "")
                yield name, _kind(name), int(device[1]), stream, start, end, _stat(event, correlation), None


def _kind(name: str) -> str:
    """XLA's words for copies and fills: `MemcpyH2D`, `Memset`; others are known by the rule of all readers."""
    return "memcpy" if _COPY.match(name) else "memset" if _FILL.match(name) else "kernel"


def _host_rows(planes: Any) -> Iterator[tuple[object, ...]]:
    """Driver and runtime calls of the host: events with a correlation id, by thread."""
    for number, plane in enumerate(planes):
        if not _text(plane.name).startswith(places.HOST):
            continue
        names, correlation = _names(plane.event_metadata), _stat_id(plane, "correlation_id")
        for thread, event in ((line, event) for line in plane.lines for event in _timed(line)):
            name, known = names.get(event.metadata_id, ""), _stat(event, correlation)
            if known is not None and _CALL.match(name):
                yield name, number, thread.id, *_times(thread, event), known


def _steps(planes: Any) -> pl.DataFrame:
    """A range on the device for each event of its line `Steps`."""
    rows: list[tuple[object, ...]] = []
    for plane in planes:
        device, names = _DEVICE.match(_text(plane.name)), _names(plane.event_metadata)
        number = int(device[1]) if device else None
        for line in plane.lines if device else ():
            for event in _timed(line) if _text(line.name) == places.STEPS else ():
                text = f"step[#{names.get(event.metadata_id, '')}]"
                rows.append(("gpu_annotation", text, None, None, number, *_times(line, event)))
    if not rows:
        return NO_MARKERS
    schema = {name: dtype for name, dtype in MARKERS.schema().items() if name != "marker_id"}
    return pl.DataFrame(rows, schema={**schema, "kind": pl.String, "name": pl.String}, orient="row")


def _timed(line: Any) -> Iterator[Any]:
    """Events with a time of their own, not counts of occurrences."""
    return (event for event in line.events if not event.HasField("num_occurrences"))


def _times(line: Any, event: Any) -> tuple[int | None, int | None]:
    """Start and end in ns: picoseconds behind the time of the line, cut to whole ns; None beyond any clock."""
    end_ps = event.offset_ps + event.duration_ps
    times = (line.timestamp_ns + event.offset_ps // _PS, line.timestamp_ns + end_ps // _PS)
    start, end = (time if abs(time) < caveats.LATEST_NS else None for time in times)
    return start, end


def _text(value: bytes) -> str:
    return value.decode("utf-8", "replace")


def _names(entries: Any) -> dict[int, str]:
    return {entry.key: _text(entry.value.name or entry.value.display_name) for entry in entries}


def _stat_id(plane: Any, name: str) -> int | None:
    return next((entry.key for entry in plane.stat_metadata if _text(entry.value.name) == name), None)


def _stat(event: Any, metadata_id: int | None) -> int | None:
    """The whole number that an event states under this name."""
    for stat in event.stats if metadata_id is not None else ():
        if stat.metadata_id == metadata_id:
            value = int(stat.int64_value if stat.HasField("int64_value") else stat.uint64_value)
            return value if abs(value) < caveats.LATEST_NS else None
    return None


READER = Reader(
    name="xplane",
    title="XPlane profiles of JAX and TensorFlow (*.xplane.pb)",
    recognised_by="a protobuf XSpace whose first planes are /device: or /host:",
    cannot_tell="grids; graph nodes; launches where events have no correlation id",
    recognises=_recognises,
    read=_read,
    suffixes=(".xplane.pb",),
    own_suffixes=(".xplane.pb",),
    writers={"xla": 0},
    names=FileNames(page_of=places.is_copy),
)
