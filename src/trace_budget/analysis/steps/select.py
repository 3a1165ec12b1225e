"""Which steps count: one phase, one class, no partial or outlying steps, and what the user asked for."""

from __future__ import annotations

import numpy as np
import polars as pl

from trace_budget.analysis.readings.cycles import PartsOf
from trace_budget.errors import NotInTraceError, UsageError
from trace_budget.schema.caveats import advice_for
from trace_budget.schema.findings import Int32Array
from trace_budget.schema.options import Scope
from trace_budget.schema.quantities import PHASES
from trace_budget.schema.trace import Caveat, Trace

OUTLIER_SIGMAS = 5.0
SIGMA_PER_MAD = 1.4826
OUTLIER_SHARE = 0.05  # a step within 5 % of the median is never an outlier, however quiet the rest is
PARTIAL_SHARE = 0.98
FEWEST = 4  # steps that show what an outlier is
RARE = 0.1  # share of the steps up to which outliers are outliers
FEW = 2  # so many may be, however few steps there are: the first and one that stalls
TWICE = 2.0  # variants of one step last at most so many times as long as each other
LEFT_OUT = (("partial_steps", "partial"), ("outlier_steps", "outlier"), ("unlike_steps", "other kernels"))


def choose(
    trace: Trace, steps: pl.DataFrame, scope: Scope, op_step: Int32Array, cut_off: tuple[int, ...] = ()
) -> tuple[pl.DataFrame, str, tuple[Caveat, ...]]:
    """Add complete, used and why_out; return the table, the phase of the used steps and caveats.

    `cut_off` are steps known to be incomplete; `whole` (a column, where the method knows) says that all launches of a
    step are in the trace with their work, `barren` that some own none.

    Raises NotInTraceError when no step is left, UsageError for an unreadable step range.
    """
    steps = _completeness(trace, steps, cut_off)
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
    steps = _alike(trace, steps.with_columns(why.alias("why_out")), op_step, explicit=scope.steps is not None)
    if scope.steps is None:
        steps = _without_outliers(steps)
    steps = _always_one(steps.with_columns((pl.col("why_out") == "").alias("used")), trace, scope, phase)
    return steps, phase, _caveats(steps)


def _completeness(trace: Trace, steps: pl.DataFrame, cut_off: tuple[int, ...]) -> pl.DataFrame:
    """Mark partial steps: a first or last one that runs fewer kernels than its like, and the last of a cut file.

    A step whose launches all have their work is whole, however few they are: experts, requests and drafts vary.
    """
    edge = pl.col("step_index").is_in([0, steps.height - 1])
    like = pl.col("kernels").filter(~edge).min().fill_null(pl.col("kernels").max()).over("phase", "class_index")
    alone = edge.all().over("phase", "class_index")
    # An annotation names the phase, so a step like no inner one of its phase, and shorter, has lost kernels; without
    # annotations it may as well be of another phase, which its class shows.
    usual = pl.col("kernels").filter(~edge).median().over("phase")
    lost = alone & (pl.col("phase") != "other") & (pl.col("kernels") < PARTIAL_SHARE * usual)
    most = pl.col("kernels").median().over("phase")
    short = edge & (
        ((pl.col("kernels") < PARTIAL_SHARE * like) & ~pl.col("whole"))
        | (lost & ~pl.col("whole"))
        | (pl.col("kernels") < 0.5 * most)
    )
    short |= pl.col("step_index").is_in(list(cut_off))
    short |= pl.col("barren") & (pl.col("kernels") < PARTIAL_SHARE * most)
    cut = pl.lit(not trace.complete) & (pl.col("start_ns") == pl.col("start_ns").max())
    partial = short.fill_null(value=False) | cut.fill_null(value=False)
    return steps.with_columns((~partial).alias("complete"))


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


