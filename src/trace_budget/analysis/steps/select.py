"""Which steps count: one phase, one class, no partial or outlying steps, and what the user asked for."""

from __future__ import annotations

import numpy as np
import polars as pl

from trace_budget.errors import NotInTraceError, UsageError
from trace_budget.schema.findings import PHASES
from trace_budget.schema.options import Scope
from trace_budget.schema.trace import Caveat, Trace

OUTLIER_SIGMAS = 5.0
SIGMA_PER_MAD = 1.4826
OUTLIER_SHARE = 0.05  # a step within 5 % of the median is never an outlier, however quiet the rest is
PARTIAL_SHARE = 0.98


def choose(trace: Trace, steps: pl.DataFrame, scope: Scope) -> tuple[pl.DataFrame, str, tuple[Caveat, ...]]:
    """Add complete, used and why_out; return the table, the phase of the used steps and caveats.

    Raises NotInTraceError when no step is left, UsageError for an unreadable step range.
    """
    steps = _completeness(trace, steps)
    asked = _asked(steps, scope)
    phase = scope.phase or _main_phase(steps.filter(asked))
    why = (
        pl.when(~pl.lit(asked))
        .then(pl.lit("not asked for"))
        .when(pl.col("phase") != phase)
        .then(pl.lit("other phase"))
        .when(~pl.col("complete"))
        .then(pl.lit("partial"))
        .otherwise(pl.lit(""))
    )
    steps = steps.with_columns(why.alias("why_out"))
    steps = _one_class(steps)
    if scope.steps is None:
        steps = _without_outliers(steps)
    steps = _always_one(steps.with_columns((pl.col("why_out") == "").alias("used")), trace, scope, phase)
    return steps, phase, _caveats(steps)


def _completeness(trace: Trace, steps: pl.DataFrame) -> pl.DataFrame:
    """Mark partial steps: a first or last one that runs fewer kernels than its class, and the last of a cut file."""
    usual = pl.col("kernels").median().over("phase", "class_index")
    most = pl.col("kernels").median().over("phase")
    edge = pl.col("step_index").is_in([0, steps.height - 1])
    short = edge & ((pl.col("kernels") < PARTIAL_SHARE * usual) | (pl.col("kernels") < 0.5 * most))
    cut = pl.lit(not trace.complete) & (pl.col("start_ns") == pl.col("start_ns").max())
    return steps.with_columns((~(short | cut)).alias("complete"))


def _asked(steps: pl.DataFrame, scope: Scope) -> pl.Series:
    chosen = step_slice(scope.steps, steps.height) if scope.steps else range(steps.height)
    if scope.phase is not None and scope.phase not in PHASES:
        raise UsageError("no such phase", where="--phase", expected=", ".join(PHASES), found=scope.phase)
    return steps["step_index"].is_in(list(chosen))


def step_slice(text: str, count: int) -> range:
    """The step indexes of a slice text: `3:`, `:10`, `2:5`, `-1:` or a single `4`. UsageError when unreadable."""
    parts = text.split(":")
    try:
        numbers = [int(part) if part.strip() else None for part in parts]
    except ValueError as error:
        raise UsageError(
            "not a step range", where="--steps", expected="START:STOP or a number", found=repr(text)
        ) from error
    if len(numbers) == 1 and numbers[0] is not None:
        index = numbers[0] + count if numbers[0] < 0 else numbers[0]
        return range(count)[index : index + 1] if index >= 0 else range(0)
    if len(numbers) != 2:
        raise UsageError("not a step range", where="--steps", expected="START:STOP or a number", found=repr(text))
    return range(count)[numbers[0] : numbers[1]]


def _main_phase(steps: pl.DataFrame) -> str:
    """Decode where there is any complete decode step, else the phase with the most device time."""
    complete = steps.filter(pl.col("complete"))
    rows = steps if complete.is_empty() else complete
    if rows.is_empty():
        return "other"
    if (rows["phase"] == "decode").any():
        return "decode"
    return str(
        rows.group_by("phase")
        .agg(pl.col("busy_ns").sum())
        .sort("busy_ns", "phase", descending=[True, False])["phase"][0]
    )


