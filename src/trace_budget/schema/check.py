"""The schema check at the end of every reader: a Trace that passes is what the declared tables promise."""

from __future__ import annotations

import polars as pl

from trace_budget.schema.tables import AGGREGATES, CALLS, GPU_OPS, MARKERS, SYNCS, NameType, TableSpec
from trace_budget.schema.trace import Trace


class SchemaViolationError(AssertionError):
    """A reader broke its contract: a bug in trace-budget, not in the user's file."""


def checked(trace: Trace) -> Trace:
    """Return the trace unchanged, or raise SchemaViolationError naming table, column and rule."""
    for spec, frame in ((GPU_OPS, trace.gpu_ops), (CALLS, trace.calls), (MARKERS, trace.markers), (SYNCS, trace.syncs)):
        _check_columns(spec, frame)
    if trace.aggregates is not None:
        _check_columns(AGGREGATES, trace.aggregates)
    _check_row_numbers(trace.gpu_ops, "op_id")
    _check_row_numbers(trace.calls, "launch_id")
    _check_row_numbers(trace.markers, "marker_id")
    _check_gpu_ops(trace)
    return trace


def _check_columns(spec: TableSpec, frame: pl.DataFrame) -> None:
    if tuple(frame.columns) != spec.column_names():
        raise SchemaViolationError(f"{spec.name}: columns {frame.columns}, declared {list(spec.column_names())}")
    for column in spec.columns:
        series = frame[column.name]
        fits = isinstance(series.dtype, pl.Enum) if isinstance(column.dtype, NameType) else series.dtype == column.dtype
        if not fits:
            raise SchemaViolationError(f"{spec.name}.{column.name}: {series.dtype}, declared {column.dtype}")
        if not column.nullable and series.null_count():
            raise SchemaViolationError(
                f"{spec.name}.{column.name}: {series.null_count()} nulls in a column that has none"
            )


def _check_row_numbers(frame: pl.DataFrame, column: str) -> None:
    ids = frame[column]
    if frame.height and not (ids[0] == 0 and ids[-1] == frame.height - 1 and (ids.diff().drop_nulls() == 1).all()):
        raise SchemaViolationError(f"{column}: not 0 … {frame.height - 1}")


def _check_gpu_ops(trace: Trace) -> None:
    ops = trace.gpu_ops
    starts = ops["start_ns"]
    known = starts.drop_nulls()
    if starts.null_count() and starts.tail(starts.null_count()).null_count() != starts.null_count():
        raise SchemaViolationError("gpu_ops.start_ns: unknown starts are not last")
    if not known.is_sorted():
        raise SchemaViolationError("gpu_ops.start_ns: not sorted")
    if ops.filter(pl.col("end_ns") < pl.col("start_ns")).height:
        raise SchemaViolationError("gpu_ops: an end before its start")
    launches = ops["launch_id"].drop_nulls()
    if launches.len() and not launches.is_between(0, trace.calls.height - 1).all():
        raise SchemaViolationError("gpu_ops.launch_id: not a row of calls")