def _alike(trace: Trace, steps: pl.DataFrame, op_step: Int32Array, explicit: bool) -> pl.DataFrame:
    """Of unlike steps keep all that are legitimate: classes that come again, of one phase or variants of one model.

    A class that is rare and not repeated is an outlier. Where no annotation names the phase, steps of unlike names may
    be of another phase: only variants of the class that holds most device time stay, of about its length. Steps the
    user picked are only distinguished there.
    """
    inside = steps.filter(pl.col("why_out") == "")
    inside = inside.filter(pl.col("phase") == "other") if explicit else inside
    if inside["class_index"].n_unique() < 2:
        return steps
    time = inside.group_by("class_index").agg(
        pl.col("busy_ns").sum(), pl.col("busy_ns").median().alias("usual"), pl.len().alias("steps")
    )
    ranked = time.sort("busy_ns", "class_index", descending=[True, False], nulls_last=True)
    main, usual = ranked["class_index"][0], ranked["usual"][0] or 1.0
    parts = PartsOf(trace, op_step, steps["class_index"].fill_null(-1).to_numpy().astype(np.int64))
    same = [int(c) for c in ranked["class_index"].to_list() if parts.same_names(int(c), int(main))]
    known, again = pl.col("class_index").is_in(same), pl.col("steps") > 1
    legitimate = ranked.filter(again | (known & (pl.col("steps") > RARE * inside.height)))
    if (inside["phase"] == "other").any():
        near = pl.col("usual").is_between(usual / TWICE, usual * TWICE)
        legitimate = legitimate.filter(near & known)
    kept = {main, *legitimate["class_index"].to_list()}
    unlike = pl.col("step_index").is_in(inside["step_index"].to_list()) & ~pl.col("class_index").is_in(list(kept))
    return steps.with_columns(pl.when(unlike).then(pl.lit("other kernels")).otherwise("why_out").alias("why_out"))


def _without_outliers(steps: pl.DataFrame) -> pl.DataFrame:
    """Leave out warm-up and stalled steps: far from their class's median in window, or followed by a long pause.

    Outliers are rare; what is far from the median more often is a class of its own (another batch, a clock state).
    """
    out: list[int] = []
    for rows in steps.filter(pl.col("why_out") == "").partition_by("class_index"):
        for column in ("window_ns", "interval_ns"):
            far = _far(rows[column])
            if far.sum() <= max(RARE * rows.height, FEW):
                out += rows["step_index"].filter(far).to_list()
    stray = pl.col("step_index").is_in(out)
    return steps.with_columns(pl.when(stray).then(pl.lit("outlier")).otherwise("why_out").alias("why_out"))


def _far(column: pl.Series) -> pl.Series:
    """Which values lie far from the median, compared with how much the others vary."""
    values = column.drop_nulls().cast(pl.Float64).to_numpy()
    if values.size < FEWEST:
        return pl.Series(np.zeros(column.len(), dtype=bool))
    median = float(np.median(values))
    spread = SIGMA_PER_MAD * float(np.median(np.abs(values - median)))
    return ((column - median).abs() > max(OUTLIER_SIGMAS * spread, OUTLIER_SHARE * median)).fill_null(value=False)


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
            advice=advice_for(trace.caveats, "Record a few more steps."),
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
    out = [_left_out(steps, code, reason) for code, reason in LEFT_OUT]
    if used.height == 1:
        text = "one step only: no spread, no confidence interval; token time is its GPU window"
        out.append(Caveat("single_step", text, 1, "warning"))
    sizes = used["batch_size"].drop_nulls().unique().sort().to_list()
    if len(sizes) > 1:
        text = f"steps of {len(sizes)} batch sizes ({sizes[0]} to {sizes[-1]}) are averaged; --steps picks a range"
        out.append(Caveat("several_batch_sizes", text, len(sizes), "warning"))
    counts, classes = used["kernels"].sort().to_list(), used["class_index"].n_unique()
    if counts[0] != counts[-1]:
        unlike = f", of {classes} classes that run other kernels" if classes > 1 else ""
        text = f"the steps run {counts[0]} to {counts[-1]} kernels{unlike}"
        out.append(Caveat("kernels_per_step_vary", text, used.height, "warning" if unlike else "note"))
    return tuple(caveat for caveat in out if caveat)


def _left_out(steps: pl.DataFrame, code: str, reason: str) -> Caveat | None:
    rows = steps.filter(pl.col("why_out") == reason)
    text = f"{rows.height} step(s) kept out of medians: {reason}"
    return None if rows.is_empty() else Caveat(code, text, rows.height, "note", str(rows["name"][0]))
