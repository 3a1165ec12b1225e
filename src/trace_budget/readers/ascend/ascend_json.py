"""Ascend NPU: `trace_view.json` of torch_npu's profiler, and `msprof_*.json` of msprof, Chrome JSON as a bare list.

Source: Ascend/pytorch `torch_npu/profiler/analysis` (ranges and operators of the framework, flows) and Ascend/msprof
`analysis/csrc/application/timeline` (tasks, calls, collectives). Read: tasks of the processes `Ascend Hardware`,
collectives of `Communication` (before: `HCCL`), calls of `CANN`, ranges of the framework. Times of the device and of
CANN are microseconds as text with three decimals, those of the framework doubles. Not read: overlap analysis, stacks,
counters, the parts a collective is made of. No real file was at hand: docs/formats/ascend.md lists what is on trust.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path

import msgspec
import polars as pl

from trace_budget.contracts import FileNames, Head, Reader, ReadOptions
from trace_budget.errors import InputError
from trace_budget.readers.ascend import launched, tasks
from trace_budget.readers.chrome_events import Ids, Number, Span, ns_of_us, read_events, strings, trace_of_events
from trace_budget.readers.records import Records
from trace_budget.schema.trace import Trace

_MARKS = re.compile(
    rb'"args"\s*:\s*\{\s*"name"\s*:\s*"(?:Ascend Hardware|CANN)"'
    rb'|"cat"\s*:\s*"cpu_op"\s*,\s*"args"\s*:\s*\{\s*"Sequence number"\s*:'
    rb'|"cat"\s*:\s*"(?:async_npu|async_task_queue|HostToDevice)"'
)
_HARDWARE, _CANN, _COLLECTIVES = "Ascend Hardware", "CANN", ("Communication", "HCCL")
# what the framework calls its own operators; every other range is the user's or the engine's
_OPERATOR = re.compile(r".*::|(?:aclnn|acl_|npu_)\w|\w+Backward\d*$|(?:En|De)queue\b")
_NO_ID = (1 << 32) - 1
_SHIFT, _DEVICES = 1 << 10, 1 << 5  # process << 10 | place << 5 | device
_TEXTS = ("name", "cat", "title", "label", "task", "phase")


class _Args(
    msgspec.Struct,
    gc=False,
    rename={"task": "Task Type", "model": "Model Id", "connection": "connection_id", "bytes": "size(B)"},
):
    name: Number = None
    labels: Number = None
    task: Number = None
    model: Number = None
    connection: Number = None
    bytes: Number = None


class _Event(Span, gc=False):
    cat: str | None = None
    id: Number = None
    args: _Args | None = None


_NO_ARGS = _Args()


def _recognises(head: Head) -> bool:
    return head.data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"[") and _MARKS.search(head.data) is not None


def _is_wanted(event: _Event) -> bool:
    """Tasks and calls, ranges that are no operators, flows from operators to tasks, names of processes."""
    if event.ph == "X":
        args = event.args or _NO_ARGS
        if args.task is not None or args.connection is not None:
            return True
        return event.cat == "cpu_op" and event.name is not None and _OPERATOR.match(event.name) is None
    if event.ph == "M":
        return event.name in ("process_name", "process_labels")
    return event.ph in ("s", "f") and event.cat == "async_npu"


def _columns(events: Sequence[_Event], ids: Ids) -> pl.DataFrame:
    rows = list(filter(_is_wanted, events))
    args = [event.args or _NO_ARGS for event in rows]
    fields = {
        "phase": strings([event.ph for event in rows]),
        "name": strings([event.name for event in rows]),
        "cat": strings([event.cat or "" for event in rows]),
        "title": _words([a.name for a in args]),
        "label": _words([a.labels for a in args]),
        "task": _words([a.task for a in args]),
        "track": ids([event.pid for event in rows]),
        "thread": ids([event.tid for event in rows]),
        "flow": ids([event.id if event.ph in ("s", "f") else None for event in rows]),
        "model": ids([a.model for a in args]),
        "connection": ids([a.connection for a in args]),
        "bytes": ids([a.bytes for a in args]),
        "start_ns": ns_of_us([event.ts for event in rows]),
        "length_ns": _lengths([event.dur for event in rows]),
        "exact": pl.Series([not isinstance(event.ts, float) for event in rows], dtype=pl.Boolean),
    }
    return pl.DataFrame([series.alias(name) for name, series in fields.items()])


def _words(values: Sequence[Number]) -> pl.Series:
    return strings([None if value is None else str(value) for value in values])


def _lengths(values: Sequence[Number]) -> pl.Series:
    """Whole ns of lengths in microseconds, which older writers print as doubles (14.719999999)."""
    us = _words(values).cast(pl.Float64, strict=False)
    known = pl.when(pl.col("us").is_between(0, 1e12)).then(pl.col("us") * 1_000)
    return us.to_frame("us").select(known.round().cast(pl.Int64)).to_series()


def _read(path: Path, options: ReadOptions) -> Trace:
    file = read_events(path, _Event, _columns, texts=_TEXTS)
    spans = _placed(file.frame)
    work = launched.with_replays(_tasks(spans))
    ops = pl.concat([_device_work(work, _collectives(spans)), _collectives(spans)], how="diagonal_relaxed")
    if not ops.filter(pl.col("kind") == "kernel").height:
        found = f"{work.height} tasks of '{_HARDWARE}', none of them work"
        raise InputError("no kernels", where=str(path), expected=READER.recognised_by, found=found)
    calls, ranges = _calls(spans), _ranges(spans)
    flows = spans.filter(pl.col("phase").cast(pl.String) != "X").with_columns(pl.col("phase").cast(pl.String))
    device = launched.device_steps(ops, calls, ranges, flows)
    records = Records(
        ops.select(_OP_COLUMNS).rename({"connection": "correlation"}),
        calls.rename({"connection": "correlation"}),
        _markers(ranges, device),
        ("correlation",),
    )
    facts = {"vendor": "Ascend", "resolution_ns": _grid_ns(work), "dispatch_gap_in_duration": False}
    return trace_of_events(file, "ascend_json", records, **facts)


_OP_COLUMNS = ("kind", "name", "device", "stream", "pid", "connection", "bytes", "start_ns", "end_ns")


def _placed(frame: pl.DataFrame) -> pl.DataFrame:
    """Spans and flows with the title of their process, its number, the device behind it, and their end."""
    name, title = pl.col("name").cast(pl.String), pl.col("title").cast(pl.String)
    meta = frame.filter(pl.col("phase").cast(pl.String) == "M")
    first = {"on": "track", "how": "left", "maintain_order": "left"}
    titles = meta.filter(name == "process_name").unique("track", keep="first").select("track", process=title)
    number = pl.col("label").cast(pl.String).str.extract(r"^NPU (\d{1,9})$", 1).cast(pl.Int64, strict=False)
    labels = meta.filter(name == "process_labels").unique("track", keep="first").select("track", labelled=number)
    packed = pl.col("track") >= _SHIFT
    others = frame.filter(pl.col("phase").cast(pl.String) != "M")
    spans = others.join(titles, **first).join(labels, **first)  # type: ignore[arg-type]
    return spans.with_columns(
        pl.coalesce("labelled", pl.when(packed).then(pl.col("track") % _DEVICES)).alias("device"),
        pl.when(packed).then(pl.col("track") // _SHIFT).alias("owner"),
        (pl.col("start_ns") + pl.col("length_ns")).alias("end_ns"),
        *(pl.when(pl.col(one).is_between(0, _NO_ID, closed="left")).then(one) for one in ("model", "connection")),
    )


def _tasks(spans: pl.DataFrame) -> pl.DataFrame:
    """What ran or waited on a device; its stream is its lane."""
    on_device = (pl.col("process") == _HARDWARE) & pl.col("task").is_not_null()
    return spans.filter(on_device).with_columns(stream="thread", pid="owner")


def _collectives(spans: pl.DataFrame) -> pl.DataFrame:
    """Collectives as wholes, one name for all calls of one kind; their parts have no connection."""
    name = tasks.without_number(pl.col("name").cast(pl.String))
    rows = spans.filter(
        (pl.col("phase").cast(pl.String) == "X")
        & pl.col("process").is_in(_COLLECTIVES)
        & pl.col("task").is_null()
        & pl.col("connection").is_not_null()
    )
    return rows.with_columns(
        name.alias("name"), pl.lit("kernel").alias("kind"), pl.lit(None, pl.Int64).alias("stream"), pid="owner"
    )


def _device_work(rows: pl.DataFrame, collectives: pl.DataFrame) -> pl.DataFrame:
    """Tasks that are work, without the copies and kernels that a collective is made of."""
    name, task = pl.col("name").cast(pl.String), pl.col("task").cast(pl.String)
    kind = tasks.kind_of(name, task)
    inside = pl.col("connection").is_in(collectives["connection"].unique().implode()).fill_null(value=False)
    part = inside & ((kind != "kernel") | name.str.contains("^hcom_").fill_null(value=False))
    work = rows.filter(~tasks.is_no_work(name, task) & ~part)
    return work.with_columns(kind.alias("kind"), name.alias("name"))


def _calls(spans: pl.DataFrame) -> pl.DataFrame:
    """Calls of ACL and the runtime: `AscendCL@aclrtMemcpyAsync`, `Node@launch`."""
    called = (pl.col("process") == _CANN) & (pl.col("phase").cast(pl.String) == "X")
    return spans.filter(called).select("name", "start_ns", "end_ns", "connection", pid="owner", tid="thread")


def _ranges(spans: pl.DataFrame) -> pl.DataFrame:
    """Ranges of the framework on host threads."""
    ranges = spans.filter((pl.col("cat").cast(pl.String) == "cpu_op") & pl.col("task").is_null())
    return ranges.select("name", "start_ns", "end_ns", pid="track", tid="thread")


def _markers(ranges: pl.DataFrame, device: pl.DataFrame) -> pl.DataFrame:
    host = ranges.with_columns(pl.col("name").cast(pl.String), pl.lit("annotation").alias("kind"))
    on_device = device.with_columns(pl.lit("gpu_annotation").alias("kind"), pl.col("device").cast(pl.Int32))
    return pl.concat([host, on_device], how="diagonal")


def _grid_ns(work: pl.DataFrame) -> int:
    """How far recorded times lie apart: 1 ns as text; before 2024 they were doubles."""
    latest = work.filter(~pl.col("exact"))["start_ns"].max()
    return max(1, math.ceil(math.ulp(latest / 1_000) * 1_000)) if isinstance(latest, int) else 1


READER = Reader(
    name="ascend_json",
    title="Ascend trace_view.json (torch_npu), msprof_*.json (msprof)",
    recognised_by="JSON events of processes called Ascend Hardware or CANN, or cpu_op events of torch_npu",
    cannot_tell="grids; graph nodes; launches inside graph replays that overlap",
    recognises=_recognises,
    read=_read,
    suffixes=(".json",),
    writers={"torch_npu": 0, "msprof": 0},
    names=FileNames(page_of=tasks.is_of_one_run),
)
