"""The records of a rocprofv3 JSON document: what is decoded of each, and one process's records as columns."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

import msgspec
import numpy as np
import polars as pl

from trace_budget.intervals import Int64Array
from trace_budget.io.dictionary import Dictionary
from trace_budget.io.json.typed import TypedList
from trace_budget.readers.csv_trace import positive

_BITS = (1 << 64) - 1
_INT64 = range(-(1 << 63), 1 << 63)
_RECORDED = range(-(1 << 63), 1 << 64)
_UNKNOWN = -1
_GPU = 2


class _Metadata(msgspec.Struct, gc=False):
    pid: int | None = None


class _Handle(msgspec.Struct, gc=False, frozen=True):
    handle: int = -1


_NONE = _Handle()


class _Agent(msgspec.Struct, gc=False):
    id: _Handle
    type: int = 0
    node_id: int = -1
    logical_node_id: int = -1
    name: str = ""
    product_name: str = ""


class _Kind(msgspec.Struct, gc=False):
    kind: str = ""
    operations: list[str] = msgspec.field(default_factory=list)


class _Message(msgspec.Struct, gc=False):
    key: int = -1
    value: str = ""


class _Strings(msgspec.Struct, gc=False):
    buffer_records: list[_Kind] = msgspec.field(default_factory=list)
    marker_api: list[_Message] = msgspec.field(default_factory=list)


class _Symbol(msgspec.Struct, gc=False):
    kernel_id: int
    kernel_name: str = ""
    formatted_kernel_name: str = ""
    demangled_kernel_name: str = ""
    truncated_kernel_name: str = ""

    def best_name(self) -> str:
        names = (self.formatted_kernel_name, self.demangled_kernel_name, self.truncated_kernel_name, self.kernel_name)
        return next((name for name in names if name), "")


class _Correlation(msgspec.Struct, gc=False, frozen=True):
    internal: int = 0


class _Dim(msgspec.Struct, gc=False, frozen=True):
    x: int = -1
    y: int = -1
    z: int = -1


_NO_SIZE, _NO_CORRELATION = _Dim(), _Correlation()


class _Dispatched(msgspec.Struct, gc=False):
    agent_id: _Handle
    kernel_id: int
    queue_id: _Handle = _NONE
    workgroup_size: _Dim = _NO_SIZE
    grid_size: _Dim = _NO_SIZE


class _Dispatch(msgspec.Struct, gc=False):
    start_timestamp: int
    end_timestamp: int
    dispatch_info: _Dispatched
    correlation_id: _Correlation = _NO_CORRELATION
    stream_id: _Handle = _NONE


class _Copy(msgspec.Struct, gc=False):
    start_timestamp: int
    end_timestamp: int
    kind: int = 0
    operation: int = 0
    correlation_id: _Correlation = _NO_CORRELATION
    src_agent_id: _Handle = _NONE
    dst_agent_id: _Handle = _NONE
    stream_id: _Handle = _NONE
    bytes: int = -1


class _Call(msgspec.Struct, gc=False):
    start_timestamp: int
    end_timestamp: int
    kind: int = 0
    operation: int = 0
    thread_id: int = -1
    correlation_id: _Correlation = _NO_CORRELATION


_TYPES: dict[str, type] = {
    "metadata": _Metadata,
    "agents": _Agent,
    "strings": _Strings,
    "kernel_symbols": _Symbol,
    "counter_collection": msgspec.Raw,
    "kernel_dispatch": _Dispatch,
    "memory_copy": _Copy,
    "hip_api": _Call,
    "marker_api": _Call,
}


def decoders() -> dict[str, TypedList[Any]]:
    """A decoder for each part of a document that is read."""
    return {part: TypedList(kind) for part, kind in _TYPES.items()}


# the integers taken from each record: column, path in the record
_COMMON = {"start_ns": "start_timestamp", "end_ns": "end_timestamp", "correlation": "correlation_id.internal"}
_TIMES = 2  # the first two of each record
_NAMED = {**_COMMON, "kind_number": "kind", "operation": "operation"}
_SIZES = {
    f"{ours}_{axis}": f"dispatch_info.{recorded}.{axis}"
    for ours, recorded in (("grid", "grid_size"), ("block", "workgroup_size"))
    for axis in "xyz"
}
_FIELDS: dict[str, dict[str, str]] = {
    "kernel_dispatch": {
        **_COMMON,
        "stream": "stream_id.handle",
        "queue": "dispatch_info.queue_id.handle",
        "agent": "dispatch_info.agent_id.handle",
        "kernel": "dispatch_info.kernel_id",
        **_SIZES,
    },
    "memory_copy": {
        **_NAMED,
        "stream": "stream_id.handle",
        "source": "src_agent_id.handle",
        "target": "dst_agent_id.handle",
        "bytes": "bytes",
    },
    "hip_api": {**_NAMED, "tid": "thread_id"},
    "marker_api": {**_NAMED, "tid": "thread_id"},
}
_GETTERS = {part: attrgetter(*fields.values()) for part, fields in _FIELDS.items()}
_TO_HOST = "DEVICE_TO_HOST"


@dataclass(frozen=True, slots=True)
class Names:
    """The distinct names of a document's operations, calls and ranges; `name` columns hold codes into them."""

    ops: Dictionary = field(default_factory=Dictionary)
    calls: Dictionary = field(default_factory=Dictionary)
    markers: Dictionary = field(default_factory=Dictionary)


