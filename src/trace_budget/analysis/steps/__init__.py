"""Steps: which GPU ops belong to which engine step, how long each step is, and which steps count."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl

from trace_budget.analysis.readings.evidence import evidence
from trace_budget.analysis.readings.hypotheses import hypotheses
from trace_budget.analysis.readings.pick import picked
from trace_budget.analysis.readings.variants import with_variants
from trace_budget.analysis.steps.annotated import FoundSteps
from trace_budget.analysis.steps.classes import classify
from trace_budget.analysis.steps.processes import of_process
from trace_budget.analysis.steps.select import choose
from trace_budget.analysis.steps.unlinked import own_unlinked
from trace_budget.errors import NotInTraceError
from trace_budget.intervals import covered_length, union_length_by_group
from trace_budget.schema.findings import Steps
from trace_budget.schema.options import Scope
from trace_budget.schema.trace import Caveat, Trace

OUTSIDE_PCT = 5.0  # share of ops in no step that is worth a warning
ASIDE_PCT = 1.0  # the same for ops that belong to a step by time, but to another thread


def find_steps(trace: Trace, scope: Scope | None = None) -> Steps:
    """The steps of one device, in host order, with those marked that count for medians; `others` are other readings.

    Without `scope.device` the device with the most kernel time is taken, and a caveat says so when there are several.
    Raises NotInTraceError when the device, process, phase, step range or reading asked for is not there.
    """
    scope = scope or Scope()
    device, caveats = _device(trace, scope.device)
    in_scope, process_caveats = of_process(trace, device, scope.process)
    if not in_scope.any():
        raise NotInTraceError("no device work in this trace", where=trace.path, expected="kernels, copies or memsets")
    ordered, pattern_caveats = hypotheses(trace, in_scope, scope)
    common = (*caveats, *process_caveats, *pattern_caveats)
    readings = [_steps_of(trace, in_scope, found, scope, device, common) for found in ordered]
    return picked(with_variants(readings, scope.phase is not None or scope.steps is not None), scope, trace)


def _steps_of(
    trace: Trace, in_scope: np.ndarray, found: FoundSteps, scope: Scope, device: int | None, caveats: tuple[Caveat, ...]
) -> Steps:
    """The steps as one hypothesis has them."""
    found = _without_empty(replace(found, op_step=own_unlinked(trace, in_scope, found.op_step)))
    frame = classify(trace, _table(trace, found), found.op_step)
    frame = frame.with_columns(_device_busy(trace, frame, device))
    whole, barren = _closed(trace, found)
    frame = frame.with_columns(pl.Series("whole", whole), pl.Series("barren", barren))
    frame, phase, more = choose(trace, frame, scope, found.op_step, found.cut_off)
    all_caveats = (*caveats, *found.caveats, *more, *_outside(trace, in_scope, found))
    says, denies = evidence(trace, in_scope, found, frame)
    return Steps(
        frame, found.op_step, device, phase, found.method, found.confidence, all_caveats,
        level=found.level, op_pass=found.op_pass, says=says, denies=denies, settle=found.settle,
    )  # fmt: skip


def _outside(trace: Trace, in_scope: np.ndarray, found: FoundSteps) -> tuple[Caveat, ...]:
    """Ops of the device that belong to no step: orphans of an earlier one, or work launched by other threads."""
    outside = in_scope & (found.op_step < 0)
    count, total = int(outside.sum()), max(int(in_scope.sum()), 1)
    if not count:
        return ()
    orphans = int((outside & trace.gpu_ops["launch_id"].is_null().to_numpy()).sum()) if trace.calls.height else 0
    aside = _launched_aside(trace, outside, found)
    parts = (
        f"{orphans} launched before the recording began or by calls it lacks" if orphans else "",
        f"{aside} launched by other threads while a step ran (a backward pass does that)" if aside else "",
        f"{count - orphans - aside} between the steps" if count > orphans + aside else "",
    )
    share = 100.0 * count / total
    text = (
        f"{count} GPU ops ({share:.1f} %) belong to no step: {', '.join(p for p in parts if p)};"
        " they are in no figure per step"
    )
    severe = share > OUTSIDE_PCT or 100.0 * aside / total > ASIDE_PCT
    return (Caveat("ops_outside_steps", text, count, "warning" if severe else "note"),)


def _launched_aside(trace: Trace, outside: np.ndarray, found: FoundSteps) -> int:
    """How many of these ops were launched while a step's annotation was open, so by another thread."""
    hosts = [host for host in found.host_ns if host]
    launch = trace.gpu_ops["launch_id"].fill_null(-1).to_numpy()
    stray = trace.calls["start_ns"].to_numpy()[launch[outside & (launch >= 0)]]
    if found.method != "annotations" or not hosts or not stray.size:
        return 0
    begin, end = np.array(hosts, dtype=np.int64).T
    return int(np.count_nonzero(covered_length(stray, stray + 1, begin, end)))


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


