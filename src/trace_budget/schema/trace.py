"""Trace: the one model between readers and analyses."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import polars as pl

from trace_budget.schema.tables import CALLS, GPU_OPS, MARKERS, SYNCS

SEVERITIES = ("note", "warning", "error")


@dataclass(frozen=True, slots=True)
class Caveat:
    """Something the reader of a figure must know.

    `code` is stable, `count` says how often, `text` what it means for the figure, `example` names the first case.
    """

    code: str
    text: str
    count: int = 1
    severity: str = "note"
    example: str = ""


@dataclass(frozen=True, slots=True, repr=False)
class Trace:
    """One rank's profile in canonical tables; a reader ends with `check.checked(Trace(...))`.

    `complete` is False when the file was cut or damaged (PARTIAL). `resolution_ns` is the grid of the recorded times.
    `dispatch_gap_in_duration` says that the profiler books the gap between kernels into the kernel (ROCm, DCU).
    `aggregates` is set for formats that only carry sums per kernel name: gpu_ops is empty then, there is no timeline.
    """

    path: str
    format: str
    gpu_ops: pl.DataFrame
    calls: pl.DataFrame = field(default_factory=CALLS.empty)
    markers: pl.DataFrame = field(default_factory=MARKERS.empty)
    syncs: pl.DataFrame = field(default_factory=SYNCS.empty)
    device_name: str | None = None
    vendor: str | None = None
    rank: int | None = None
    world_size: int | None = None
    complete: bool = True
    resolution_ns: int = 1
    dispatch_gap_in_duration: bool = False
    events: int | None = None
    source_bytes: int | None = None
    engine: str | None = None
    caveats: tuple[Caveat, ...] = ()
    aggregates: pl.DataFrame | None = None

    def __repr__(self) -> str:
        what = f"{self.format}, {self.gpu_ops.height:,} GPU ops"
        device = f", {self.device_name}" if self.device_name else ""
        rank = f", rank {self.rank}" if self.rank is not None else ""
        return f"<Trace {self.path}: {what}{device}{rank}{'' if self.complete else ', PARTIAL'}>"

    def with_caveats(self, caveats: Iterable[Caveat]) -> Trace:
        """The same trace with more caveats."""
        return replace(self, caveats=(*self.caveats, *caveats))


def empty_trace(path: str, format_name: str) -> Trace:
    """A trace without rows."""
    return Trace(path, format_name, GPU_OPS.empty())