def _one_class(steps: pl.DataFrame) -> pl.DataFrame:
    """Of steps whose phase no annotation tells, keep the class that holds the most device time."""
    inside = steps.filter(pl.col("why_out") == "")
    unnamed = inside.filter(pl.col("phase") == "other")
    if unnamed.is_empty() or unnamed["class_index"].n_unique() < 2:
        return steps
    time = unnamed.group_by("class_index").agg(pl.col("busy_ns").sum(), pl.len().alias("steps"))
    main = time.sort("busy_ns", "class_index", descending=[True, False])["class_index"][0]
    unlike = (pl.col("why_out") == "") & (pl.col("class_index") != main)
    return steps.with_columns(pl.when(unlike).then(pl.lit("other kernels")).otherwise("why_out").alias("why_out"))


def _without_outliers(steps: pl.DataFrame) -> pl.DataFrame:
    """Leave out warm-up and stalled steps: far above their peers' median in window or in interval."""
    rows = steps.filter(pl.col("why_out") == "")
    if rows.height < 4:
        return steps
    far = np.zeros(rows.height, dtype=bool)
    for column in ("window_ns", "interval_ns"):
        values = rows[column].cast(pl.Float64).to_numpy()
        median = np.nanmedian(values)
        spread = SIGMA_PER_MAD * np.nanmedian(np.abs(values - median))
        # A long interval says that the host paused after this step, not that the step itself is odd.
        far |= np.abs(values - median) > max(OUTLIER_SIGMAS * spread, OUTLIER_SHARE * median)
    out = rows["step_index"].filter(pl.Series(far))
    return steps.with_columns(
        pl.when(pl.col("step_index").is_in(out.to_list())).then(pl.lit("outlier")).otherwise("why_out").alias("why_out")
    )


def _always_one(steps: pl.DataFrame, trace: Trace, scope: Scope, phase: str) -> pl.DataFrame:
    """Raise when nothing counts; a trace whose only steps are partial is never projected from silently."""
    if steps["used"].any():
        return steps
    partial = steps.filter(pl.col("why_out") == "partial")
    if not partial.is_empty():
        raise NotInTraceError(
            "no whole step: the only steps asked for are cut off",
            where=trace.path,
            expected="at least one complete step",
            found=f"{partial.height} partial",
            advice="Record a few more steps.",
        )
    phases = ", ".join(sorted(set(steps["phase"].to_list()))) or "none"
    raise NotInTraceError(
        "no step left to count",
        where=trace.path,
        expected=f"steps {scope.steps or ':'} of phase {phase}",
        found=f"{steps.height} steps, phases {phases}",
    )


def _caveats(steps: pl.DataFrame) -> tuple[Caveat, ...]:
    used = steps.filter(pl.col("used"))
    out = [
        Caveat(
            code, f"{rows.height} step(s) kept out of medians: {reason}", rows.height, severity, str(rows["name"][0])
        )
        for code, reason, severity in (
            ("partial_steps", "partial", "note"),
            ("outlier_steps", "outlier", "note"),
            ("unlike_steps", "other kernels", "note"),
        )
        if not (rows := steps.filter(pl.col("why_out") == reason)).is_empty()
    ]
    if used.height == 1:
        out.append(
            Caveat(
                "single_step",
                "one step only: no spread, no confidence interval; token time is its GPU window",
                1,
                "warning",
            )
        )
    if used["batch_size"].n_unique() > 1:
        sizes = sorted(set(used["batch_size"].drop_nulls().to_list()))
        out.append(
            Caveat(
                "several_batch_sizes",
                f"steps of {len(sizes)} batch sizes ({sizes[0]} to {sizes[-1]}) are averaged; --steps picks a range",
                len(sizes),
                "warning",
            )
        )
    if used["kernels"].n_unique() > 1:
        counts = sorted(used["kernels"].to_list())
        out.append(
            Caveat("kernels_per_step_vary", f"the steps run {counts[0]} to {counts[-1]} kernels", used.height, "note")
        )
    return tuple(out)
