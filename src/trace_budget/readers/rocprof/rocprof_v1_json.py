"""rocprof (version 1) results.json: Chrome trace of `--stats`, `--hip-trace`, `--roctx-trace`, with exact ns in `args`.

Its list starts with an empty object, `ts` and `dur` are texts of whole microseconds, names are not escaped, and a
killed run leaves it open. A kernel can stand in two sections (dispatches and HIP activity): one row is kept. Source:
ROCm/rocprofiler `bin/dform.py`. Ignored: HSA calls, barriers, counters, and flows, whose ends are whole microseconds
that several calls and kernels share: the results.db of the run links launches exactly.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import msgspec
import polars as pl

from trace_budget.contracts import FileNames, Head, Reader, ReadOptions
from trace_budget.readers.chrome_events import (
    Ids,
    Number,
    Span,
    integers,
    ns_of_whole_us,
    read_events,
    strings,
    trace_of_events,
    without_kernels,
)
from trace_budget.readers.records import Records
from trace_budget.readers.work_kinds import is_no_work, kind_of
from trace_budget.schema import caveats
from trace_budget.schema.trace import Caveat, Trace
from trace_budget.units import NS_PER_US

_START = re.compile(rb'\A(?:\xef\xbb\xbf)?\s*\{\s*"traceEvents"\s*:\s*\[\s*\{\s*\}')
_OWN = re.compile(rb'"process_name"\s*,\s*"sort_index"|"BeginNs"')
_HIPPROF = re.compile(rb'"cat"\s*:\s*"HIP(?:OPS|COPY|TX)?"')
_MARKERS, _COPIES, _CALLS, _ACTIVITY, _FIRST_GPU, _BARRIERS = 0, 1, 2, 5, 6, 512
_TIMES = ("start_ns", "end_ns")
_PLACE = ("device", "queue", "stream", "pid")
_SAME = ["start_ns", "end_ns", "device", "queue"]
_COPY_TYPE = "MEMORY_COPY"
_SECTION, _NTH = "is_activity", "nth"
_RECORD = "Record with: rocprof --hip-trace --roctx-trace --timestamp on COMMAND (or, better, rocprofv3 --kernel-trace)"
_ARGS = {
    "begin": "BeginNs",
    "end": "EndNs",
    "dev_id": "dev-id",
    "gpu_id": "gpu-id",
    "queue_id": "queue-id",
    "stream_id": "stream-id",
}


class _Args(msgspec.Struct, gc=False, rename=_ARGS):
    begin: Number = None
    end: Number = None
    dev_id: Number = None
    gpu_id: Number = None
    queue_id: Number = None
    stream_id: Number = None
    pid: Number = None
    tid: Number = None
    grd: Number = None
    wgr: Number = None


class _Event(Span, gc=False):
    args: _Args | None = None


_NO_ARGS = _Args()


def _recognises(head: Head) -> bool:
    return bool(_START.match(head.data) and _OWN.search(head.data)) and not _HIPPROF.search(head.data)


def _columns(events: Sequence[_Event], ids: Ids) -> pl.DataFrame:
    """The spans; the event's pid is the section of the file."""
    rows = [event for event in events if event.ph == "X"]
    args = [event.args or _NO_ARGS for event in rows]
    start_us, length_us = integers([event.ts for event in rows]), integers([event.dur for event in rows])
    begin, end = integers([a.begin for a in args]), integers([a.end for a in args])
    fields = {
        "name": strings([event.name for event in rows]),
        "section": ids([event.pid for event in rows]),
        "exact": begin.is_not_null(),
        "start_ns": begin.zip_with(begin.is_not_null(), ns_of_whole_us(start_us)),
        "end_ns": end.zip_with(begin.is_not_null(), ns_of_whole_us(start_us + length_us)),
        "device": ids([a.gpu_id if a.dev_id is None else a.dev_id for a in args]),
        "queue": ids([a.queue_id for a in args]),
        "stream": ids([a.stream_id for a in args]),
        "pid": ids([a.pid for a in args]),
        "tid": ids([event.tid if a.tid is None else a.tid for event, a in zip(rows, args, strict=True)]),
        "grid_x": ids([a.grd for a in args]),
        "block_x": ids([a.wgr for a in args]),
    }
    return pl.DataFrame(fields)


def _read(path: Path, options: ReadOptions) -> Trace:
    file = read_events(path, _Event, _columns)
    work, doubled = _once(_device_work(file.frame))
    if not work.filter(pl.col("kind") == "kernel").height:
        raise without_kernels(file, file.frame.height, "of a kernel", _RECORD)
    unknown = pl.lit(None, pl.Int64).alias("correlation")
    calls = file.frame.filter(pl.col("section") == _CALLS)
    ranges = file.frame.filter(pl.col("section") == _MARKERS)
    records = Records(
        work.select("kind", "name", unknown, *_PLACE, "grid_x", "block_x", *_TIMES),
        calls.select("name", "pid", "tid", unknown, *_TIMES),
        ranges.select(pl.lit("annotation").alias("kind"), "name", "pid", "tid", *_TIMES),
        ("correlation",),
        caveats=doubled,
    )
    return trace_of_events(
        file,
        "rocprof_v1_json",
        records,
        vendor="AMD",
        resolution_ns=1 if work["exact"].all() else NS_PER_US,
    )


def _device_work(spans: pl.DataFrame) -> pl.DataFrame:
    section = pl.col("section")
    on_device = (section == _COPIES) | (section == _ACTIVITY) | section.is_between(_FIRST_GPU, _BARRIERS - 1)
    name = pl.col("name").cast(pl.String)
    copies = pl.when(section == _COPIES).then(kind_of(name, pl.lit(_COPY_TYPE)))
    kind = copies.otherwise(kind_of(name)).alias("kind")
    number = pl.when(section >= _FIRST_GPU).then(section - _FIRST_GPU)
    work = spans.filter(on_device & ~is_no_work(name).fill_null(value=False))
    return work.with_columns(kind, pl.coalesce("device", number).alias("device"))


def _once(work: pl.DataFrame) -> tuple[pl.DataFrame, tuple[Caveat, ...]]:
    """One row per execution: that of the dispatch where there are two, with the stream that only the other knows."""
    if not work.select(pl.struct(_SAME).is_duplicated().any()).item():
        return work, ()
    dispatches_first = work.with_columns(pl.col("grid_x").is_null().alias(_SECTION)).sort(_SECTION, maintain_order=True)
    # A section repeats a row only with its name; other rows of equal times are kernels of their own.
    rows = dispatches_first.unique([*_SAME, _SECTION, "name"], keep="first", maintain_order=True)
    rows = rows.with_columns(pl.int_range(pl.len()).over(*_SAME, _SECTION).alias(_NTH))
    facts = [pl.col(name).drop_nulls().first() for name in work.columns if name not in _SAME]
    merged = rows.group_by([*_SAME, _NTH], maintain_order=True).agg(facts).drop(_NTH)
    return merged, caveats.duplicates(work.height - merged.height)


READER = Reader(
    name="rocprof_v1_json",
    title="rocprof v1 results.json",
    recognised_by='"traceEvents" that start with an empty object, and BeginNs in args',
    cannot_tell="which call launched which kernel; grid and block beyond their products",
    recognises=_recognises,
    read=_read,
    suffixes=(".json",),
    writers={"rocprof": 1},
    names=FileNames(output="results"),
)
