"""The page: an answer with its pictures, and how the figures were come by."""

from __future__ import annotations

from trace_budget._version import VERSION
from trace_budget.projection.project import Found, Projection
from trace_budget.reports import figures, pictures
from trace_budget.reports.pictures import Marked
from trace_budget.reports.strip import step_strip, typical_step
from trace_budget.schema.page import Curve, Figure, Mark, Page, Waterfall
from trace_budget.schema.report import Line, Report
from trace_budget.units import show_bytes, show_count, show_us, us_from_ns

MOST_THRESHOLDS = 25


def page(
    found: Found,
    answer: Report,
    projection: Projection | None = None,
    curve: Curve | None = None,
    waterfall: Waterfall | None = None,
) -> Page:
    """All pictures that fit the answer: with a projection its kernel stands out, else the one with the most time."""
    marked = _marked(found, projection)
    step = typical_step(found)
    strip = step_strip(found, step, marked.op_id, marked.title, projection)
    shown: tuple[Figure, ...] = (
        *((figures.curve_figure(curve),) if curve else ()),
        *((figures.waterfall_figure(waterfall),) if waterfall else ()),
        figures.strip_figure(strip, step, projection is not None),
        *figures.layer_figure(found, marked),
        figures.kernel_figure(found, marked),
        *figures.histogram_figure(found, marked, _marks(projection)),
        figures.step_figure(found),
    )
    return Page(marked.title if projection else found.trace.path, answer, shown, _notes(found, projection))


def _marked(found: Found, projection: Projection | None) -> Marked:
    if projection is None:
        return pictures.heaviest(found)
    match = projection.match
    return Marked(match.kernel, match.ops["op_id"].to_numpy(), match.names)


def _marks(projection: Projection | None) -> tuple[Mark, ...]:
    """Today's median duration, and what the candidate would make of it."""
    median = projection.match.ops["dur_ns"].median() if projection else None
    if projection is None or not isinstance(median, (int, float)):
        return ()
    new = float(median) - float(projection.saving.expected.mean())
    marks = (Mark("median today", us_from_ns(float(median))), Mark("with the candidate", us_from_ns(new)))
    return marks if new > 0 and not projection.candidate.free else marks[:1]


def _notes(found: Found, projection: Projection | None) -> tuple[Line, ...]:
    trace, steps, layers = found.trace, found.steps, found.layers
    size = f", {show_bytes(trace.source_bytes)}" if trace.source_bytes is not None else ""
    device = f", {trace.device_name}" if trace.device_name else ""
    rank = f", rank {trace.rank}" if trace.rank is not None else ""
    read = (
        f"Read from {trace.path} ({trace.format}{size}{device}{rank}): {show_count(trace.gpu_ops.height)} GPU "
        f"ops{'' if trace.complete else '; the file is PARTIAL'}. Times are as recorded, on a grid of "
        f"{trace.resolution_ns} ns."
    )
    counted = (
        f"{len(steps.used)} of {steps.frame.height} steps count, phase {steps.phase}, found by {steps.method} with "
        f"{steps.confidence} confidence; the step time of {show_us(us_from_ns(steps.step_ns))} us is their median."
    )
    found_layers = (
        f"{layers.layers} layers, found by {layers.method} with {layers.confidence} confidence."
        if layers.layers
        else "No repeated layers were found: there is no layer map, and nothing is said per layer."
    )
    texts = [read, counted, found_layers, *_method(projection), f"Written by trace-budget {VERSION}."]
    return tuple(Line(text) for text in texts)


def _method(projection: Projection | None) -> list[str]:
    if projection is None:
        return ["No candidate was named: the kernel with the most time is marked, and nothing is projected."]
    limits = projection.limits
    return [
        "The bounds follow each call's saving through launches, streams and waits of the recorded steps: the order "
        f"of work stays, what depends on an op starts within {show_us(us_from_ns(limits.gap_max_ns))} us of its end, "
        f"and kernels do not slow each other down. They were computed on {limits.steps} step(s).",
        "Expected moves each op by the slack it had in this trace; low and high give every cause that the trace "
        "leaves open its least and its most favourable reading. The naive product is us per call x calls.",
        f"An endpoint gains about {projection.verdict.dilution:g} of a projected saving (the dilution); the verdict "
        "compares the low bound with it and the high bound without.",
    ]
