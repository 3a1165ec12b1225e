"""What one sample holds: device, host calls, device ops, ranges and steps, in integer nanoseconds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

Json = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Device:
    """A GPU as the profiler names it; `pid` is what events carry, which on ROCm is not the property list's id."""

    name: str
    pid: int
    count: int
    properties: Json
    metadata: Json


@dataclass(frozen=True, slots=True)
class Call:
    """One host API call."""

    name: str
    start_ns: int
    end_ns: int
    correlation: int
    category: str = "cuda_runtime"
    enqueues: bool = False
    args: Json = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class GpuOp:
    """One execution on the device; `step` and `layer` are what the program says, never written to the trace."""

    name: str
    kind: str
    step: int
    layer: int | None
    stream: int
    start_ns: int
    end_ns: int
    correlation: int
    args: Json = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Range:
    """A host range: a step annotation (`user_annotation`) or an operator (`cpu_op`)."""

    name: str
    start_ns: int
    end_ns: int
    category: str = "user_annotation"


@dataclass(frozen=True, slots=True)
class Sync:
    """A `cuda_sync` row of the device side; `stream` -1 is the whole context."""

    name: str
    stream: int
    start_ns: int
    end_ns: int
    correlation: int
    args: Json = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Step:
    """One engine step of the program."""

    index: int
    phase: str
    annotation: str
    warm_up: bool = False


@dataclass(frozen=True, slots=True)
class Timeline:
    """A whole sample. `layers` is the layer count of the model, `pid` the process that launched the work."""

    device: Device
    layers: int
    pid: int
    steps: tuple[Step, ...]
    ops: tuple[GpuOp, ...]
    calls: tuple[Call, ...]
    ranges: tuple[Range, ...]
    syncs: tuple[Sync, ...] = ()
