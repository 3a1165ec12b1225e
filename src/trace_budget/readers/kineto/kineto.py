"""PyTorch Kineto: Chrome trace JSON written by torch.profiler (CUDA, ROCm and other vendors; all eras).

Supported: integer microseconds, absolute decimals, times relative to baseTimeNanoseconds; gzip and zstd; a bare list;
metadata before or after the events; damaged and cut files. Kept: device work, runtime and driver calls, annotations
and their device copies, nn.Module calls, CUDA synchronisation records. Ignored: cpu_op, Python stacks, flows, counters.
Source: pytorch/kineto libkineto/src/output_json.cpp.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import polars as pl
from msgspec import Raw

from trace_budget.contracts import Head, Reader, ReadOptions
from trace_budget.errors import InputError
from trace_budget.io.inflate import PlainStream
from trace_budget.io.json.ahead import AheadStream
from trace_budget.io.json.stream import SEGMENT_BYTES
from trace_budget.readers.kineto import caveats
from trace_budget.readers.kineto.collector import Collector, Frames
from trace_budget.readers.kineto.events import Decoded, decode
from trace_budget.readers.kineto.merged import one_rank
from trace_budget.readers.kineto.origin import origin, rank_in_name, vendor
from trace_budget.readers.kineto.scan import Scanned, find_scanner
from trace_budget.readers.kineto.tables import Tables, tables
from trace_budget.schema.check import checked
from trace_budget.schema.trace import Trace
from trace_budget.units import NS_PER_US

_TOP_KEYS = re.compile(rb'"(schemaVersion|deviceProperties|baseTimeNanoseconds|distributedInfo|traceName)"\s*:')
_CATEGORY = re.compile(
    rb'"cat"\s*:\s*"(kernel|cuda_runtime|cuda_driver|gpu_memcpy|gpu_memset|cpu_op|python_function|user_annotation|'
    rb'gpu_user_annotation|operator|runtime|memcpy|ac2g)"',
    re.IGNORECASE,
)
_WITHOUT_CATEGORY = re.compile(rb'"correlation"\s*:|"pid"\s*:\s*"CUDA functions"')
_FOREIGN = re.compile(
    rb'"rocprofiler-sdk-tool"|"cat"\s*:\s*"HIP(OPS|COPY)?"|\A\s*(\{\s*"traceEvents"\s*:\s*)?\[\s*\{\s*\}'
    # torch_npu's profiler has Kineto's categories, and its arguments in another order
    rb'|"args"\s*:\s*\{\s*(?:"name"\s*:\s*"(?:Ascend Hardware|CANN)"|"Sequence number"\s*:)|"cat"\s*:\s*"async_npu"'
)


def read(path: Path, options: ReadOptions, segment_bytes: int = SEGMENT_BYTES) -> Trace:
    """Read a trace in segments of `segment_bytes` plain bytes; the result does not depend on their size.

    Raises InputError for JSON without events, nesting beyond 1000 levels and events beyond 64 MiB.
    """
    collected, scanner = Collector(), find_scanner()
    with PlainStream(path) as plain:
        stream: AheadStream[Decoded, Scanned] = AheadStream(plain, "traceEvents", decode, segment_bytes)
        for objects in stream.batches(scanner) if scanner else stream:
            collected.add(objects)
    if not collected.events:
        raise InputError("holds no complete event", where=str(path), advice="Record it again, or copy it again.")
    trace = _trace(path, options, collected, stream.fields.values)
    lost = plain.truncated or stream.damage.dropped or stream.damage.broken_keys or stream.fields.more
    return replace(
        trace,
        complete=stream.ended and stream.fields.closed and not lost,
        source_bytes=plain.size_bytes,
        caveats=(
            *caveats.file_caveats(stream.ended, stream.fields, stream.damage, plain.damage),
            *caveats.element_caveats(collected.strangers),
            *caveats.number_caveats(collected.lost_numbers, collected.unreadable_arguments),
            *trace.caveats,
        ),
    )


def _trace(path: Path, options: ReadOptions, collected: Collector, fields: dict[str, Raw]) -> Trace:
    one = one_rank(collected.frames(), collected.pid_texts, options.rank, str(path))
    known = origin(fields, _only_device(one.frames))
    found = tables(one.frames, known.base_ns or 0)
    integer_us = known.base_ns is None and _whole_microseconds(one.frames)
    recorded, named = one.rank if one.labels else known.rank, rank_in_name(path)
    trace = Trace(
        path=str(path),
        format="kineto",
        gpu_ops=found.gpu_ops,
        calls=found.calls,
        markers=found.markers,
        syncs=found.syncs,
        device_name=known.device_name,
        vendor=vendor(known, found.calls, found.gpu_ops["name"].unique()),
        rank=next((rank for rank in (options.rank, recorded, named) if rank is not None), None),
        world_size=known.world_size,
        resolution_ns=NS_PER_US if integer_us else 1,
        dispatch_gap_in_duration=known.rocm or collected.dispatch_kinds or _calls_hip(found),
        events=collected.events,
        engine=collected.engine,
        caveats=(
            *caveats.merged_caveats(one),
            *caveats.rank_caveats(recorded, named),
            *found.caveats,
            *caveats.content_caveats(found, collected.events, integer_us),
        ),
    )
    return checked(trace)


def _only_device(frames: Frames) -> int | None:
    devices = frames.ops["device"].unique().drop_nulls()
    return int(devices[0]) if devices.len() == 1 else None


def _whole_microseconds(frames: Frames) -> bool:
    """Whether every recorded time is a whole microsecond, as Kineto wrote them before 2024."""
    times = pl.concat([frame.select("ts_ns", "dur_ns") for frame in (frames.ops, frames.calls, frames.markers)])
    return bool(times.height and times.select(pl.all_horizontal((pl.all() % NS_PER_US == 0).all())).item())


def _calls_hip(found: Tables) -> bool:
    return bool(found.calls["name"].cast(pl.String).str.contains("^hip[A-Z]").any())


def _recognises(head: Head) -> bool:
    data = head.data.removeprefix(b"\xef\xbb\xbf").lstrip()
    if data[:1] not in (b"{", b"[") or _FOREIGN.search(data):
        return False
    if _CATEGORY.search(data) or (b'"ph"' in data and _WITHOUT_CATEGORY.search(data)):
        return True
    return data[:1] == b"{" and _TOP_KEYS.search(data) is not None


READER = Reader(
    name="kineto",
    title="PyTorch profiler (Kineto) Chrome trace JSON",
    recognised_by='Kineto\'s top-level keys ("schemaVersion", "deviceProperties", …) or event categories',
    cannot_tell="layers inside graph replays; hardware queues",
    recognises=_recognises,
    read=read,
    suffixes=(".json",),
    late_rank=True,
)
