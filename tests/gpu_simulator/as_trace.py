"""A run as the Trace a reader would make of its profile, without a file in between."""

from __future__ import annotations

import polars as pl

from gpu_simulator.program import Shown
from gpu_simulator.simulate import Run
from gpu_simulator.view import View, seen
from trace_budget.schema import build
from trace_budget.schema.check import checked
from trace_budget.schema.trace import Trace

_SYNC_KIND = {
    "Stream Wait Event": "stream_wait",
    "Stream Sync": "stream_sync",
    "Event Sync": "event_sync",
    "Context Sync": "context_sync",
}
HOST_PID = 4_321


def to_trace(run: Run, rank: int = 0, shown: Shown | None = None) -> Trace:
    """The canonical tables of one rank, checked against their declaration."""
    view = seen(run, rank, shown)
    calls = build.calls(_calls(view))
    rocm = view.shown.flavour == "rocm"
    return checked(
        Trace(
            path=f"simulated/{run.program.kind}",
            format="simulated",
            gpu_ops=build.gpu_ops(_ops(view), calls),
            calls=calls,
            markers=build.markers(_markers(view)),
            syncs=build.syncs(_syncs(view)),
            device_name="Simulated GPU",
            vendor="AMD" if rocm else "NVIDIA",
            rank=rank,
            world_size=view.ranks,
            dispatch_gap_in_duration=rocm,
            events=len(view.ops) + len(view.calls) + len(view.ranges) + len(view.syncs),
        )
    )


def _column(values: list[int], name: str, unknown: int | None = None) -> pl.Series:
    """An integer column; `unknown` becomes null."""
    return pl.Series(name, [None if value == unknown else value for value in values], dtype=pl.Int64)


def _ops(view: View) -> pl.DataFrame:
    rows = view.ops
    known_graph = view.shown.flavour == "cuda" and not view.shown.hide_host
    return pl.DataFrame(
        {
            "kind": pl.Series([row.kind for row in rows], dtype=pl.String),
            "name": pl.Series([row.name for row in rows], dtype=pl.String),
            "device": pl.Series([0] * len(rows), dtype=pl.Int32),
            "stream": _column([row.stream for row in rows], "stream"),
            "start_ns": _column([row.start_ns for row in rows], "start_ns"),
            "end_ns": _column([row.end_ns for row in rows], "end_ns"),
            "correlation": _column([row.correlation for row in rows], "correlation"),
            "graph_node_id": _column([row.node if known_graph else -1 for row in rows], "graph_node_id", unknown=-1),
        }
    )


def _calls(view: View) -> pl.DataFrame:
    rows = view.calls
    return pl.DataFrame(
        {
            "name": pl.Series([row.name for row in rows], dtype=pl.String),
            "pid": _column([HOST_PID] * len(rows), "pid"),
            "tid": _column([HOST_PID] * len(rows), "tid"),
            "start_ns": _column([row.start_ns for row in rows], "start_ns"),
            "end_ns": _column([row.end_ns for row in rows], "end_ns"),
            "correlation": _column([row.correlation for row in rows], "correlation"),
        }
    )


def _markers(view: View) -> pl.DataFrame:
    rows = view.ranges
    return pl.DataFrame(
        {
            "kind": pl.Series(["annotation"] * len(rows), dtype=pl.String),
            "name": pl.Series([row.name for row in rows], dtype=pl.String),
            "pid": _column([HOST_PID] * len(rows), "pid"),
            "tid": _column([HOST_PID] * len(rows), "tid"),
            "start_ns": _column([row.start_ns for row in rows], "start_ns"),
            "end_ns": _column([row.end_ns for row in rows], "end_ns"),
        }
    )


def _syncs(view: View) -> pl.DataFrame:
    rows = view.syncs
    return pl.DataFrame(
        {
            "kind": pl.Series([_SYNC_KIND[row.name] for row in rows], dtype=pl.String),
            "device": pl.Series([0] * len(rows), dtype=pl.Int32),
            "stream": _column([row.stream for row in rows], "stream", unknown=-1),
            "start_ns": _column([row.start_ns for row in rows], "start_ns"),
            "end_ns": _column([row.end_ns for row in rows], "end_ns"),
            "correlation": _column([row.correlation for row in rows], "correlation"),
            "wait_stream": _column([row.wait_stream for row in rows], "wait_stream", unknown=-1),
            "wait_correlation": _column([row.wait_correlation for row in rows], "wait_correlation", unknown=-1),
        }
    )