@dataclass(frozen=True, slots=True)
class ProcessRecords:
    """One process's records, named like the declared tables.

    `nameless` dispatches have no symbol; `lost` ids and sizes are beyond 64 bits, and unknown.
    """

    ops: pl.DataFrame
    calls: pl.DataFrame
    markers: pl.DataFrame
    device_names: dict[int, str]
    dispatches: int
    nameless: int
    lost: int


class Process:
    """Collects the parts of one process as they come; names are resolved at the end, so parts may come in any order."""

    def __init__(self, names: Names, pid: int | None = None) -> None:
        self._names = names
        fits = pid is None or pid in _INT64
        self.pid = pid if fits else None
        self._lost = int(not fits)
        self._agents: list[_Agent] = []
        self._strings = _Strings()
        self._symbols: dict[int, str] = {}
        self._blocks: dict[str, list[Int64Array]] = defaultdict(list)

    def add(self, part: str, objects: Sequence[Any]) -> None:
        """Take the next objects of one part."""
        if part == "agents":
            self._agents.extend(objects)
            self._lost += sum(agent.logical_node_id not in _INT64 for agent in objects)
        elif part == "strings" and objects:
            self._strings = objects[0]
        elif part == "kernel_symbols":
            self._symbols.update((_kept(symbol.kernel_id), symbol.best_name()) for symbol in objects)
        elif part in _FIELDS and objects:
            block, lost = _block(list(map(_GETTERS[part], objects)))
            self._blocks[part].append(block)
            self._lost += lost

    def read(self) -> ProcessRecords:
        """The records as columns: names as codes, devices as numbers, `none` as null."""
        kernels, nameless = self._kernels()
        gpus = (agent for agent in self._agents if agent.type == _GPU)
        return ProcessRecords(
            pl.concat([kernels, self._copies()], how="diagonal"),
            self._named(self._rows("hip_api"), self._names.calls).drop("to_host"),
            self._markers(),
            {agent.logical_node_id: agent.product_name or agent.name for agent in gpus},
            kernels.height,
            nameless,
            self._lost,
        )

    def _rows(self, part: str) -> pl.DataFrame:
        """The columns of one part; -1 stands for `not recorded`, correlation 0 for `none`."""
        blocks = self._blocks[part]
        table = np.concatenate(blocks) if blocks else np.empty((0, len(_FIELDS[part])), np.int64)
        frame = pl.DataFrame({name: table[:, i] for i, name in enumerate(_FIELDS[part])})
        known = [pl.when(pl.col(name) != _UNKNOWN).then(pl.col(name)).alias(name) for name in frame.columns]
        pid = pl.lit(self.pid, pl.Int64).alias("pid")
        return frame.with_columns(known).with_columns(positive("correlation"), pid)

    def _kernels(self) -> tuple[pl.DataFrame, int]:
        rows = self._rows("kernel_dispatch")
        ids = rows["kernel"].drop_nulls().unique(maintain_order=True)
        codes = [self._names.ops.code(self._symbols.get(number) or f"kernel {number}") for number in ids]
        texts = pl.Series(codes, dtype=pl.UInt32)
        name = rows["kernel"].replace_strict(ids, texts, default=None, return_dtype=pl.UInt32)
        unknown = [number for number in ids if not self._symbols.get(number)]
        kernels = rows.with_columns(name.alias("name"), pl.lit("kernel").alias("kind"), self._device("agent"))
        return kernels.drop("kernel", "agent"), int(rows["kernel"].is_in(unknown).sum())

    def _copies(self) -> pl.DataFrame:
        """Copies count for the device that sends to the host, else for the one that receives."""
        rows = self._named(self._rows("memory_copy"), self._names.ops)
        device = pl.when("to_host").then(self._device("source")).otherwise(self._device("target"))
        copies = rows.with_columns(device.alias("device"), pl.lit("memcpy").alias("kind"))
        return copies.drop("source", "target", "to_host")

    def _markers(self) -> pl.DataFrame:
        """Ranges under their messages, which the string table keeps by correlation id."""
        rows = self._rows("marker_api")
        messages = {message.key: message.value for message in self._strings.marker_api}
        keys = rows.select("kind_number", "operation", "correlation").rows()
        texts = [messages.get(correlation) or self._operation(kind, number) for kind, number, correlation in keys]
        codes = pl.Series("name", map(self._names.markers.code, texts), dtype=pl.UInt32)
        ranges = rows.with_columns(codes, pl.lit("annotation").alias("kind"))
        return ranges.drop("kind_number", "operation", "correlation")

    def _named(self, rows: pl.DataFrame, dictionary: Dictionary) -> pl.DataFrame:
        """Rows with the code of their operation's name, and whether that copies to the host."""
        keys = ["kind_number", "operation"]
        distinct = rows.select(keys).unique(maintain_order=True)
        texts = [self._operation(kind, number) for kind, number in distinct.rows()]
        named = distinct.with_columns(
            pl.Series("name", map(dictionary.code, texts), dtype=pl.UInt32),
            pl.Series("to_host", [text.endswith(_TO_HOST) for text in texts], dtype=pl.Boolean),
        )
        return rows.join(named, on=keys, how="left", maintain_order="left").drop(keys)

    def _operation(self, kind: int | None, number: int | None) -> str:
        kinds = self._strings.buffer_records
        operations = kinds[kind].operations if kind is not None and 0 <= kind < len(kinds) else []
        if number is not None and 0 <= number < len(operations):
            return operations[number]
        return f"operation {kind}.{number}"

    def _device(self, handle: str) -> pl.Expr:
        """The number rocprofv3's CSV shows for an agent: its place among the nodes the process sees."""
        if not self._agents:
            return pl.lit(None, pl.Int64).alias("device")
        numbers = {
            _kept(agent.id.handle): agent.logical_node_id if agent.logical_node_id in _INT64 else None
            for agent in self._agents
        }
        return pl.col(handle).replace_strict(numbers, default=None, return_dtype=pl.Int64).alias("device")


def _block(rows: list[tuple[int, ...]]) -> tuple[Int64Array, int]:
    """Integers as a table, and how many of them, times apart, are beyond 64 bits."""
    try:
        return np.array(rows, dtype=np.int64), 0
    except OverflowError:
        kept = np.array([[_kept(value) for value in row] for row in rows], dtype=np.int64)
        return kept, sum(value not in _RECORDED for row in rows for value in row[_TIMES:])


def _kept(value: int) -> int:
    """A handle beyond the positive range keeps its bits; what is beyond 64 bits is unknown."""
    if value in _INT64:
        return value
    return (value & _BITS) - (1 << 64) if value in _RECORDED else _UNKNOWN
