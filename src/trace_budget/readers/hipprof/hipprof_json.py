"""hipprof timelines of Hygon's DTK: Chrome JSON (`--output-type 0`) and the HTML page around it (`--output-type 1`).

Categories: HIPOPS kernels, HIPCOPY copies and fills, HIP runtime calls, HIPTX ranges. Exact ns stand in `args` as text,
`ts` counts from the recording's start; `index` names a launch, and all work it started carries it. There is no public
specification; the layout is the one seen in files of DTK 25. Ignored: HSA calls, flows (index says the same).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import msgspec
import polars as pl

from trace_budget.contracts import FileNames, Head, Reader, ReadOptions
from trace_budget.io.inflate import PlainStream
from trace_budget.readers.chrome_events import (
    Ids,
    Number,
    Span,
    integers,
    ns_of_us,
    read_events,
    strings,
    trace_of_events,
    without_kernels,
)
from trace_budget.readers.processes import keys_of, with_processes
from trace_budget.readers.records import Records
from trace_budget.schema.trace import Trace

_CATEGORY = re.compile(rb'"cat"\s*:\s*"HIP(?:OPS|COPY|TX)?"')
_PAGE = re.compile(rb"\A(?:\xef\xbb\xbf)?\s*<(?:!DOCTYPE|html)", re.IGNORECASE)
_IN_PAGE = re.compile(rb"""\bstr\s*=\s*['"`](?=\s*\{\s*"traceEvents"\s*:\s*\[)""")
_COPY_NAMES = {"H2H": "HostToHost", "H2D": "HostToDevice", "D2H": "DeviceToHost", "D2D": "DeviceToDevice"}
_PROCESS, _DEVICE = r"pid:\s*(\d+)", r" on Device (\d+)"
_RECORD = "Record with: hipprof --hip-trace --output-type 0 COMMAND"
_SEVERAL = "Read the database of the run, or export it with the process of each row: hipprof --db FILE.db --show-pid"
_TIMES = ("start_ns", "end_ns")
_HEAD_BYTES = 1 << 10


class _Args(msgspec.Struct, gc=False, rename={"begin": "BeginNs", "end": "EndNs", "device": "devId", "bytes": "Bytes"}):
    begin: Number = None
    end: Number = None
    device: Number = None
    queue: Number = msgspec.field(name="queueId", default=None)
    process: Number = msgspec.field(name="procId", default=None)
    index: Number = None
    bytes: Number = None
    name: Number = None


class _Event(Span, gc=False):
    cat: str | None = None
    args: _Args | None = None


_NO_ARGS = _Args()


def _recognises(head: Head) -> bool:
    if _PAGE.match(head.data):
        return b"DTK://tracing" in head.data or _IN_PAGE.search(head.data) is not None
    return head.data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"[") and _CATEGORY.search(head.data) is not None


def _columns(events: Sequence[_Event], ids: Ids) -> pl.DataFrame:
    """Spans (X) of hipprof's categories, and the names of processes (M)."""
    rows = [event for event in events if event.ph == "M" or (event.ph == "X" and str(event.cat).startswith("HIP"))]
    args = [event.args or _NO_ARGS for event in rows]
    relative, length = ns_of_us([event.ts for event in rows]), ns_of_us([event.dur for event in rows])
    titles = [str(a.name) if event.ph == "M" else None for event, a in zip(rows, args, strict=True)]
    fields = {
        "cat": strings([event.cat or "" for event in rows]),
        "name": strings([event.name for event in rows]),
        "lane": strings([str(event.tid) for event in rows]),
        "track": ids([event.pid for event in rows]),
        "title": strings(titles),
        "number": ids.trailing([event.tid for event in rows]),
        "begin": integers([a.begin for a in args]),
        "end": integers([a.end for a in args]),
        "relative": relative,
        "length": length,
        "device": ids([a.device for a in args]),
        "queue": ids([a.queue for a in args]),
        "pid": ids([a.process for a in args]),
        "correlation": ids([a.index for a in args]),
        "bytes": ids([a.bytes for a in args]),
    }
    return pl.DataFrame(fields)


