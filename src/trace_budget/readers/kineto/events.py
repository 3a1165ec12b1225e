"""Kineto events with undecoded fields, sorted into device work, calls, ranges and syncs; the rest is dropped."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

import msgspec
from msgspec import Raw

_NULL = Raw(b"null")
_API = re.compile(rb'"(cuda|cu|hip|musa|mu|mc|hsa_)[A-Z_]\w*"')
_STEP = re.compile(rb'"(ProfilerStep#|execute_|step\[)')
_SYNC_NAMES = frozenset((b'"Stream Sync"', b'"Event Sync"', b'"Context Sync"', b'"Stream Wait Event"'))
_COMPLETE = (b'"X"', b"null")
_MODULE, _PROFILER_STEP = b'"nn.Module: ', b'"ProfilerStep#'
TABLE_OF = {
    **dict.fromkeys(("kernel", "memcpy", "memset"), "ops"),
    **dict.fromkeys(("annotation", "gpu_annotation", "module"), "markers"),
    "call": "calls",
    "sync": "syncs",
}
_TO_BE_CHECKED = frozenset(("operator", "plain", "kernel"))
_KINDS = {
    "kernel": "kernel",
    "concurrent_kernel": "kernel",
    "gpu_memcpy": "memcpy",
    "memcpy": "memcpy",
    "gpu_memset": "memset",
    "memset": "memset",
    "cuda_sync": "sync",
    "cuda_event": "sync",
    "runtime": "call",
    "driver": "call",
    "user_annotation": "annotation",
    "gpu_user_annotation": "gpu_annotation",
    "python_function": "python",
    "operator": "operator",
    "null": "plain",
    "": "plain",
}


class Event(msgspec.Struct, gc=False):
    """One trace event; its category, and every other field as the JSON text it had in the file, `null` when absent."""

    ph: Raw = _NULL
    cat: str | None = None
    name: Raw = _NULL
    ts: Raw = _NULL
    dur: Raw = _NULL
    pid: Raw = _NULL
    tid: Raw = _NULL
    args: Raw = _NULL


class OpArgs(
    msgspec.Struct,
    gc=False,
    rename={
        "queue": "hsa queue",
        "graph_node_id": "graph node id",
        "group_size": "Group size",
        "group_name": "Process Group Name",
        "group_ranks": "Process Group Ranks",
        "source": "Src Rank",
        "target": "Dst Rank",
    },
):
    """What a kernel, copy or memset says about itself; `kind` is only written by ROCm backends.

    Of collectives the process group, and the two ranks of an exchange between two.
    """

    device: int | None = None
    stream: int | None = None
    queue: int | None = None
    correlation: int | None = None
    graph_node_id: int | None = None
    bytes: int | None = None
    group_size: int | None = None
    grid: Raw = _NULL
    block: Raw = _NULL
    kind: Raw = _NULL
    group_name: Raw = _NULL
    group_ranks: Raw = _NULL
    source: Raw = _NULL
    target: Raw = _NULL


class CallArgs(msgspec.Struct, gc=False):
    """What an API call says about itself."""

    correlation: int | None = None


class SyncArgs(msgspec.Struct, gc=False, rename={"wait_correlation": "wait_on_cuda_event_record_corr_id"}):
    """What a synchronisation record says about itself."""

    device: int | None = None
    stream: int | None = None
    correlation: int | None = None
    wait_on_stream: int | None = None
    wait_correlation: int | None = None


class NoArgs(msgspec.Struct, gc=False):
    """Arguments nobody asks for."""


class _PlainArgs(msgspec.Struct, gc=False):
    stream: Raw = _NULL
    device: Raw = _NULL
    correlation: Raw = _NULL


class _OddEvent(msgspec.Struct, gc=False):
    ph: Raw = _NULL
    cat: Raw = _NULL
    name: Raw = _NULL
    ts: Raw = _NULL
    dur: Raw = _NULL
    pid: Raw = _NULL
    tid: Raw = _NULL
    args: Raw = _NULL


Decoded = Event | None
_EVENTS = msgspec.json.Decoder(list[Decoded])
_ELEMENTS = msgspec.json.Decoder(list[Raw])
_ODD_EVENT = msgspec.json.Decoder(_OddEvent)
_PLAIN_ARGS = msgspec.json.Decoder(_PlainArgs | None)


def decode(text: memoryview) -> list[Decoded]:
    """The elements of a JSON array of events, None for those that are no objects; raises msgspec.DecodeError."""
    try:
        return _EVENTS.decode(text)
    except (msgspec.ValidationError, UnicodeDecodeError):
        return [_event(raw) for raw in _ELEMENTS.decode(text)]


def _event(raw: Raw) -> Decoded:
    """One element of an array in which some are no objects or have categories that are no texts."""
    if not bytes(raw).startswith(b"{"):
        return None
    odd = _ODD_EVENT.decode(raw)
    category = bytes(odd.cat).decode("utf-8", "replace").strip('"')
    return Event(odd.ph, category, odd.name, odd.ts, odd.dur, odd.pid, odd.tid, odd.args)


class _Kinds(dict[str | None, str]):
    """From the text of `cat` to what the event is, empty for what is dropped; filled as categories appear."""

    def __missing__(self, cat: str | None) -> str:
        word = (cat or "").lower()
        kind = "call" if word.endswith(("_runtime", "_driver")) else _KINDS.get(word, "")
        self[cat] = kind
        return kind


_kinds = _Kinds()


@dataclass(frozen=True, slots=True)
class Kept:
    """Events of one table in file order, what each is, and its place among all."""

    events: list[Event] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)
    places: list[int] = field(default_factory=list)


def sorted_out(objects: Iterable[Decoded]) -> tuple[dict[str, Kept], int]:
    """The events that matter, by table (ops, calls, markers, syncs), and the number of elements that are no events."""
    tables = {table: Kept() for table in ("ops", "calls", "markers", "syncs")}
    strangers = 0
    for place, event in enumerate(objects):
        if event is None:
            strangers += 1
            continue
        kind = _kinds[event.cat]
        if kind == "python":
            kind = "module" if bytes(event.name).startswith(_MODULE) else ""
        elif kind in _TO_BE_CHECKED:
            kind = _checked_kind(kind, event)
        if kind and bytes(event.ph) in _COMPLETE:
            kept = tables[TABLE_OF[kind]]
            kept.events.append(event)
            kept.kinds.append(kind)
            kept.places.append(place)
    return tables, strangers


def _checked_kind(kind: str, event: Event) -> str:
    """The kind of an event whose category does not settle it; empty for what is dropped."""
    name = bytes(event.name)
    if kind == "operator":
        return "annotation" if name.startswith(_PROFILER_STEP) else ""
    if kind == "plain":
        kind = _kind_without_category(event)
    return "sync" if kind == "kernel" and name in _SYNC_NAMES else kind


def _kind_without_category(event: Event) -> str:
    """Old exporters write no category: device work is known by its stream, calls and steps by their names."""
    name = bytes(event.name)
    if bytes(event.pid) == b'"CUDA functions"':
        return "kernel"
    if _API.fullmatch(name):
        return "call"
    if _STEP.match(name):
        return "annotation"
    try:
        args = _PLAIN_ARGS.decode(event.args) or _PlainArgs()
    except msgspec.DecodeError:
        return ""
    if bytes(args.stream) == b"null" or bytes(args.device) == bytes(args.correlation) == b"null":
        return ""
    return "memcpy" if name.startswith(b'"Memcpy') else "memset" if name.startswith(b'"Memset') else "kernel"
