"""Cycles: the shortest row of pieces that comes again and makes a token: draft, verify, extend, unmarked work."""

from __future__ import annotations

import numpy as np
import polars as pl

from trace_budget.schema.findings import Int32Array, Int64Array
from trace_budget.schema.trace import Trace

SPECULATIVE = ("verify", "draft")
SEVERAL = "several to a step"  # ends the name of a method that joins pieces
UNMARKED = ""  # the phase of work that no mark covers
LONGEST = 16  # pieces of a cycle
AGAIN = 0.9  # share of the pieces that must be like the one a cycle before
SAME_MODEL = 0.5  # Bray-Curtis similarity from which two pieces are two variants of one pass, not two parts of it
LEAST = 0.36  # share of the kernels of both that the smaller of two variants runs at least
SAME_PROFILE = 0.9  # the same, of how often the kernels run, whatever their names


class PartsOf:
    """What the classes of pieces run, so that parts of a step are distinguished from variants of one."""

    def __init__(self, trace: Trace, op_piece: Int32Array, kind: Int64Array) -> None:
        """Count the kernels of one example of each class."""
        self._counts: dict[int, dict[int, int]] = {}
        self._lossy = _has_empty_replays(trace)
        example = {int(k): int(i) for i, k in reversed(list(enumerate(kind)))}
        rows = pl.DataFrame({"piece": op_piece, "name": trace.gpu_ops["name"].to_physical().cast(pl.Int64)})
        rows = rows.filter(pl.col("piece").is_in(list(example.values())))
        table = rows.group_by("piece", "name").len().sort("piece", "name")
        by_piece = {piece: k for k, piece in example.items()}
        for piece, name, calls in table.rows():
            self._counts.setdefault(by_piece[piece], {})[name] = calls

    def all_parts(self, kinds: Int64Array) -> bool:
        """Whether no two of these classes are variants of one model, or one what is left of the other."""
        each = [self._counts.get(int(k), {}) for k in kinds]
        pairs = [(a, b) for i, a in enumerate(each) for b in each[i + 1 :]]
        return not any(_variants(a, b) or (self._lossy and (_within(a, b) or _within(b, a))) for a, b in pairs)

    def same_names(self, one: int, other: int) -> bool:
        """Whether two classes run mostly the same kernels."""
        return _shared(self._counts.get(one, {}), self._counts.get(other, {})) >= SAME_MODEL


def _has_empty_replays(trace: Trace) -> bool:
    """Whether graph launches own no kernel: a piece that holds one shows only what was launched beside it."""
    graphs = trace.calls.filter(pl.col("kind") == "graph_launch").select("launch_id")
    return not graphs.join(trace.gpu_ops.select("launch_id").drop_nulls(), on="launch_id", how="anti").is_empty()


def _within(small: dict[int, int], large: dict[int, int]) -> bool:
    """Whether the larger multiset holds everything of the smaller."""
    return all(large.get(name, 0) >= calls for name, calls in small.items())


def _shared(one: dict[int, int], other: dict[int, int]) -> float:
    """Bray-Curtis similarity of two multisets of kernels."""
    total = sum(one.values()) + sum(other.values())
    return 2.0 * sum(min(calls, other.get(name, 0)) for name, calls in one.items()) / max(total, 1)


def _variants(one: dict[int, int], other: dict[int, int]) -> bool:
    """Whether two multisets of kernels are two forms of one pass: by their names, or by how often they run."""
    total = sum(one.values()) + sum(other.values())
    if min(sum(one.values()), sum(other.values())) < LEAST * total:
        return False  # a drafter of few of the layers
    if _shared(one, other) >= SAME_MODEL:
        return True
    left, right = sorted(one.values(), reverse=True), sorted(other.values(), reverse=True)
    profile = sum(min(a, b) for a, b in zip(left, right, strict=False))
    return 2 * profile >= SAME_PROFILE * total


def cycle_starts(kind: Int64Array, phase: list[str], idle_ns: Int64Array, names: PartsOf) -> Int64Array | None:
    """The pieces that open a cycle; None where each piece is a step of its own.

    `kind` and `phase` of each piece in host order. Verify and draft pieces always belong to a cycle; pieces of one
    phase (or of none) that run different kernels in strict turns are parts of one step.
    """
    if any(one in SPECULATIVE for one in phase):
        return _speculative(kind, phase, idle_ns)
    return _in_turns(kind, phase, idle_ns, names)


def _speculative(kind: Int64Array, phase: list[str], idle_ns: Int64Array) -> Int64Array | None:
    """Cycles around the verify pieces, or, where none is marked, around the pieces that are no draft."""
    words = np.array(phase)
    free = ~np.isin(words, ("prefill", "mixed"))
    anchors = np.flatnonzero(words == "verify")
    if anchors.size == 0:
        rest = np.flatnonzero(free & (words != "draft"))
        anchors = rest[kind[rest] == np.bincount(kind[rest]).argmax()] if rest.size else rest
    if anchors.size in {0, kind.size}:
        return None
    return _around(anchors, free, idle_ns)


def _around(anchors: Int64Array, free: np.ndarray, idle_ns: Int64Array) -> Int64Array:
    """One border between each two anchors: where the device usually idles longest, else behind the anchor.

    Pieces that take no part in cycles (prefill) stand alone.
    """
    usual = int(np.median(np.diff(anchors))) if anchors.size > 1 else 1
    offsets = range(1, max(usual, 1) + 1)
    places = [anchors[:-1] + offset for offset in offsets]
    waits = [float(np.median(idle_ns[place])) if place.size else 0.0 for place in places]
    best = int(np.argmax(waits)) + 1
    last = np.append(anchors[1:], free.size)
    borders = np.minimum(anchors + best, last)
    alone = np.flatnonzero(~free)
    starts = np.concatenate(([0], borders[borders < free.size], alone, alone + 1))
    kept: Int64Array = np.unique(starts[starts < free.size]).astype(np.int64)
    return kept


def _in_turns(kind: Int64Array, phase: list[str], idle_ns: Int64Array, names: PartsOf) -> Int64Array | None:
    """Pieces of one phase that take strict turns and share no model: parts of one step."""
    for period in range(1, min(LONGEST, kind.size // 2) + 1):
        if (kind[period:] == kind[:-period]).mean() < AGAIN:
            continue
        if period == 1:
            return None
        middle = (kind.size - period) // 2  # the first ones may be a warm-up
        row, times = np.unique(kind[middle : middle + period], return_counts=True)
        # A part may run several times in a cycle (the passes of a draft); one that runs once says where it is.
        if row.size < 2 or times.min() > 1 or not _one_label(phase) or not names.all_parts(row):
            return None
        waits = [float(np.median(idle_ns[offset::period][1 if offset == 0 else 0 :])) for offset in range(period)]
        first = int(np.argmax(waits))
        borders = np.arange(first, kind.size, period)
        return borders if first == 0 else np.concatenate(([0], borders))
    return None


def _one_label(phase: list[str]) -> bool:
    """Whether the marked pieces share one phase, one whose steps unmarked work can be a part of, where there is any."""
    said = set(phase) - {UNMARKED}
    return len(said) <= 1 and (UNMARKED not in phase or said <= {"decode", "other"})
