"""RPD as JSON (`rpd2tracing.py FILE.rpd OUT.json`, SGLang's `rpd-*.trace.json.gz`): Chrome trace in whole microseconds.

A list that starts with an empty object; all numbers of spans are texts. Device work is on tracks named `GPU n`, one
lane per queue, with its operation type in `args.desc`. Flows link a call to the work it started. The .rpd database of
the run holds nanoseconds: prefer it. Source: github.com/ROCm/rocmProfileData, tools/rpd2tracing.py. Ignored: counters.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np
import polars as pl

from trace_budget.contracts import Head, Reader, ReadOptions
from trace_budget.intervals import Int64Array
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
from trace_budget.schema import build
from trace_budget.schema.trace import Caveat, Trace
from trace_budget.units import NS_PER_US

_START = re.compile(rb'\A(?:\xef\xbb\xbf)?\s*(?:\{\s*"traceEvents"\s*:\s*)?\[\s*\{\s*\}')
_OWN = re.compile(rb'"desc"\s*:\s*"|"cat"\s*:\s*"api_op"|"name"\s*:\s*"GPU\d+"')
_ROCPROF = re.compile(rb'"BeginNs"|"process_name"\s*,\s*"sort_index"')
_MARKER = "UserMarker"
# rocprofiler-sdk's source of RPD writes every copy as of GPU 0, queue 0
_PLACELESS = pl.col("text").str.starts_with("MEMORY_COPY").fill_null(value=False)
_LONGEST_US = 1 << 42
_OWNER = ("pid", "correlation")
_TIMES = ("start_ns", "end_ns")
_KIND = kind_of(pl.col("name"), pl.col("text"))


class _Args(msgspec.Struct, gc=False):
    desc: str | None = None
    name: str | None = None


class _Event(Span, gc=False):
    id: Number = None
    args: _Args | None = None


_NO_ARGS = _Args()
_PHASES = ("X", "s", "f", "M")


def _recognises(head: Head) -> bool:
    return bool(_START.match(head.data) and _OWN.search(head.data)) and not _ROCPROF.search(head.data)


def _columns(events: Sequence[_Event], ids: Ids) -> pl.DataFrame:
    """Spans (X), flow ends (s, f) and track names (M)."""
    rows = [event for event in events if event.ph in _PHASES]
    args = [event.args or _NO_ARGS for event in rows]
    start_us = integers([event.ts for event in rows])
    fields = {
        "ph": strings([event.ph for event in rows]),
        "name": strings([event.name for event in rows]),
        "text": strings([a.desc if a.name is None else a.name for a in args]),
        "track": ids([event.pid for event in rows]),
        "lane": ids([event.tid for event in rows]),
        "start_us": start_us,
        "end_us": start_us + integers([event.dur for event in rows]),
        "flow": ids([event.id for event in rows]),
    }
    return pl.DataFrame(fields)


def _read(path: Path, options: ReadOptions) -> Trace:
    file = read_events(path, _Event, _columns, texts=("ph", "name", "text"))
    texts = file.frame.with_columns(pl.col("ph", "name", "text").cast(pl.String))
    events = texts.filter(pl.col("ph") == "X")
    spans = events.with_columns(start_ns=ns_of_whole_us(events["start_us"]), end_ns=ns_of_whole_us(events["end_us"]))
    gpus = texts.filter((pl.col("name") == "process_name") & pl.col("text").str.contains(r"^GPU ?\d+$"))["track"]
    on_gpu = pl.col("track").is_in(gpus.unique().to_list())
    work = spans.filter(on_gpu & ~is_no_work(pl.col("text")).fill_null(value=False))
    if not work.filter(_KIND == "kernel").height:
        raise without_kernels(file, spans.height, "of a kernel", "Record again with RPD started.")
    host = spans.filter(~on_gpu).rename({"track": "pid", "lane": "tid"})
    calls = host.filter(pl.col("name") != _MARKER).with_row_index("correlation")
    ranges = host.filter((pl.col("name") == _MARKER) & (pl.col("end_us") > pl.col("start_us")))
    return trace_of_events(
        file,
        "rpd_json",
        Records(
            _linked(work, calls, texts.drop_nulls(["flow", "track", "lane", "start_us"])),
            calls.select("name", "pid", "tid", pl.col("correlation").cast(pl.Int64), "start_ns", "end_ns"),
            ranges.select(pl.lit("annotation").alias("kind"), pl.col("text").alias("name"), "pid", "tid", *_TIMES),
            ("correlation",),
            caveats=(_whole_microseconds(work),),
        ),
        vendor="AMD",
        resolution_ns=NS_PER_US,
    )


def _whole_microseconds(work: pl.DataFrame) -> Caveat:
    below = work.filter(pl.col("end_us") - pl.col("start_us") < 1).height
    text = f"times are whole microseconds, {below} operations last none: read the .rpd database for nanoseconds"
    return Caveat("coarse_times", text, work.height, "warning" if below else "note")


def _linked(work: pl.DataFrame, calls: pl.DataFrame, flows: pl.DataFrame) -> pl.DataFrame:
    """Device work with the number of the call its flow starts in; flows and work of one instant keep their order."""
    place = ["track", "lane", "start_us", "nth"]
    nth = pl.int_range(pl.len()).over(place[:3]).alias("nth")
    ends = flows.filter(pl.col("ph") == "f").sort("flow").with_columns(nth).select(*place, "flow")
    begins = flows.filter(pl.col("ph") == "s").select("flow", pid="track", tid="lane", from_us="start_us")
    owners = _callers(begins.join(ends.select("flow", "start_us"), on="flow"), calls)
    numbered = work.drop("flow").with_columns(nth).join(ends, on=place, how="left", maintain_order="left")
    linked = numbered.join(owners, on="flow", how="left", maintain_order="left")
    return linked.select(
        _KIND.alias("kind"),
        "name",
        pl.when(~_PLACELESS).then("track").alias("device"),
        pl.when(~_PLACELESS).then("lane").alias("queue"),
        *_OWNER,
        *_TIMES,
    )


def _callers(flows: pl.DataFrame, calls: pl.DataFrame) -> pl.DataFrame:
    """The enqueuing call of each flow: a flow starts at the call's end, or where the work starts if that is earlier."""
    known = calls.drop_nulls(["pid", "tid", "start_us", "end_us"])
    enqueuing = known.filter(build.call_kind("name").is_in(build.ENQUEUES)).sort("end_us", maintain_order=True)
    if not enqueuing.height:
        return flows.select("flow", "pid", pl.lit(None, pl.Int64).alias("correlation"))
    threads = pl.concat([flows.select("pid", "tid"), enqueuing.select("pid", "tid")]).unique(maintain_order=True)
    numbered = threads.with_row_index("thread")
    flow_keys = _on_one_line(flows, numbered, "from_us", enqueuing["end_us"][0])
    end_keys = _on_one_line(enqueuing, numbered, "end_us", enqueuing["end_us"][0])
    order = np.argsort(end_keys, kind="stable")
    ends = end_keys[order]
    at = np.minimum(np.searchsorted(ends, flow_keys), order.size - 1)
    # lengths are cut to whole microseconds, so a call can end one before the flow that leaves at its end
    one_before = (flows["from_us"] < flows["start_us"]).to_numpy() & (ends[at] != flow_keys)
    at = np.where(one_before, np.minimum(np.searchsorted(ends, flow_keys - 1), order.size - 1), at)
    call = enqueuing[order[at]]
    same = (call["pid"] == flows["pid"]) & (call["tid"] == flows["tid"]) & (call["start_us"] <= flows["from_us"])
    owner = call.select(pl.when(same).then(pl.col("correlation").cast(pl.Int64)).alias("correlation")).to_series()
    return flows.select("flow", "pid").with_columns(owner).unique("flow", keep="first")


def _on_one_line(rows: pl.DataFrame, threads: pl.DataFrame, time: str, begin_us: int) -> Int64Array:
    """Instants of several threads as numbers that sort by thread, then time."""
    placed = rows.join(threads, on=["pid", "tid"], how="left", maintain_order="left")
    return placed.select(pl.col("thread").cast(pl.Int64) * _LONGEST_US + pl.col(time) - begin_us).to_series().to_numpy()


READER = Reader(
    name="rpd_json",
    title="rocmProfileData (RPD) as Chrome JSON",
    recognised_by='a list that starts with an empty object, tracks named "GPU n" and args.desc',
    cannot_tell="anything below a microsecond; streams, grid and block; bytes of copies",
    recognises=_recognises,
    read=_read,
    suffixes=(".json",),
    writers={"rpd": 1},
)