def _read(path: Path, options: ReadOptions) -> Trace:
    with PlainStream(path) as plain:
        page = _PAGE.match(plain.read(_HEAD_BYTES)) is not None
    file = read_events(path, _Event, _columns, texts=("cat", "name", "lane", "title"), after=_IN_PAGE if page else None)
    spans = _timed(_with_processes(file.frame))
    category = pl.col("cat").cast(pl.String)
    ops = _device_work(spans.filter(category.is_in(("HIPOPS", "HIPCOPY"))))
    if not ops.filter(pl.col("kind") == "kernel").height:
        raise without_kernels(file, spans.height, "of category HIPOPS", _RECORD)
    host = spans.with_columns(pl.col("number").alias("tid"))
    calls = host.filter(category == "HIP").select("name", "pid", "tid", "correlation", *_TIMES)
    ranges = host.filter(category == "HIPTX").select("name", "pid", "tid", *_TIMES)
    ops, unsure = with_processes(ops, calls, ("device",), str(path), _SEVERAL)
    return trace_of_events(
        file,
        "hipprof_json",
        Records(
            ops,
            calls,
            ranges.with_columns(pl.lit("annotation").alias("kind")),
            keys_of(ops, calls),
            caveats=unsure,
        ),
        vendor="Hygon",
    )


def _with_processes(frame: pl.DataFrame) -> pl.DataFrame:
    """Spans with the process and device their track is named after where `args` do not give them (old releases)."""
    title = pl.col("title").cast(pl.String)
    titled, device = (title.str.extract(text, 1).cast(pl.Int64, strict=False) for text in (_PROCESS, _DEVICE))
    processes = frame.filter(pl.col("name").cast(pl.String) == "process_name")
    titles = processes.select("track", titled.alias("titled_pid"), device.alias("titled_device"))
    spans = frame.filter(pl.col("cat").cast(pl.String) != "").drop("title")
    joined = spans.join(titles.unique("track", keep="first"), on="track", how="left", maintain_order="left")
    filled = (pl.coalesce(name, f"titled_{name}").alias(name) for name in ("pid", "device"))
    return joined.with_columns(filled)


def _timed(spans: pl.DataFrame) -> pl.DataFrame:
    """Exact times from `args`; for spans without them, `ts` moved by what other spans say lies between the two."""
    offsets = (spans["begin"] - spans["relative"]).drop_nulls().sort()
    offset = offsets[offsets.len() // 2] if offsets.len() else 0
    exact = pl.col("begin").is_not_null()
    start = pl.col("relative") + offset
    return spans.with_columns(
        pl.when(exact).then(pl.col("begin")).otherwise(start).alias("start_ns"),
        pl.when(exact).then(pl.col("end")).otherwise(start + pl.col("length")).alias("end_ns"),
    )


def _device_work(work: pl.DataFrame) -> pl.DataFrame:
    lane, is_copy = pl.col("lane").cast(pl.String), pl.col("cat").cast(pl.String) == "HIPCOPY"
    fill = is_copy & (lane == "SET")
    direction = lane.replace_strict(_COPY_NAMES, default=None, return_dtype=pl.String)
    copy_name = pl.when(fill).then(pl.lit("Memset")).otherwise(pl.concat_str(pl.lit("Copy"), direction))
    name = pl.when(is_copy).then(pl.coalesce(copy_name, pl.col("name").cast(pl.String)))
    kind = pl.when(fill).then(pl.lit("memset")).when(is_copy).then(pl.lit("memcpy")).otherwise(pl.lit("kernel"))
    stream = pl.when(lane.str.contains(r"^(?:Stream ?)?\d+$")).then(pl.col("number")).otherwise(pl.col("queue"))
    return work.select(
        kind.alias("kind"),
        name.otherwise(pl.col("name").cast(pl.String)).alias("name"),
        stream.alias("stream"),
        *("device", "queue", "pid", "correlation", "bytes", *_TIMES),
    )


READER = Reader(
    name="hipprof_json",
    title="hipprof timeline (Hygon DTK): JSON or HTML",
    recognised_by='event categories HIPOPS, HIP, HIPCOPY, HIPTX; or a page "DTK://tracing" around them',
    cannot_tell="grid and block; streams apart from queues; the device's name",
    recognises=_recognises,
    read=_read,
    suffixes=(".json", ".html"),
    writers={"hipprof": 1},
    names=FileNames(output="hiptrace|kernel|stream"),
)
