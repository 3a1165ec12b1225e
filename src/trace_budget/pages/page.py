"""The page: an answer with its pictures, and how the figures were come by."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import polars as pl

from trace_budget._version import VERSION
from trace_budget.errors import OutputError
from trace_budget.pages import figures, pictures, static_figures
from trace_budget.pages.curve import sensitivity
from trace_budget.pages.forest import forest
from trace_budget.pages.needed import needed
from trace_budget.pages.one_layer import one_layer
from trace_budget.pages.pictures import Marked
from trace_budget.pages.strip import step_strip, typical_step
from trace_budget.pages.tornado import tornado
from trace_budget.pages.waterfall import cascade
from trace_budget.projection.candidates import Candidate, CandidateSet
from trace_budget.projection.project import Prepared, Projection, prepare
from trace_budget.projection.rank import Ranking
from trace_budget.projection.replay.schedule import Claim
from trace_budget.schema.findings import Findings, Int64Array
from trace_budget.schema.options import Policy
from trace_budget.schema.page import Figure, Mark, Page, Waterfall
from trace_budget.schema.report import Line, Report
from trace_budget.units import show_bytes, show_count, show_us, us_from_ns

MOST_THRESHOLDS = 25
JOINT_TITLE = "kernels of the candidates"


def trace_page(found: Findings, answer: Report, policy: Policy) -> Page:
    """Without a candidate: the kernel with the most time stands out, nothing is projected."""
    note = "No candidate was named: the kernel with the most time is marked, and nothing is projected."
    share = needed(answer.table, policy, answer.tables[0].among)
    shown = (*static_figures.needed_figure(share), *_figures(found, pictures.heaviest(found), (), ()))
    return Page(found.trace.path, answer, shown, _notes(found, [note]))


def candidate_page(ready: Prepared, candidate: Candidate, projection: Projection, answer: Report) -> Page:
    """One candidate: its curve (not for a fused sequence), and the step with and without it."""
    found, claims = ready.found, projection.claims[:1]
    match = projection.match
    marked = Marked(match.kernel, _ops_of(claims), match.names)
    known = candidate.selection is not None
    curves = (figures.curve_figure(sensitivity(ready, candidate, projection)),) if known else ()
    factors = _factors(ready, candidate, projection)
    shown = (*curves, *factors, *_figures(found, marked, claims, _marks(projection)))
    return Page(match.kernel, answer, shown, _notes(found, _method(projection)))


def ranking_page(found: Findings, asked: CandidateSet, ranking: Ranking, answer: Report) -> Page:
    """Many candidates: what they save together, the curve of the best, and the step with all that count."""
    chosen = [row for row in ranking.rows if row.chosen]
    claims = tuple(row.alone.claims[0] for row in chosen)
    names = tuple(dict.fromkeys(name for row in chosen for name in row.alone.match.names))
    best = ranking.rows[0]
    curves: tuple[Figure, ...] = ()
    if best.candidate.selection is not None:
        ready = prepare(found, asked.token, asked.policy)
        curves = (figures.curve_figure(sensitivity(ready, best.candidate, best.alone), best.candidate.id),)
    waterfall = figures.waterfall_figure(_waterfall(ranking))
    ranges = _ranges(ranking, asked)
    shown = (*ranges, waterfall, *curves, *_figures(found, Marked(JOINT_TITLE, _ops_of(claims), names), claims, ()))
    return Page(f"{len(ranking.rows)} candidates", answer, shown, _notes(found, _method(best.alone)))


def _factors(ready: Prepared, candidate: Candidate, projection: Projection) -> tuple[Figure, ...]:
    """From the product to what is left, and what each assumption moves it by; nothing for what is INVALID."""
    if projection.verdict.verdict == "INVALID":
        return ()
    left = static_figures.cascade_figure(cascade(projection, _kernels(ready.found)))
    if candidate.selection is None:
        return (left,)
    return left, static_figures.tornado_figure(
        tornado(ready.found, candidate, ready.asked, ready.policy, _kernels(ready.found))
    )


def _kernels(found: Findings) -> tuple[str, ...]:
    """Every kernel of the trace, from which a label is told apart."""
    names: list[str] = found.trace.gpu_ops["name"].unique(maintain_order=True).cast(pl.String).drop_nulls().to_list()
    return tuple(names)


def _ranges(ranking: Ranking, asked: CandidateSet) -> tuple[Figure, ...]:
    if all(row.alone.saving.invalid for row in ranking.rows):
        return ()
    return (static_figures.forest_figure(forest(ranking, asked)),)


def _one_layer(found: Findings, marked: Marked) -> tuple[Figure, ...]:
    if not found.layers.layers:
        return ()
    with suppress(OutputError):  # the step drawn may lie outside all layers
        return (static_figures.one_layer_figure(one_layer(found, marked.names, _kernels(found))),)
    return ()


def _ops_of(claims: tuple[Claim, ...]) -> Int64Array:
    return np.unique(np.concatenate([ops for claim in claims for ops in (claim.op_id, claim.vanishing)]))


def _figures(found: Findings, marked: Marked, claims: tuple[Claim, ...], marks: tuple[Mark, ...]) -> tuple[Figure, ...]:
    """The pictures every page has."""
    step = typical_step(found)
    return (
        figures.strip_figure(step_strip(found, step, marked, claims), step, bool(claims)),
        *figures.layer_figure(found, marked),
        *_one_layer(found, marked),
        figures.kernel_figure(found, marked),
        *figures.histogram_figure(found, marked, marks),
        figures.step_figure(found),
    )


def _waterfall(ranking: Ranking) -> Waterfall:
    rows = [row for row in ranking.rows if row.chosen]
    token = ranking.rows[0].alone.token
    tokens = token.tokens_per_step
    saved = {
        f"{name}_us": [us_from_ns(getattr(row.alone.limits, name)) / tokens for row in rows]
        for name in ("low", "expected", "high")
    }
    frame = pl.DataFrame({"candidate": [row.candidate.id for row in rows], **saved, "measured": [False] * len(rows)})
    return Waterfall(frame, us_from_ns(ranking.joint.expected) / tokens, us_from_ns(token.token_ns))


def _marks(projection: Projection) -> tuple[Mark, ...]:
    """Today's median duration, and what the candidate would make of it."""
    median = projection.match.ops["dur_ns"].median()
    if not isinstance(median, (int, float)):
        return ()
    new = float(median) - float(projection.saving.expected.mean())
    marks = (Mark("median today", us_from_ns(float(median))), Mark("with the candidate", us_from_ns(new)))
    return marks if new > 0 and not projection.candidate.free else marks[:1]


