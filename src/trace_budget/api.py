"""The whole way from a file to a Report: the only place where the rooms meet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from trace_budget.analysis.layers import find_layers
from trace_budget.analysis.lost_work import with_lost_work
from trace_budget.analysis.overlap import find_overlap
from trace_budget.analysis.steps import find_steps
from trace_budget.contracts import Reader, ReadOptions
from trace_budget.errors import InputError, NotInTraceError
from trace_budget.inputs.detect import detect
from trace_budget.schema.caveats import advice_for
from trace_budget.schema.damaged_names import with_damaged_names
from trace_budget.schema.findings import Found
from trace_budget.schema.options import Change, Policy, Range, Scope, Selection, TokenInput
from trace_budget.schema.trace import Trace

# The rooms of the other questions are imported by the functions that ask them: a command pays for its own alone.
if TYPE_CHECKING:
    from trace_budget.comparison.compare import Asked
    from trace_budget.projection.candidates import Candidate, CandidateSet
    from trace_budget.projection.project import Projection
    from trace_budget.reports.check import Checked
    from trace_budget.schema.page import Curve, Page
    from trace_budget.schema.report import Report
    from trace_budget.schema.timeline import Drawing

EVERYTHING = Scope()


def open_trace(
    path: Path | str,
    format: str | None = None,  # noqa: A002  (the word users know)
    rank: int | None = None,
    trace_processor: str | None = None,
    *,
    cache: bool = False,
) -> Trace:
    """Read one trace of any known format, recognised by content; of a folder the rank asked for, else the lowest.

    With `cache` a large trace is kept as tables, and taken from there when it is read again. Raises InputError for what
    cannot be read, is of no known format or of several, and for folders of unrelated traces.
    """
    return next(_opened(Path(path), format, ReadOptions(rank, trace_processor, cache)))


def open_traces(
    path: Path | str,
    format: str | None = None,  # noqa: A002  (the word users know)
    rank: int | None = None,
    trace_processor: str | None = None,
    *,
    cache: bool = False,
) -> list[Trace]:
    """Read every rank of the job in a folder, the one asked for (else the lowest) first; of a file its one trace."""
    return list(_opened(Path(path), format, ReadOptions(rank, trace_processor, cache)))


def _opened(place: Path, format: str | None, options: ReadOptions) -> Iterator[Trace]:  # noqa: A002
    from trace_budget.inputs.folder import chosen, is_folder

    if not is_folder(place):
        yield _read(detect(place, format), place, options)
        return
    members, caveats = chosen(place, format, options.rank)
    first, *others = members
    rank = first.rank if options.rank is None else options.rank
    yield _read(first.reader, first.path, replace(options, rank=rank)).with_caveats(caveats)
    for other in others:
        yield _read(other.reader, other.path, replace(options, rank=other.rank))


def _read(reader: Reader, path: Path, options: ReadOptions) -> Trace:
    if not options.cache:
        return with_damaged_names(reader.read(path, options))
    from trace_budget.inputs.cache import read_cached

    return with_damaged_names(read_cached(reader, path, options))


def analyse(trace: Trace, scope: Scope = EVERYTHING) -> Found:
    """Steps, layers and overlap of a trace.

    Raises InputError when it holds no device work, NotInTraceError when it lacks the steps, phase or device asked for.
    """
    _with_timeline(trace)
    steps = with_lost_work(trace, find_steps(trace, scope))
    return Found(trace, steps, find_layers(trace, steps, scope), find_overlap(trace))


def _with_timeline(trace: Trace) -> None:
    if trace.aggregates is not None:
        raise NotInTraceError(
            "sums per kernel hold no timeline: steps, layers, overlap and what a token gains cannot be told",
            where=trace.path,
            expected="a trace with timestamps",
            found=trace.format,
            advice="`trace-budget kernels` shows calls and means.",
        )
    if trace.gpu_ops.is_empty():
        raise InputError(
            "no GPU kernels in this trace",
            where=trace.path,
            expected="kernels, copies or memsets",
            found=f"{trace.events or 0} events, none on a device",
            advice=advice_for(
                trace.caveats, "Is this a CPU-only rank, the frontend process, or a recording without GPU activities?"
            ),
        )


def project(
    trace: Trace,
    selection: Selection,
    change: Change,
    scope: Scope = EVERYTHING,
    token: TokenInput | None = None,
    policy: Policy | None = None,
) -> Projection:
    """Project one replacement on a trace."""
    from trace_budget.projection.project import project as project_candidate

    return project_candidate(analyse(trace, scope), selection, change, token or TokenInput(), policy or Policy())


def kernels_report(trace: Trace, scope: Scope = EVERYTHING, kernel: str | None = None) -> Report:
    """Which kernels (all, or those that `kernel` means) run, how often, in which layers, how long and how exposed."""
    from trace_budget.reports import structure

    if trace.aggregates is not None:
        return structure.aggregates_report(trace, kernel)
    return structure.kernels_report(analyse(trace, scope), kernel)


def steps_report(trace: Trace, scope: Scope = EVERYTHING) -> Report:
    """The steps of a trace and which of them count."""
    from trace_budget.reports import structure

    return structure.steps_report(analyse(trace, scope))


def layers_report(
    trace: Trace, scope: Scope = EVERYTHING, kernel: str | None = None, capture: Path | str | None = None
) -> Report:
    """The layers of a step and who hits which; `capture` is a trace of the graph capture, for names."""
    from trace_budget.analysis.capture import captured_names
    from trace_budget.readers.kineto.graph_capture import read_capture
    from trace_budget.reports import capture as capture_room
    from trace_budget.reports import structure

    found = analyse(trace, scope)
    report = structure.layers_report(found, kernel)
    if capture is None:
        return report
    names = captured_names(trace, found.steps, found.layers, read_capture(Path(capture)))
    return capture_room.with_names(report, found, names)


def overlap_report(trace: Trace, scope: Scope = EVERYTHING) -> Report:
    """Busy, idle, hidden and exposed time."""
    from trace_budget.reports import structure

    return structure.overlap_report(analyse(trace, scope))


def check_report(traces: list[Trace], token_ms: float | None = None) -> Report:
    """Whether traces can be trusted; several are taken as ranks of one job."""
    from trace_budget.reports import check as check_room
    from trace_budget.units import ns_from_ms

    token_ns = ns_from_ms(token_ms) if token_ms is not None else None
    return check_room.check_report([_checked(t, token_ns) for t in traces], check_room.across_ranks(traces))


def _checked(trace: Trace, token_ns: float | None) -> Checked:
    from trace_budget.analysis.health import health
    from trace_budget.reports.check import Checked, unusable

    if trace.aggregates is not None or trace.gpu_ops.is_empty():
        return Checked(trace, None, trace.caveats)
    try:
        found = analyse(trace)
    except NotInTraceError as error:
        return Checked(trace, None, (*trace.caveats, unusable(error.line())))
    findings = (*trace.caveats, *found.steps.caveats, *found.layers.caveats, *health(trace, found.steps, token_ns))
    return Checked(trace, found, findings)


def project_report(
    trace: Trace,
    selection: Selection,
    change: Change,
    scope: Scope = EVERYTHING,
    token: TokenInput | None = None,
    policy: Policy | None = None,
) -> Report:
    """What one replacement does end to end."""
    from trace_budget.projection.project import project as project_candidate
    from trace_budget.reports import project as project_room

    found = analyse(trace, scope)
    return project_room.project_report(
        found, project_candidate(found, selection, change, token or TokenInput(), policy or Policy())
    )


def sensitivity(
    trace: Trace,
    candidate: Candidate,
    scope: Scope = EVERYTHING,
    token: TokenInput | None = None,
    policy: Policy | None = None,
) -> Curve:
    """What every saving per call of the candidate's kernel is worth."""
    from trace_budget.pages import curve as curve_room
    from trace_budget.projection.project import prepare, project_many

    ready = prepare(analyse(trace, scope), token or TokenInput(), policy or Policy())
    return curve_room.sensitivity(ready, candidate, project_many(ready, [candidate])[0])


