"""Passes in one step: the whole model run several times, as micro-batches or several tokens do."""

from __future__ import annotations

import numpy as np

from trace_budget.analysis.layers.names import Names
from trace_budget.analysis.layers.tandem import best_run
from trace_budget.schema.findings import Int64Array

MOST = 64  # passes in a step looked for
MOSTLY = 0.5  # share of a pass that its layers make
LAYERS = 3  # repetitions inside a pass that make it more than a layer


def equal_passes(codes: Int64Array, names: Names) -> Int64Array | None:
    """Where each of several equal passes begins; None where the sequence is one pass, or nobody can know.

    Passes follow each other without rest, each repeats layers, and each has kernels of its own at its ends: none that
    mix tokens, none that its layers run, and among them an embedding, a head or a sampler by its name. Layers of
    several kinds in turns repeat, too.
    """
    values, counts = np.unique(codes, return_counts=True)
    for times in np.unique(counts[(counts > 1) & (counts <= MOST)])[::-1].tolist():
        size, over = divmod(codes.size, times)
        # What a first or last pass lacks or adds: a copy of the tokens, a sampler after all of them.
        marks = values[counts == times]
        starts = _starts(codes, marks, size if not over else None)
        if starts is None:
            continue
        part = codes[starts[0] : starts[1]]
        if starts.size == times and _is_pass(part, names):
            return starts
    return None


def _starts(codes: Int64Array, marks: Int64Array, size: int | None) -> Int64Array | None:
    """Begins of equal stretches that hold each mark once and leave hardly anything over."""
    places = np.flatnonzero(codes == marks[0])
    distance = np.unique(np.diff(places))
    if distance.size != 1:
        return None
    period = int(distance[0])
    total = period * places.size
    spare = codes.size - total
    if spare < 0 or spare > places.size or (size is not None and size != period and spare == 0):
        return None
    equal = codes[period:] == codes[:-period]
    first = int(np.argmax(equal)) if equal.any() else codes.size
    if first > spare or not equal[first : first + total - period].all():
        return None
    return first + period * np.arange(places.size)


def _is_pass(part: Int64Array, names: Names) -> bool:
    """Whether a stretch that repeats is a whole pass: layers, and something at its ends that is in none of them."""
    run = best_run(part)
    if run is None or run.repeats < LAYERS or run.stop - run.first < MOSTLY * part.size:
        return False
    beside = np.concatenate((part[: run.first], part[run.stop :]))
    own = beside[~np.isin(beside, part[run.first : run.stop])]
    if own.size == 0 or names.are("mixers", beside).any():
        return False
    return bool(names.are("ends", own).any())
