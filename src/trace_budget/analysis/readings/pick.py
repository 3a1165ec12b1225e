"""Which of the readings counts, and what is said of the others."""

from __future__ import annotations

from dataclasses import replace

from trace_budget.errors import NotInTraceError
from trace_budget.schema.findings import Steps
from trace_budget.schema.options import Scope
from trace_budget.schema.trace import Caveat, Trace
from trace_budget.units import us_from_ns


def picked(readings: list[Steps], scope: Scope, trace: Trace) -> Steps:
    """The reading asked for alone, else the first with the others. Raises NotInTraceError for one that is not there."""
    if scope.reading is not None:
        if scope.reading > len(readings):
            raise NotInTraceError(
                "no such reading", where=trace.path, expected=f"1 to {len(readings)}", found=str(scope.reading),
                advice="`trace-budget steps` lists the readings of a trace.",
            )  # fmt: skip
        return readings[scope.reading - 1]
    first, *others = readings
    if not others:
        return first
    listed = "; ".join(
        f"{number}. {described(one)}: {us_from_ns(one.step_ns):,.1f} us" for number, one in enumerate(readings, 1)
    )
    text = (
        f"the trace can be read in {len(readings)} ways ({listed}); figures are of the first"
        f" ({' or '.join(dict.fromkeys(one.settle for one in readings if one.settle))} settles it)"
    )
    caveat = Caveat("several_readings", text, len(readings), "warning")
    return replace(first, others=tuple(others), caveats=(*first.caveats, caveat))


def described(steps: Steps) -> str:
    """A reading in a few words."""
    pace = ", device pace" if steps.pace == "device" else ", as served" if steps.settle == "--pace served" else ""
    return f"{steps.phase} {steps.level} by {steps.method}{pace}"
