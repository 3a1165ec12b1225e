"""Nested annotations: which of the ranges around the same work is the step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from trace_budget.analysis.steps.grammar import Parsed
from trace_budget.schema.findings import Int64Array

COVERS = 0.95  # nested annotations are the same step when they cover this share of the outer one's work


@dataclass(slots=True)
class NestedRange:
    """One annotation with the items (launches, or ops) that start inside it and the annotations nested in it.

    `work` counts the ops of the items, `graph_work` those among them that a graph launch replayed.
    """

    name: str
    parsed: Parsed
    start_ns: int
    end_ns: int
    items: Int64Array
    work: int
    graph_work: int
    inside: list[NestedRange] = field(default_factory=list)


def make_ranges(
    rows: pl.DataFrame,
    texts: Mapping[str, Parsed],
    starts: Int64Array,
    items: Int64Array,
    work: Int64Array,
    graph_work: Int64Array,
) -> list[NestedRange]:
    """The annotations of one thread; `items` begin at `starts` (sorted) and index `work` and `graph_work`."""
    names, begins, ends = rows["name"].cast(pl.String).to_list(), rows["start_ns"].to_list(), rows["end_ns"].to_list()
    low = np.searchsorted(starts, begins, side="left").tolist()
    high = np.searchsorted(starts, ends, side="left").tolist()
    total, graph_total = (np.concatenate(([0], np.cumsum(w[items]))).tolist() for w in (work, graph_work))
    return [
        NestedRange(name, texts[name], begin, end, items[i:j], total[j] - total[i], graph_total[j] - graph_total[i])
        for name, begin, end, i, j in zip(names, begins, ends, low, high, strict=True)
    ]


def resolved(ranges: list[NestedRange], by_length: bool = False) -> list[NestedRange]:
    """One range per step, in time order: the innermost that still cover the outer one's work.

    `by_length` weighs ranges by their own length, where the work inside is not known.
    """
    ordered = sorted(ranges, key=lambda r: (r.start_ns, -r.end_ns))
    roots = _nested(ordered)
    steps: dict[int, list[NestedRange]] = {}
    for item in reversed(ordered):  # inner ranges come after the range that holds them
        inner = [step for child in item.inside for step in steps.pop(id(child)) if by_length or step.work]
        steps[id(item)] = inner if inner and _replaced(item, inner, by_length) else [item]
    return [step for root in roots for step in steps[id(root)]]


def _nested(ordered: list[NestedRange]) -> list[NestedRange]:
    """The outermost ranges; each gets those that lie inside it."""
    roots: list[NestedRange] = []
    open_ranges: list[NestedRange] = []
    for item in ordered:
        while open_ranges and open_ranges[-1].end_ns < item.end_ns:
            open_ranges.pop()
        (open_ranges[-1].inside if open_ranges else roots).append(item)
        open_ranges.append(item)
    return roots


def _replaced(item: NestedRange, inner: list[NestedRange], by_length: bool) -> bool:
    """Whether the ranges inside are the steps, and this one is only a frame around them.

    A range that says less of its kind (ProfilerStep) and holds several engine steps is a recording window.
    """
    window = sum(r.parsed.rank > item.parsed.rank for r in inner) > 1
    if by_length:
        return window or sum(r.end_ns - r.start_ns for r in inner) >= COVERS * (item.end_ns - item.start_ns)
    # Replayed kernels decide where there are any: stray eager ones around the replay belong to nobody's step.
    part, whole = (
        (sum(r.graph_work for r in inner), item.graph_work)
        if item.graph_work
        else (sum(r.work for r in inner), item.work)
    )
    return window or part >= COVERS * whole
