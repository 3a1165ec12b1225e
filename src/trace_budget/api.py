"""Opening and analysing: the way from a file to what the questions are asked of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

from trace_budget.analysis.health import with_warnings
from trace_budget.analysis.layers import find_layers
from trace_budget.analysis.overlap import find_overlap
from trace_budget.analysis.steps import find_steps
from trace_budget.contracts import Reader, ReadOptions
from trace_budget.errors import InputError, NotInTraceError
from trace_budget.inputs.detect import detect
from trace_budget.schema.caveats import advice_for
from trace_budget.schema.damaged_names import with_damaged_names
from trace_budget.schema.findings import Findings, Layers, Steps
from trace_budget.schema.options import Scope
from trace_budget.schema.trace import Trace

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


def analyse(trace: Trace, scope: Scope = EVERYTHING) -> Findings:
    """Steps, layers and overlap of a trace.

    Raises InputError when it holds no device work, NotInTraceError when it lacks the steps, phase or device asked for.
    """
    with_timeline(trace)
    steps = with_warnings(trace, find_steps(trace, scope))
    first = Findings(trace, steps, layers_of_passes(trace, steps, scope), find_overlap(trace))
    return replace(first, others=tuple(_by_reading(first, other, scope) for other in steps.others))


def _by_reading(first: Findings, steps: Steps, scope: Scope) -> Findings:
    """What another reading of the trace finds; what it shares with the first is not worked out again."""
    same = steps.op_step is first.steps.op_step and (steps.used.tolist() == first.steps.used.tolist())
    steps = with_warnings(first.trace, steps)
    return replace(first, steps=steps, layers=first.layers if same else layers_of_passes(first.trace, steps, scope))


def layers_of_passes(trace: Trace, steps: Steps, scope: Scope = EVERYTHING) -> Layers:
    """The layers of each pass: where a step holds several (drafts and a target), those of its longest one."""
    if steps.op_pass is None:
        return find_layers(trace, steps, scope)
    count = int(steps.op_pass.max()) + 1
    used = np.isin(steps.op_step, steps.used) & (steps.op_pass >= 0)
    chosen = np.zeros(count, dtype=np.bool_)
    chosen[steps.op_pass[used]] = True
    frame = pl.DataFrame({"step_index": pl.Series(np.arange(count, dtype=np.int32)), "used": chosen})
    return find_layers(trace, replace(steps, frame=frame, op_step=steps.op_pass), scope)


def with_timeline(trace: Trace) -> None:
    """Raise NotInTraceError for sums without a timeline, InputError for a trace without device work."""
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
