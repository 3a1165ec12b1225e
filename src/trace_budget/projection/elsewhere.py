"""Where a kernel runs that the counted steps do not: how many calls, and the option that counts them."""

from __future__ import annotations

import polars as pl

from trace_budget.errors import NoSuchKernelError
from trace_budget.projection.names import matching
from trace_budget.schema.findings import Findings

OPTIONS = {
    "other phase": "--phase {phase}",
    "not asked for": "--steps {step}",
    "partial": "",
    "outlier": "--steps {step}",
    "other kernels": "--steps {step}",
}
MOST_TOLD = 3


def told_elsewhere(error: NoSuchKernelError, found: Findings, pattern: str) -> NoSuchKernelError:
    """The error, with where the kernel does run, if it runs anywhere in the trace."""
    names = matching(pattern, found.trace.gpu_ops["name"].unique(maintain_order=True).cast(pl.String).to_list())
    places = _places(found, names) if names else []
    if not places:
        return error
    calls = sum(count for count, _, _ in places)
    listed = "; ".join(f"{count} {where}" for count, where, _ in places[:MOST_TOLD])
    options = list(dict.fromkeys(option for _, _, option in places if option))
    return NoSuchKernelError(
        "the counted steps do not run this kernel, but others do",
        where=error.where,
        expected=error.expected,
        found=f"{calls} calls: {listed}",
        advice=f"{' or '.join(options)} counts them." if options else "Record with ranges around these steps.",
    )


def _places(found: Findings, names: list[str]) -> list[tuple[int, str, str]]:
    """(calls, where, option) of the kernel, most calls first."""
    steps = found.steps
    ops = (
        found.trace.gpu_ops.select("name", "device", "launch_id")
        .with_columns(pl.Series("step_index", steps.op_step))
        .filter(pl.col("name").cast(pl.String).is_in(names))
    )
    left_out = (
        ops.join(steps.frame.select("step_index", "phase", "why_out"), on="step_index", how="inner")
        .group_by("phase", "why_out")
        .agg(pl.len().alias("calls"), pl.col("step_index").min().alias("step"), pl.col("step_index").n_unique())
        .sort("calls", descending=True)
    )
    out = [
        (row["calls"], f"in {row['step_index']} {row['phase']} step(s) left out ({row['why_out']})",
         OPTIONS.get(row["why_out"], "").format(phase=row["phase"], step=row["step"]))
        for row in left_out.filter(pl.col("why_out") != "").rows(named=True)
    ]  # fmt: skip
    other = ops.filter(~pl.col("device").eq_missing(pl.lit(steps.device, dtype=pl.Int32)))
    for device, count in other.group_by("device").len().sort("len", descending=True).rows():
        out.append((count, f"on device {device}", f"--device {device}"))
    stray = ops.filter(
        (pl.col("step_index") < 0) & pl.col("device").eq_missing(pl.lit(steps.device, dtype=pl.Int32))
    ).height
    if stray:
        process = any(caveat.code == "several_processes_on_device" for caveat in steps.caveats)
        where = "of other processes or outside of all steps" if process else "outside of all steps"
        out.append((stray, where, "--process PID" if process else ""))
    return sorted(out, key=lambda place: -place[0])
