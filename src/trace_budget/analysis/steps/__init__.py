"""Steps: which GPU ops belong to which engine step, how long each step is, and which steps count."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl

from trace_budget.analysis.steps.annotated import Found, by_annotations, by_gpu_annotations, by_marker_time
from trace_budget.analysis.steps.classes import classify
from trace_budget.analysis.steps.grammar import user_grammar
from trace_budget.analysis.steps.select import choose
from trace_budget.analysis.steps.unannotated import by_delimiter, by_graph_launches, by_idle_gaps, whole_trace
from trace_budget.errors import NotInTraceError
from trace_budget.intervals import union_length_by_group
from trace_budget.schema.findings import Steps
from trace_budget.schema.options import Scope
from trace_budget.schema.trace import Caveat, Trace


def find_steps(trace: Trace, scope: Scope | None = None) -> Steps:
    """The steps of one device, in host order, with those marked that count for medians.

    Without `scope.device` the device with the most kernel time is taken, and a caveat says so when there are several.
    Raises NotInTraceError when the device, the phase or the step range asked for is not there.
    """
    scope = scope or Scope()
    device, caveats = _device(trace, scope.device)
    in_scope = _in_scope(trace, device)
    found = _without_empty(_first_method(trace, in_scope, scope))
    frame = classify(trace, _table(trace, found), found.op_step)
    frame, phase, more = choose(trace, frame, scope)
    caveats = (*caveats, *more, *_outside(trace, in_scope, found))
    return Steps(frame, found.op_step, device, phase, found.method, found.confidence, caveats)


def _outside(trace: Trace, in_scope: np.ndarray, found: Found) -> tuple[Caveat, ...]:
    """Ops of the device that belong to no step: orphans of an earlier one, or work launched by other threads."""
    outside = in_scope & (found.op_step < 0)
    count = int(outside.sum())
    if not count:
        return ()
    orphans = int((outside & trace.gpu_ops["launch_id"].is_null().to_numpy()).sum())
    where = (
        f"{orphans} of them launched before the recording began" if orphans else "launched outside the step annotations"
    )
    share = 100.0 * count / max(int(in_scope.sum()), 1)
    text = f"{count} GPU ops ({share:.1f} %) belong to no step, {where}; they are in no figure per step"
    return (Caveat("ops_outside_steps", text, count, "warning" if share > 5 else "note"),)


def _device(trace: Trace, wanted: int | None) -> tuple[int | None, tuple[Caveat, ...]]:
    ops = trace.gpu_ops.filter(pl.col("kind") == "kernel")
    if ops.is_empty():
        ops = trace.gpu_ops
    work = (
        ops.group_by("device")
        .agg((pl.col("end_ns") - pl.col("start_ns")).sum().alias("ns"))
        .sort("ns", "device", descending=[True, False], nulls_last=True)
    )
    devices = work["device"].to_list()
    if wanted is not None:
        if wanted not in devices:
            raise NotInTraceError(
                "no such device",
                where=trace.path,
                expected=f"one of {sorted(d for d in devices if d is not None)}",
                found=str(wanted),
            )
        return wanted, ()
    if len(devices) < 2:
        return (devices[0] if devices else None), ()
    known = sorted(d for d in devices if d is not None)
    text = (
        f"the trace holds {len(devices)} devices {known}; figures are of device {devices[0]} (--device picks another)"
    )
    return devices[0], (Caveat("several_devices", text, len(devices)),)


def _in_scope(trace: Trace, device: int | None) -> np.ndarray:
    if device is None:
        return trace.gpu_ops["device"].is_null().to_numpy()
    return (trace.gpu_ops["device"] == device).fill_null(value=False).to_numpy()


def _first_method(trace: Trace, in_scope: np.ndarray, scope: Scope) -> Found:
    """The most trustworthy method that finds steps."""
    extra = (user_grammar(scope.step_pattern),) if scope.step_pattern else ()
    for annotated in (by_annotations, by_gpu_annotations, by_marker_time):
        found = annotated(trace, in_scope, extra)
        if found:
            return found
    for unannotated in (by_graph_launches, by_delimiter, by_idle_gaps):
        found = unannotated(trace, in_scope)
        if found:
            return found
    return whole_trace(trace, in_scope)


def _without_empty(found: Found) -> Found:
    """Drop steps that own no op and renumber the rest."""
    owned = np.bincount(found.op_step[found.op_step >= 0], minlength=len(found.names)) > 0
    new_index = np.where(owned, np.cumsum(owned) - 1, -1).astype(np.int32)
    op_step = np.where(found.op_step >= 0, new_index[np.maximum(found.op_step, 0)], -1).astype(np.int32)
    kept = np.flatnonzero(owned)
    return replace(
        found,
        names=tuple(found.names[i] for i in kept),
        parsed=tuple(found.parsed[i] for i in kept),
        cpu_ns=tuple(found.cpu_ns[i] for i in kept),
        op_step=op_step,
    )


def _table(trace: Trace, found: Found) -> pl.DataFrame:
    """One row per step with its GPU window, busy time, interval and counts."""
    count = len(found.names)
    ops = trace.gpu_ops.select("kind", "start_ns", "end_ns").with_columns(pl.Series("step_index", found.op_step))
    owned = ops.filter(pl.col("step_index") >= 0)
    timed = owned.drop_nulls(["start_ns", "end_ns"])
    sums = owned.group_by("step_index").agg(
        pl.len().cast(pl.Int64).alias("gpu_ops"),
        (pl.col("kind") == "kernel").sum().cast(pl.Int64).alias("kernels"),
        pl.col("start_ns").min(),
        pl.col("end_ns").max(),
    )
    busy = union_length_by_group(
        timed["step_index"].to_numpy().astype(np.int64), timed["start_ns"].to_numpy(), timed["end_ns"].to_numpy(), count
    )
    facts = pl.DataFrame(
        {
            "step_index": pl.Series(np.arange(count, dtype=np.int32)),
            "name": pl.Series(found.names, dtype=pl.String),
            "phase": pl.Series([p.phase for p in found.parsed], dtype=pl.String),
            "engine": pl.Series([p.engine for p in found.parsed], dtype=pl.String),
            "batch_size": pl.Series([p.batch_size for p in found.parsed], dtype=pl.Int64),
            "cpu_ns": pl.Series(found.cpu_ns, dtype=pl.Int64),
            "busy_ns": pl.Series(busy, dtype=pl.Int64),
        }
    )
    return facts.join(sums, on="step_index", how="left", maintain_order="left").with_columns(
        (pl.col("end_ns") - pl.col("start_ns")).alias("window_ns"),
        (pl.col("start_ns").shift(-1) - pl.col("start_ns")).alias("interval_ns"),
    )