def _without_empty(found: FoundSteps) -> FoundSteps:
    """Drop steps that own no op and renumber the rest."""
    owned = np.bincount(found.op_step[found.op_step >= 0], minlength=len(found.names)) > 0
    new_index = np.where(owned, np.cumsum(owned) - 1, -1).astype(np.int32)
    op_step = np.where(found.op_step >= 0, new_index[np.maximum(found.op_step, 0)], -1).astype(np.int32)
    kept = np.flatnonzero(owned)
    return replace(
        found,
        names=tuple(found.names[i] for i in kept),
        parsed=tuple(found.parsed[i] for i in kept),
        host_ns=tuple(found.host_ns[i] for i in kept),
        cut_off=tuple(int(np.searchsorted(kept, i)) for i in found.cut_off if owned[i]),
        op_step=op_step,
    )


def _table(trace: Trace, found: FoundSteps) -> pl.DataFrame:
    """One row per step with its GPU window, busy time, interval and counts; null where no op has usable times."""
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
    interval = pl.col("start_ns").shift(-1) - pl.col("start_ns")
    return (
        _facts(found)
        .with_columns(pl.Series("busy_ns", busy, dtype=pl.Int64))
        .join(sums, on="step_index", how="left", maintain_order="left")
        .with_columns(
            (pl.col("end_ns") - pl.col("start_ns")).alias("window_ns"),
            pl.when(interval > 0).then(interval).alias("interval_ns"),
        )
        .with_columns(pl.when(pl.col("window_ns").is_not_null()).then("busy_ns").alias("busy_ns"))
    )


def _device_busy(trace: Trace, frame: pl.DataFrame, device: int | None) -> pl.Series:
    """How long the device works, for whomever, from the start of each step to that of the next, else to its end."""
    mine = trace.gpu_ops["device"].eq_missing(pl.Series([device], dtype=pl.Int32))
    ops = trace.gpu_ops.select("start_ns", "end_ns").filter(mine).drop_nulls()
    until = pl.coalesce(pl.col("start_ns") + pl.col("interval_ns"), "end_ns")
    starts = frame["start_ns"].fill_null(0).to_numpy()
    ends = frame.select(until.alias("until"))["until"].fill_null(0).to_numpy()
    busy = covered_length(starts, np.maximum(starts, ends), ops["start_ns"].to_numpy(), ops["end_ns"].to_numpy())
    return pl.Series("device_busy_ns", busy, dtype=pl.Int64)


def _closed(trace: Trace, found: FoundSteps) -> tuple[np.ndarray, np.ndarray]:
    """Which steps are known to be whole, and which own launches without work.

    A step is whole whose annotation is closed and each of whose launches has its work.
    """
    count = len(found.names)
    hosts = [host or (0, 0) for host in found.host_ns]
    if found.method != "annotations" or trace.calls.is_empty() or count == 0:
        return np.zeros(count, dtype=np.bool_), np.zeros(count, dtype=np.bool_)
    owner = np.zeros(trace.calls.height, dtype=np.bool_)
    owner[trace.gpu_ops["launch_id"].drop_nulls().to_numpy()] = True
    kinds = trace.calls["kind"].is_in(["launch", "graph_launch"]).to_numpy()
    barren = trace.calls["start_ns"].to_numpy()[kinds & ~owner]
    begin, end = np.array(hosts, dtype=np.int64).T
    without = np.searchsorted(barren, end, side="left") - np.searchsorted(barren, begin, side="left")
    whole: np.ndarray = (without == 0) & (end > begin)
    for edge, like in ((0, 1), (count - 1, count - 2)) if count > 1 else ():
        whole[edge] &= not _cut_short(trace, found.op_step, edge, like)
    return whole, without > 0


def _cut_short(trace: Trace, op_step: np.ndarray, edge: int, like: int) -> bool:
    """Whether the first step runs only the end of what its neighbour runs, or the last only the begin."""
    names = trace.gpu_ops["name"].to_physical().to_numpy()
    one, other = names[op_step == edge], names[op_step == like]
    if one.size >= other.size or one.size == 0:
        return False
    return bool((one == (other[-one.size :] if edge < like else other[: one.size])).all())


def _facts(found: FoundSteps) -> pl.DataFrame:
    """What the method says of each step."""
    return pl.DataFrame(
        {
            "step_index": pl.Series(np.arange(len(found.names), dtype=np.int32)),
            "name": pl.Series(found.names, dtype=pl.String),
            "phase": pl.Series([p.phase for p in found.parsed], dtype=pl.String),
            "engine": pl.Series([p.engine for p in found.parsed], dtype=pl.String),
            "batch_size": pl.Series([p.batch_size for p in found.parsed], dtype=pl.Int64),
            "cpu_ns": pl.Series([host[1] - host[0] if host else None for host in found.host_ns], dtype=pl.Int64),
        }
    )