def candidate_page(
    trace: Trace,
    candidate: Candidate,
    scope: Scope = EVERYTHING,
    token: TokenInput | None = None,
    policy: Policy | None = None,
) -> Page:
    """The answer of `project` with its pictures."""
    from trace_budget.pages import page as page_room
    from trace_budget.projection.project import prepare, project_many
    from trace_budget.reports import project as project_room

    ready = prepare(analyse(trace, scope), token or TokenInput(), policy or Policy())
    (projection,) = project_many(ready, [candidate])
    return page_room.candidate_page(ready, candidate, projection, project_room.project_report(ready.found, projection))


def ranking_page(trace: Trace, asked: CandidateSet, scope: Scope = EVERYTHING) -> Page:
    """The answer of `rank` with its pictures."""
    from trace_budget.pages import page as page_room
    from trace_budget.projection.rank import rank
    from trace_budget.reports import rank as rank_room

    found = analyse(trace, scope)
    ranking = rank(found, asked)
    return page_room.ranking_page(found, asked, ranking, rank_room.rank_report(found, ranking, asked))


def trace_page(
    trace: Trace, scope: Scope = EVERYTHING, token: TokenInput | None = None, policy: Policy | None = None
) -> Page:
    """The pictures of a trace without a candidate, with the answer of `threshold`."""
    from trace_budget.pages import page as page_room
    from trace_budget.projection.threshold import threshold
    from trace_budget.reports import inverse

    found, wanted = analyse(trace, scope), policy or Policy()
    rows, time = threshold(found, token or TokenInput(), wanted)
    return page_room.trace_page(found, inverse.threshold_report(found, rows, time, wanted, page_room.MOST_THRESHOLDS))