def _notes(found: Findings, method: list[str]) -> tuple[Line, ...]:
    trace, steps, layers = found.trace, found.steps, found.layers
    size = f", {show_bytes(trace.source_bytes)}" if trace.source_bytes is not None else ""
    device = f", {trace.device_name}" if trace.device_name else ""
    rank = f", rank {trace.rank}" if trace.rank is not None else ""
    read = (
        f"Read from {trace.path} ({trace.format}{size}{device}{rank}): {show_count(trace.gpu_ops.height)} GPU ops"
        f"{'' if trace.complete else '; the file is PARTIAL'}. Times are as recorded, on a grid of "
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
    return tuple(Line(text) for text in (read, counted, found_layers, *method, f"Written by trace-budget {VERSION}."))


def _method(projection: Projection) -> list[str]:
    limits = projection.limits
    return [
        "The bounds follow each call's saving through launches, streams and waits of the recorded steps: the order of "
        f"work stays, what depends on an op starts within {show_us(us_from_ns(limits.gap_max_ns))} us of its end, and "
        f"kernels do not slow each other down. They were computed on {limits.steps} step(s).",
        "Expected moves each op by the slack it had in this trace; low and high give every cause that the trace leaves "
        "open its least and its most favourable reading. The naive product is us per call x calls.",
        f"An endpoint gains about {projection.verdict.dilution:g} of a projected saving (the dilution); the verdict "
        "compares the low bound with it and the high bound without.",
    ]
