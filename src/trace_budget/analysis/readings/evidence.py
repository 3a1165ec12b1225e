"""Evidence: what speaks for a reading and what against it, worked out from its units alone."""

from __future__ import annotations

import numpy as np
import polars as pl

from trace_budget.analysis.readings.hypotheses import explained
from trace_budget.analysis.steps.annotated import FoundSteps
from trace_budget.schema.trace import Trace

MOST = 0.9
LITTLE = 0.5


def evidence(
    trace: Trace, in_scope: np.ndarray, found: FoundSteps, frame: pl.DataFrame
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(for, against): coverage, sameness, marks, launches and idle time at the borders of the units."""
    held = explained(trace, in_scope, found)
    says, denies = [*found.says], [*found.denies]
    (says if held >= LITTLE else denies).append(f"they hold {100 * held:.1f} % of the device time")
    if found.method.startswith(("annotations", "passes in annotations", "cycles of annotations", "gpu_annotations")):
        says.append("annotations mark them")
    if "graph launches" in found.method:
        says.append("graph launches open them")
    if frame.height > 1:
        classes = frame.group_by("class_index").len()
        again = classes.filter(pl.col("len") > 1)["len"].sum() / frame.height
        detail = f"{100 * again:.0f} % of them run the kernels of another one"
        (says if again >= MOST else denies).append(detail)
        idle = _idle_at_borders(frame)
        if idle is not None and idle >= LITTLE:
            says.append(f"{100 * idle:.0f} % of the idle time lies between them")
    return tuple(says), tuple(denies)


def _idle_at_borders(frame: pl.DataFrame) -> float | None:
    """Share of the idle time between the first and the last unit that lies between units; None without any."""
    rows = frame.drop_nulls(["interval_ns", "window_ns", "busy_ns"])
    if rows.is_empty():
        return None
    between = float((rows["interval_ns"] - rows["window_ns"]).clip(0).sum())
    inside = float((rows["window_ns"] - rows["busy_ns"]).clip(0).sum())
    return between / (between + inside) if between + inside > 0 else None