def candidate_report(
    trace: Trace,
    candidate: Candidate,
    scope: Scope = EVERYTHING,
    token: TokenInput | None = None,
    policy: Policy | None = None,
    others: Sequence[Trace] = (),
) -> Report:
    """What one candidate (a kernel or a fused sequence) does end to end; `others` are further ranks of the job."""
    from trace_budget.projection.project import project_candidate as one_candidate
    from trace_budget.projection.replay.collectives import distinct_ranks
    from trace_budget.reports import project as project_room

    distinct_ranks((trace, *others))
    found, rest = analyse(trace, scope), [analyse(other, scope) for other in others]
    projection = one_candidate(found, candidate, token or TokenInput(), policy or Policy(), rest)
    return project_room.project_report(found, projection)


def mixture_report(
    trace: Trace,
    candidate: Candidate,
    weights: Mapping[str, float],
    scope: Scope = EVERYTHING,
    token: TokenInput | None = None,
    policy: Policy | None = None,
    others: Sequence[Trace] = (),
) -> Report:
    """What a candidate does to a workload of several phases; `weights` are shares of steps by phase."""
    from trace_budget.projection.mixture import Phase, mix
    from trace_budget.projection.replay.collectives import distinct_ranks
    from trace_budget.reports import mixture as mixture_room

    distinct_ranks((trace, *others))
    phases = []
    for phase, share in weights.items():
        steps = replace(scope, phase=phase)
        phases.append(Phase(phase, share, analyse(trace, steps), [analyse(other, steps) for other in others]))
    wanted = policy or Policy()
    mixture = mix(phases, candidate, token or TokenInput(), wanted)
    found = next(one.found for one in phases if one.phase == mixture.main_phase)
    return mixture_room.mixture_report(found, mixture, wanted)


def rank_report(trace: Trace, asked: CandidateSet, scope: Scope = EVERYTHING, others: Sequence[Trace] = ()) -> Report:
    """Many candidates: each alone, all together, and what each adds to the rest."""
    from trace_budget.projection.rank import rank
    from trace_budget.projection.replay.collectives import distinct_ranks
    from trace_budget.reports import rank as rank_room

    distinct_ranks((trace, *others))
    found = analyse(trace, scope)
    return rank_room.rank_report(found, rank(found, asked, [analyse(other, scope) for other in others]), asked)


def timeline(trace: Trace, wanted: Candidate | CandidateSet, scope: Scope = EVERYTHING) -> Drawing:
    """A step (all of `scope.steps`, if given) as measured and as projected, to be drawn in time."""
    from trace_budget.pages import timeline as timeline_room

    return timeline_room.timeline(analyse(trace, scope), wanted, several=scope.steps is not None)


def threshold_report(
    trace: Trace,
    scope: Scope = EVERYTHING,
    token: TokenInput | None = None,
    policy: Policy | None = None,
    limit: int | None = None,
    kernel: str | None = None,
) -> Report:
    """What each kernel would have to save per call."""
    from trace_budget.projection.threshold import threshold
    from trace_budget.reports import inverse

    found, wanted = analyse(trace, scope), policy or Policy()
    rows, time = threshold(found, token or TokenInput(), wanted)
    return inverse.threshold_report(found, rows, time, wanted, limit, kernel)


def compare_report(
    before: Trace, after: Trace, asked: Asked | None = None, scope: Scope = EVERYTHING, basis: str = "auto"
) -> Report:
    """Predicted against realised: two runs set side by side."""
    from trace_budget.comparison.compare import Asked, compare_all
    from trace_budget.comparison.pairing import paired
    from trace_budget.reports import compare as compare_room

    for trace in (before, after):
        _with_timeline(trace)
    found = compare_all(paired(before, after, scope, basis), asked or Asked())
    return compare_room.compare_report(before, after, found)


def estimate_report(
    saving_us: float,
    calls: float | None,
    layers: float | None,
    calls_per_layer: float | None,
    token_ms: float,
    hit_rate: Range | None = None,
    target_pct: float = 1.0,
    tokens_per_step: float = 1.0,
) -> Report:
    """The arithmetic alone; `calls` per step, or `layers` x `calls_per_layer`."""
    from trace_budget.projection.estimate import estimate
    from trace_budget.reports import inverse
    from trace_budget.units import ns_from_ms, us_from_ns

    count = calls if calls is not None else (layers or 0) * (calls_per_layer if calls_per_layer is not None else 1)
    hit, token_us = hit_rate or Range(1.0, 1.0), us_from_ns(ns_from_ms(token_ms))
    result = estimate(saving_us, count, token_us, hit, target_pct, tokens_per_step)
    return inverse.estimate_report(result, saving_us, token_us, hit, target_pct, tokens_per_step)


def formats_report() -> Report:
    """What can be read."""
    from trace_budget import readers
    from trace_budget.reports import reference

    return reference.formats_report([readers.load(name) for name in readers.NAMES])


def schema_report() -> Report:
    """What the tables hold."""
    from trace_budget.reports import reference

    return reference.schema_report()
