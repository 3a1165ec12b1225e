"""Chrome traces of JAX and TensorFlow: `HOST.trace.json.gz` and `perfetto_trace.json.gz`, viewers' copies of an XSpace.

Source: openxla `tsl/profiler/convert/trace_events_to_json.cc` and `xplane_to_trace_events.cc`: planes are processes,
lines threads, statistics texts in `args`; times are microseconds as doubles with up to 17 digits, taken to whole
picoseconds and cut to nanoseconds as those of the XSpace are. Read: what `xplane` reads of planes and lines. The writer
keeps the first 1,000,000 (since 2024 5,000,000) events; a file of just as many is reported as incomplete.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import msgspec
import polars as pl

from trace_budget.contracts import FileNames, Head, Reader, ReadOptions
from trace_budget.errors import InputError
from trace_budget.readers.chrome_events import EventFile, Ids, Number, Span, read_events, strings, trace_of_events
from trace_budget.readers.csv_trace import NO_MARKERS
from trace_budget.readers.records import Records
from trace_budget.readers.xla import places
from trace_budget.schema.trace import Trace

_PROCESS = re.compile(rb'"args"\s*:\s*\{\s*"name"\s*:\s*"/(?:device:|host:)')
_PS, _NS = 1e6, 1e3  # in a microsecond
# beyond it (2.5 hours) a double holds no whole picoseconds
_FINEST_US = 9e9
_LONGEST_US = float(1 << 62) / _NS
_MOST_EVENTS = (1_000_000, 5_000_000)
_TEXTS = ("name", "title")


class _Args(msgspec.Struct, gc=False, rename={"correlation": "correlation_id"}):
    name: Number = None
    long_name: Number = None
    correlation: Number = None


class _Event(Span, gc=False):
    args: _Args | None = None


_NO_ARGS = _Args()


def _recognises(head: Head) -> bool:
    return head.data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"[") and _PROCESS.search(head.data) is not None


def _columns(events: Sequence[_Event], ids: Ids) -> pl.DataFrame:
    """Spans (X) and the names of processes and threads (M)."""
    rows = [event for event in events if event.ph in ("X", "M")]
    args = [event.args or _NO_ARGS for event in rows]
    named = [event.ph == "M" for event in rows]
    names = [event.name if a.long_name is None else str(a.long_name) for event, a in zip(rows, args, strict=True)]
    titles = [str(a.name) if meta and a.name is not None else None for meta, a in zip(named, args, strict=True)]
    return pl.DataFrame(
        {
            "meta": pl.Series(named, dtype=pl.Boolean),
            "name": strings(names),
            "title": strings(titles),
            "track": ids([event.pid for event in rows]),
            "thread": ids([event.tid for event in rows]),
            "correlation": ids([a.correlation for a in args]),
            "us": _us([event.ts for event in rows]),
            "long_us": _us([event.dur for event in rows]),
        }
    )


def _us(values: Sequence[Number]) -> pl.Series:
    """Microseconds as the doubles they were written from; null for what is no time."""
    texts = any(isinstance(value, str) for value in values)
    us = pl.Series([None if value is None else str(value) for value in values] if texts else values, strict=False)
    us = us.cast(pl.Float64, strict=False)
    return us.to_frame("us").select(pl.when(pl.col("us").is_between(0, _LONGEST_US)).then("us")).to_series()


def _read(path: Path, options: ReadOptions) -> Trace:
    file = read_events(path, _Event, _columns, texts=_TEXTS)
    spans = _placed(file.frame)
    device = spans.filter(pl.col("device").is_not_null())
    ops = _work(device)
    if not ops.height:
        found = f"processes {', '.join(map(ascii, spans['process'].drop_nulls().unique().sort().head(6))) or 'none'}"
        raise InputError("no device work", where=str(path), expected="threads of /device:GPU:N", found=found)
    records = Records(ops, _calls(spans), _steps(device), ("correlation",), earliest_ns=0)
    facts = {"resolution_ns": _grid_ns(spans["us"]), "dispatch_gap_in_duration": False}
    return trace_of_events(_capped(file, spans.height), "xla_json", records, **facts)


def _grid_ns(us: pl.Series) -> int:
    """How far doubles of this size lie apart."""
    latest = us.max()
    return max(1, math.ceil(math.ulp(latest) * _NS)) if isinstance(latest, float) else 1


def _capped(file: EventFile, spans: int) -> EventFile:
    """The file, incomplete when the writer kept as many events as it ever keeps."""
    reason = f"it holds just the {spans:,} events that its writer keeps; the .xplane.pb beside it holds all"
    return replace(file, damage=reason) if spans in _MOST_EVENTS and not file.damage else file


def _placed(frame: pl.DataFrame) -> pl.DataFrame:
    """Spans with the texts of their process and thread, the device of the process, and times in ns."""
    name, title = pl.col("name").cast(pl.String), pl.col("title").cast(pl.String)
    meta = frame.filter("meta").select(what=name, title=title, track="track", thread="thread")
    processes = meta.filter(pl.col("what") == "process_name").unique("track", keep="first")
    threads = meta.filter(pl.col("what") == "thread_name").unique(["track", "thread"], keep="first")
    number = pl.col("title").str.extract(places.DEVICE, 1)
    spans = (
        frame.filter(~pl.col("meta"))
        .drop("title")
        .join(
            processes.select("track", process="title", device=number.cast(pl.Int64, strict=False)),
            on="track", how="left", maintain_order="left",
        )
        .join(
            threads.select("track", "thread", line="title"),
            on=["track", "thread"], how="left", maintain_order="left",
        )
    )  # fmt: skip
    return spans.with_columns(_times())


def _times() -> tuple[pl.Expr, pl.Expr]:
    """Start and end: whole picoseconds cut to ns; of a clock beyond 2.5 hours, whose doubles are coarser, rounded."""
    us, long_us = pl.col("us"), pl.col("long_us")
    start_ps = (us * _PS).round().cast(pl.Int64, strict=False)
    end_ps = start_ps + (long_us * _PS).round().cast(pl.Int64, strict=False)
    start_ns = us.floor().cast(pl.Int64, strict=False) * 1_000 + ((us - us.floor()) * _NS).round().cast(pl.Int64)
    end_ns = start_ns + (long_us * _NS).round().cast(pl.Int64, strict=False)
    fine = us + long_us < _FINEST_US
    return (
        pl.when(us < _FINEST_US).then(start_ps // 1_000).otherwise(start_ns).alias("start_ns"),
        pl.when(fine).then(end_ps // 1_000).otherwise(end_ns).alias("end_ns"),
    )


def _work(device: pl.DataFrame) -> pl.DataFrame:
    """Device work: what runs on streams, or, on a device without streams, the ops of XLA."""
    line, name = pl.col("line").cast(pl.String), pl.col("name").cast(pl.String)
    stream = line.str.extract(places.STREAM, 1).cast(pl.Int64, strict=False)
    rows = device.with_columns(stream.alias("stream"))
    streams = pl.col("stream").is_not_null()
    chosen = rows.filter(pl.when(streams.any().over("device")).then(streams).otherwise(line == places.OPS))
    copy = pl.when(name.str.contains(places.COPY)).then(pl.lit("memcpy"))
    fill = copy.when(name.str.contains(places.FILL)).then(pl.lit("memset"))
    return chosen.select(
        fill.otherwise(pl.lit("kernel")).alias("kind"), "name", "device", pl.col("stream").fill_null(0),
        "start_ns", "end_ns", "correlation", pl.lit(None, pl.Int64).alias("pid"),
    )  # fmt: skip


def _calls(spans: pl.DataFrame) -> pl.DataFrame:
    """Driver and runtime calls of the host: spans with a correlation id, by thread."""
    called = pl.col("correlation").is_not_null() & pl.col("name").cast(pl.String).str.contains(places.CALL)
    host = spans.filter(pl.col("process").str.starts_with(places.HOST) & called)
    return host.select("name", "start_ns", "end_ns", "correlation", pid="track", tid="thread")


def _steps(device: pl.DataFrame) -> pl.DataFrame:
    """A range on the device for each span of its line `Steps`."""
    steps = device.filter(pl.col("line") == places.STEPS)
    if not steps.height:
        return NO_MARKERS
    text = pl.concat_str(pl.lit("step[#"), pl.col("name").cast(pl.String), pl.lit("]"))
    nothing = pl.lit(None, pl.Int64)
    return steps.select(
        pl.lit("gpu_annotation").alias("kind"), text.alias("name"), nothing.alias("pid"), nothing.alias("tid"),
        pl.col("device").cast(pl.Int32, strict=False), "start_ns", "end_ns",
    )  # fmt: skip


READER = Reader(
    name="xla_json",
    title="Chrome traces of JAX and TensorFlow (*.trace.json.gz)",
    recognised_by="JSON events of processes named /device: or /host:",
    cannot_tell="grids; graph nodes; launches where events have no correlation id",
    recognises=_recognises,
    read=_read,
    suffixes=(".json",),
    writers={"xla": 1},
    names=FileNames(output="trace", page_of=places.is_copy),
)
