"""Collects the rows of a sample while a program is laid out in time."""

from __future__ import annotations

from collections.abc import Mapping

from sample_traces.make.timeline import Call, Device, GpuOp, Range, Step, Sync, Timeline


class Recorder:
    """Rows in the order they were made, and the running correlation number that links calls to device ops."""

    def __init__(self, device: Device, layers: int, pid: int, first_correlation: int = 1) -> None:
        self._device, self._layers, self._pid = device, layers, pid
        self._correlation = first_correlation - 1
        self._rows: dict[str, list[object]] = {name: [] for name in ("steps", "ops", "calls", "ranges", "syncs")}

    def step(self, phase: str, annotation: str, warm_up: bool = False) -> int:
        """Open the next step of the program and return its index."""
        index = len(self._rows["steps"])
        self._rows["steps"].append(Step(index, phase, annotation, warm_up))
        return index

    def call(
        self,
        name: str,
        start_ns: int,
        dur_ns: int,
        *,
        enqueues: bool = False,
        category: str = "cuda_runtime",
        args: Mapping[str, object] | None = None,
    ) -> int:
        """A host call; returns its correlation number."""
        self._correlation += 1
        row = Call(name, start_ns, start_ns + dur_ns, self._correlation, category, enqueues, args or {})
        self._rows["calls"].append(row)
        return self._correlation

    def op(
        self,
        name: str,
        *,
        step: int,
        layer: int | None = None,
        stream: int,
        start_ns: int,
        dur_ns: int,
        correlation: int,
        args: Mapping[str, object],
        kind: str = "kernel",
    ) -> int:
        """A device op; returns its end."""
        end_ns = start_ns + dur_ns
        self._rows["ops"].append(GpuOp(name, kind, step, layer, stream, start_ns, end_ns, correlation, args))
        return end_ns

    def range(self, name: str, start_ns: int, end_ns: int, category: str = "user_annotation") -> None:
        """A host range."""
        self._rows["ranges"].append(Range(name, start_ns, end_ns, category))

    def sync(self, row: Sync) -> None:
        """A device-side synchronisation row."""
        self._rows["syncs"].append(row)

    def timeline(self) -> Timeline:
        """The sample: ops in order of start."""
        rows = {name: tuple(values) for name, values in self._rows.items()}
        ops = tuple(sorted((op for op in rows["ops"] if isinstance(op, GpuOp)), key=lambda op: op.start_ns))
        return Timeline(self._device, self._layers, self._pid, **{**rows, "ops": ops})  # type: ignore[arg-type]
