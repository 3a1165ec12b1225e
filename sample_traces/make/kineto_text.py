"""Writes a sample as PyTorch Kineto JSON, in the layouts and the eras that exist; times are printed from integers."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from sample_traces.make.timeline import Call, Device, GpuOp, Range, Sync, Timeline

_GPU_CATEGORY = {"kernel": "kernel", "memcpy": "gpu_memcpy", "memset": "gpu_memset"}


@dataclass(frozen=True, slots=True)
class Style:
    """How a profiler of some era prints: `ticks` prints a time in us, `native` is libkineto's own layout.

    `head_first` is false for the years when the metadata followed the events; `bare_list` drops it altogether.
    """

    ticks: Callable[[int], str]
    native: bool = True
    head_first: bool = True
    bare_list: bool = False


def three_decimals(ns: int) -> str:
    """Microseconds as libkineto prints them: 7.040."""
    return f"{ns // 1000}.{ns % 1000:03d}"


def shortest(ns: int) -> str:
    """Microseconds as a JSON library prints a float: 7.04, 12.0."""
    digits = f"{ns % 1000:03d}".rstrip("0")
    return f"{ns // 1000}.{digits or '0'}"


def whole_us(ns: int) -> str:
    """Microseconds of the integer era; the sample's own times must already lie on that grid."""
    if ns % 1000:
        raise ValueError(f"{ns} ns is not a whole number of microseconds")
    return str(ns // 1000)


def kineto_text(timeline: Timeline, style: Style) -> str:
    """The whole file."""
    body = [_row(fields, style) for fields in _events(timeline, style.ticks)]
    if style.bare_list:
        return "[" + ", ".join(body) + "]"
    head = [f'"{key}": {json.dumps(value)}' for key, value in _head(timeline.device).items()]
    tail = ['"traceName": "/tmp/trace.json"']
    joiner, opening = (",\n  ", "\n  ") if style.native else (", ", "")
    events = f'"traceEvents": [{opening}{joiner.join(body)}{opening}]'
    parts = [*head, events, *tail] if style.head_first else [head[0], head[1], events, *head[2:], *tail]
    return "{" + opening + joiner.join(parts) + ("\n}\n" if style.native else "}")


def gzipped(text: str) -> bytes:
    """The same bytes on every run: no name and no time in the gzip header."""
    return gzip.compress(text.encode(), compresslevel=9, mtime=0)


def _head(device: Device) -> dict[str, object]:
    properties = [{"id": i, "name": device.name, **device.properties} for i in range(device.count)]
    return {"schemaVersion": 1, "deviceProperties": properties, **device.metadata}


def _row(fields: Mapping[str, object], style: Style) -> str:
    """One event. Values of class `_Raw` are printed as they are, everything else as JSON."""
    printed = [f'"{key}": {value if isinstance(value, _Raw) else json.dumps(value)}' for key, value in fields.items()]
    if not style.native:
        return "{" + ", ".join(printed) + "}"
    lines, rest = [], printed
    for width in (5, 2, len(printed)):
        lines.append(", ".join(rest[:width]))
        rest = rest[width:]
    return "{\n    " + ",\n    ".join(line for line in lines if line) + "\n  }"


class _Raw(str):
    """Text that is JSON already: a number whose digits must not pass through a float."""

    __slots__ = ()


def _events(timeline: Timeline, ticks: Callable[[int], str]) -> Iterator[dict[str, object]]:
    """Host ranges, host calls with their arrows, then the device side in order of time, then names of rows."""
    printer = _Printer(timeline, ticks)
    yield from (printer.range(index, row) for index, row in enumerate(timeline.ranges))
    for call in timeline.calls:
        yield printer.call(call)
        if call.enqueues:
            yield printer.arrow("s", call.correlation, timeline.pid, timeline.pid, call.start_ns)
    for row in sorted((*timeline.ops, *timeline.syncs), key=lambda row: row.start_ns):
        if isinstance(row, Sync):
            yield printer.sync(row)
            continue
        yield printer.op(row)
        yield printer.arrow("f", row.correlation, timeline.device.pid, row.stream, row.start_ns)
    yield from printer.names()


@dataclass(frozen=True, slots=True)
class _Printer:
    timeline: Timeline
    ticks: Callable[[int], str]

    def _times(self, start_ns: int, end_ns: int) -> dict[str, object]:
        return {"ts": _Raw(self.ticks(start_ns)), "dur": _Raw(self.ticks(end_ns - start_ns))}

    def _complete(
        self, category: str, name: str, pid: int, tid: int, row: Range | Call | GpuOp | Sync
    ) -> dict[str, object]:
        head = {"ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid}
        return {**head, **self._times(row.start_ns, row.end_ns)}

    def range(self, index: int, row: Range) -> dict[str, object]:
        pid = self.timeline.pid
        args = {"External id": index + 1, "Record function id": 0, "Ev Idx": index}
        return {**self._complete(row.category, row.name, pid, pid, row), "args": args}

    def call(self, row: Call) -> dict[str, object]:
        pid = self.timeline.pid
        args = {**row.args, "correlation": row.correlation}
        return {**self._complete(row.category, row.name, pid, pid, row), "args": args}

    def op(self, row: GpuOp) -> dict[str, object]:
        category = _GPU_CATEGORY[row.kind]
        return {**self._complete(category, row.name, self.timeline.device.pid, row.stream, row), "args": row.args}

    def sync(self, row: Sync) -> dict[str, object]:
        args = {"cuda_sync_kind": row.name, **row.args, "correlation": row.correlation, "device": 0, "context": 1}
        return {**self._complete("cuda_sync", row.name, self.timeline.device.pid, row.stream, row), "args": args}

    def arrow(self, phase: str, correlation: int, pid: int, tid: int, at_ns: int) -> dict[str, object]:
        fields = {"ph": phase, "id": correlation, "pid": pid, "tid": tid, "ts": _Raw(self.ticks(at_ns))}
        end = {"bp": "e"} if phase == "f" else {}
        return {**fields, "cat": "ac2g", "name": "ac2g", **end}

    def names(self) -> Iterator[dict[str, object]]:
        timeline, first = self.timeline, min(row.start_ns for row in self.timeline.ranges)
        at, device, pid = _Raw(self.ticks(first)), timeline.device.pid, timeline.pid
        last = max(op.end_ns for op in timeline.ops) if timeline.ops else max(row.end_ns for row in timeline.ranges)
        rows = [(pid, 0, "process_name", "name", "python3"), (pid, 0, "process_labels", "labels", "CPU")]
        rows += [
            (device, 0, "process_name", "name", "python3"),
            (device, 0, "process_labels", "labels", f"GPU {device}"),
        ]
        rows += [(device, s, "thread_name", "name", f"stream {s} ") for s in sorted({op.stream for op in timeline.ops})]
        for row_pid, tid, kind, key, value in rows:
            yield {"name": kind, "ph": "M", "ts": at, "pid": row_pid, "tid": tid, "args": {key: value}}
        span = {"ph": "X", "cat": "Trace", "ts": at, "dur": _Raw(self.ticks(last - first)), "pid": "Spans"}
        yield {**span, "tid": "PyTorch Profiler", "name": "PyTorch Profiler (0)", "args": {"Op count": 0}}
        mark = {"name": "Record Window End", "ph": "i", "s": "g", "pid": "", "tid": ""}
        yield {**mark, "ts": _Raw(self.ticks(last))}
