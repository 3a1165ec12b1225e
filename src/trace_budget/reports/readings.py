"""The readings of a trace in words and in the JSON documents."""

from __future__ import annotations

from trace_budget.analysis.readings.pick import described
from trace_budget.projection.reading import Reading
from trace_budget.schema.documents import project as documents
from trace_budget.schema.documents.structure import StepReading
from trace_budget.schema.findings import Findings
from trace_budget.schema.report import Line
from trace_budget.units import show_us, us_from_ns


def projected(readings: tuple[Reading, ...]) -> list[documents.Reading]:
    """Each reading with what a candidate comes to under it; the first is the one the figures are of."""
    return [
        documents.Reading(
            level=one.level,
            method=one.method,
            confidence=one.confidence,
            for_=list(one.says),
            against=list(one.denies),
            token_us=us_from_ns(one.token_ns),
            calls_per_step=int(one.calls_per_step) if one.calls_per_step.is_integer() else one.calls_per_step,
            layers=one.layers,
            pct=documents.Ends(*one.pct),
            verdict=one.verdict,
            settle=one.settle,
        )
        for one in readings
    ]


def structural(found: Findings) -> list[StepReading]:
    """Each reading of the steps with its evidence."""
    return [
        StepReading(
            level=one.steps.level,
            method=one.steps.method,
            confidence=one.steps.confidence,
            for_=list(one.steps.says),
            against=list(one.steps.denies),
            step_us=us_from_ns(one.steps.step_ns),
            steps=len(one.steps.used),
            measure=one.steps.measure,
            layers=one.layers.layers or None,
            settle=one.steps.settle or f"--reading {number}",
        )
        for number, one in enumerate((found, *found.others), 1)
    ]


def lines(found: Findings) -> tuple[Line, ...]:
    """One paragraph per reading: what it is, what speaks for it and what against."""
    out: list[Line] = []
    for number, one in enumerate((found, *found.others), 1):
        steps = one.steps
        out.append(Line(f"reading {number}: {described(steps)}, {show_us(us_from_ns(steps.step_ns))} us"))
        out += [Line(f"  for: {reason}", "dim") for reason in steps.says]
        out += [Line(f"  against: {reason}", "dim") for reason in steps.denies]
        if found.others:
            out.append(Line(f"  to choose it: {steps.settle or f'--reading {number}'}", "dim"))
    return tuple(out)
