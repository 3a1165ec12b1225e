"""The described run as expected rows, for the tests of every format that has a `same_run.*` sample."""

from __future__ import annotations

from pathlib import Path

import polars as pl
from sample_traces.make import run_description as described

from trace_budget.schema.trace import Trace

SAMPLES = Path(__file__).resolve().parents[1] / "sample_traces"
RUN = described.described_run()


def kernel_rows(trace: Trace) -> list[tuple[str, int, int]]:
    """(name, start_ns, end_ns) of the kernels in time order, names without the suffixes that ROCm adds."""
    kernels = trace.gpu_ops.filter(pl.col("kind") == "kernel").with_columns(
        pl.col("name").cast(pl.String).str.replace(r"( \[clone \.kd\]|\.kd)$", "")
    )
    return kernels.select("name", "start_ns", "end_ns").rows()


def expected_kernels(shift_ns: int = 0) -> list[tuple[str, int, int]]:
    return [(op.name, op.start_ns + shift_ns, op.end_ns + shift_ns) for op in RUN.ops if op.kind == "kernel"]


def expected_copies() -> list[tuple[int, int]]:
    return [(op.start_ns, op.end_ns) for op in RUN.ops if op.kind == "memcpy"]


def expected_calls() -> list[tuple[str, int, int]]:
    """(kind, start_ns, end_ns) in time order."""
    return [(call.kind, call.start_ns, call.end_ns) for call in RUN.calls]


def expected_markers() -> list[tuple[str, int, int]]:
    return [(marker.name, marker.start_ns, marker.end_ns) for marker in RUN.markers]


def call_rows(trace: Trace) -> list[tuple[str, int, int]]:
    return trace.calls.select(pl.col("kind").cast(pl.String), "start_ns", "end_ns").rows()


def marker_rows(trace: Trace) -> list[tuple[str, int, int]]:
    return trace.markers.select(pl.col("name").cast(pl.String), "start_ns", "end_ns").rows()


def launched_kernels(trace: Trace) -> list[int]:
    """Kernels per graph launch, in the order of the launches."""
    launches = trace.calls.filter(pl.col("kind") == "graph_launch").select("launch_id")
    kernels = trace.gpu_ops.filter(pl.col("kind") == "kernel").group_by("launch_id").len()
    return launches.join(kernels, on="launch_id", how="left", maintain_order="left")["len"].fill_null(0).to_list()


def launch_starts_of_copies(trace: Trace) -> list[int]:
    """Start of the call that launched each copy."""
    copies = trace.gpu_ops.filter(pl.col("kind") == "memcpy")
    return copies.join(trace.calls, on="launch_id", how="left", maintain_order="left")["start_ns_right"].to_list()
