"""A Drawing as a trace file: Perfetto protobuf, or Chrome trace JSON; both open in ui.perfetto.dev.

Source: perfetto.dev/docs/reference/synthetic-track-event and the Chrome "Trace Event Format" document.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from trace_budget.schema.timeline import NOTES, Drawing
from trace_budget.text import safe
from trace_budget.units import NS_PER_US

if TYPE_CHECKING:
    import polars as pl

SUFFIXES = {"perfetto": (".pftrace", ".perfetto-trace", ".pb"), "chrome": (".json",)}
SEQUENCE = 1
FIRST_PID = 1
STATE_CLEARED, STATE_NEEDED = 1, 2  # TracePacket.SequenceFlags
BEGIN, END, COUNTER = 1, 2, 4  # TrackEvent.Type


def perfetto(drawing: Drawing) -> bytes:
    """The drawing as a Perfetto trace; slices become begin and end events of tracks below one process each."""
    from perfetto.trace_builder.proto_builder import TraceProtoBuilder

    return _Perfetto(TraceProtoBuilder(), drawing).bytes()


class _Perfetto:
    """Writes packet after packet; names are interned, so that a long kernel name is written once."""

    def __init__(self, builder: Any, drawing: Drawing) -> None:
        self.builder, self.drawing = builder, drawing
        self.names: dict[str, int] = {}

    def bytes(self) -> bytes:
        counters = self.drawing.counters.select("process", "name").unique(maintain_order=True).rows()
        self._describe(counters)
        out, into = _flow_ids(self.drawing)
        for row in self.drawing.slices.to_dicts():
            self._slice(row, out.get(row["slice"], ()), into.get(row["slice"], ()))
        place = {key: _counter_track(index) for index, key in enumerate(counters)}
        for process, name, time_ns, value in self.drawing.counters.rows():
            packet = self._packet(time_ns)
            packet.track_event.type = COUNTER
            packet.track_event.track_uuid = place[process, name]
            packet.track_event.double_counter_value = value
        data: bytes = self.builder.serialize()
        return data

    def _packet(self, time_ns: int | None = None) -> Any:
        packet = self.builder.add_packet()
        packet.trusted_packet_sequence_id = SEQUENCE
        if time_ns is not None:
            packet.timestamp = time_ns
            packet.sequence_flags = STATE_NEEDED
        return packet

    def _describe(self, counters: list[tuple[int, str]]) -> None:
        """Processes, their tracks in order, and counter tracks."""
        for process, title in enumerate(self.drawing.processes):
            packet = self._packet()
            packet.sequence_flags = STATE_CLEARED if process == 0 else STATE_NEEDED
            track = packet.track_descriptor
            track.uuid = _process_track(process)
            track.process.pid, track.process.process_name = FIRST_PID + process, safe(title)
            track.child_ordering = track.EXPLICIT
        for number, process, name in self.drawing.tracks.select("track", "process", "name").rows():
            track = self._packet().track_descriptor
            track.uuid, track.parent_uuid = _slice_track(number), _process_track(process)
            track.name, track.sibling_order_rank = safe(name), number
        for index, (process, name) in enumerate(counters):
            track = self._packet().track_descriptor
            track.uuid, track.parent_uuid = _counter_track(index), _process_track(process)
            track.name, track.sibling_order_rank = safe(name), len(self.drawing.tracks) + index
            track.counter.unit_name = "us"

    def _slice(self, row: dict[str, Any], out: tuple[int, ...], into: tuple[int, ...]) -> None:
        packet = self._packet(row["start_ns"])
        event = packet.track_event
        event.type, event.track_uuid = BEGIN, _slice_track(row["track"])
        event.name_iid = self._interned(packet, safe(row["name"]))
        event.categories.extend(row["categories"].split(","))
        event.flow_ids.extend(out)
        event.terminating_flow_ids.extend(into)
        for name, value in _notes(row):
            note = event.debug_annotations.add()
            note.name = name
            if isinstance(value, str):
                note.string_value = safe(value)
            else:
                note.int_value = value
        over = self._packet(row["start_ns"] + row["duration_ns"])
        over.track_event.type, over.track_event.track_uuid = END, _slice_track(row["track"])

    def _interned(self, packet: Any, name: str) -> int:
        if name not in self.names:
            self.names[name] = len(self.names) + 1
            entry = packet.interned_data.event_names.add()
            entry.iid, entry.name = self.names[name], name
        return self.names[name]


def _process_track(process: int) -> int:
    return 1_000_000 + process


def _slice_track(number: int) -> int:
    return 2_000_000 + number


def _counter_track(index: int) -> int:
    return 3_000_000 + index


def _flow_ids(drawing: Drawing) -> tuple[dict[int, tuple[int, ...]], dict[int, tuple[int, ...]]]:
    """Flow numbers that leave and that reach each slice."""
    out: dict[int, tuple[int, ...]] = {}
    into: dict[int, tuple[int, ...]] = {}
    for number, (before, after) in enumerate(drawing.flows.select("from_slice", "to_slice").rows(), 1):
        out[before] = (*out.get(before, ()), number)
        into[after] = (*into.get(after, ()), number)
    return out, into


def _notes(row: dict[str, Any]) -> Iterator[tuple[str, int | str]]:
    for name in NOTES:
        if row[name] is not None:
            yield name, row[name]


def chrome(drawing: Drawing) -> bytes:
    """The drawing as Chrome trace JSON; times are exact decimals in us."""
    events = [*_metadata(drawing), *_complete(drawing), *_arrows(drawing), *_values(drawing)]
    text = ",\n".join(events)
    return f'{{"displayTimeUnit": "ns", "traceEvents": [\n{text}\n]}}\n'.encode()


def _event(ph: str, name: str, process: int, track: int, time_ns: int, **rest: object) -> str:
    """One event; `ts` and `dur` are written digit by digit, since a float would lose nanoseconds."""
    fields = {"ph": ph, "name": safe(name), "pid": FIRST_PID + process, "tid": track + 1, **rest}
    return f'{json.dumps(fields, ensure_ascii=False)[:-1]}, "ts": {_us(time_ns)}}}'


def _us(ns: int) -> str:
    return f"{'-' if ns < 0 else ''}{abs(ns) // NS_PER_US}.{abs(ns) % NS_PER_US:03d}"


def _metadata(drawing: Drawing) -> Iterator[str]:
    for process, title in enumerate(drawing.processes):
        yield _event("M", "process_name", process, -1, 0, args={"name": safe(title)})
        yield _event("M", "process_sort_index", process, -1, 0, args={"sort_index": process})
    for number, process, name in drawing.tracks.select("track", "process", "name").rows():
        yield _event("M", "thread_name", process, number, 0, args={"name": safe(name)})
        yield _event("M", "thread_sort_index", process, number, 0, args={"sort_index": number})


def _complete(drawing: Drawing) -> Iterator[str]:
    process = _process_of(drawing.tracks)
    for row in drawing.slices.to_dicts():
        args = {name: safe(value) if isinstance(value, str) else value for name, value in _notes(row)}
        head = _event(
            "X", row["name"], process[row["track"]], row["track"], row["start_ns"], cat=row["categories"], args=args
        )
        yield f'{head[:-1]}, "dur": {_us(row["duration_ns"])}}}'


def _arrows(drawing: Drawing) -> Iterator[str]:
    process = _process_of(drawing.tracks)
    at = {number: (track, start) for number, track, start in drawing.slices.select("slice", "track", "start_ns").rows()}
    for number, pair in enumerate(drawing.flows.select("from_slice", "to_slice").rows(), 1):
        for ph, (track, start), extra in zip("sf", (at[one] for one in pair), ({}, {"bp": "e"}), strict=True):
            yield _event(ph, "critical path", process[track], track, start, cat="critical", id=number, **extra)


def _values(drawing: Drawing) -> Iterator[str]:
    for process, name, time_ns, value in drawing.counters.rows():
        yield _event("C", name, process, -1, time_ns, args={"us": round(value, 6)})


def _process_of(tracks: pl.DataFrame) -> dict[int, int]:
    return dict(tracks.select("track", "process").rows())
