"""From marks to steps: passes inside them, unmarked steps between them, cycles of several of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl

from trace_budget.analysis.readings.cycles import SEVERAL, UNMARKED, PartsOf, cycle_starts
from trace_budget.analysis.readings.pieces import Pieces, pieces_of
from trace_budget.analysis.steps.annotated import FoundSteps
from trace_budget.analysis.steps.grammar import ENGINE, WINDOW, Parsed
from trace_budget.analysis.steps.unnamed import UNKNOWN
from trace_budget.schema.findings import Int32Array, Int64Array
from trace_budget.schema.options import Scope
from trace_budget.schema.trace import Trace

MOST_NAMED = 4
TO_HOST = "(?i)dtoh|d2h|device_to_host|devicetohost|device ->"
EVERY = 0.9  # share of the passes that must copy to the host


def refined(trace: Trace, in_scope: np.ndarray, found: FoundSteps, scope: Scope) -> tuple[FoundSteps, ...]:
    """What the marks can mean, the likeliest first: themselves, where each is one pass and covers all work.

    Marks that hold several passes are split; unmarked work that equals marked steps is steps; pieces in strict turns,
    and draft and verify steps, make one step together (unless one phase is asked for).
    """
    pieces = pieces_of(trace, in_scope, found)
    if pieces.count == 0:
        return (found,)
    known = {i: one for i, one in enumerate(_parsed(found, pieces)) if one is not None}
    pieces, parsed = _kept(pieces, list(known)), list(known.values())
    borders = _cycles(trace, pieces, parsed) if scope.phase is None else None
    split = bool((~pieces.alone & (pieces.unit >= 0)).any())
    unmarked = bool((pieces.unit < 0).any())
    if borders is not None:
        return (_as_cycles(found, pieces, parsed, borders),)
    if not split and not unmarked:
        return (found,)
    passes = _as_passes(found, pieces, parsed, split, unmarked)
    return _passes_or_steps(trace, found, pieces, passes, scope) if split else (passes,)


def _passes_or_steps(
    trace: Trace, found: FoundSteps, pieces: Pieces, passes: FoundSteps, scope: Scope
) -> tuple[FoundSteps, ...]:
    """Split marks as steps of one token each, and as steps of several passes for one token, where both are possible."""
    usual = int(np.median(np.bincount(pieces.unit[pieces.unit >= 0])))
    together = replace(
        found, op_pass=pieces.op_piece, method=f"{found.method}, {usual} passes each",
        says=("one mark, one step",), denies=(f"each runs one model {usual} times",),
        settle=f"--passes-per-step {usual}",
    )  # fmt: skip
    passes = replace(passes, settle="--passes-per-step 1")
    if scope.passes_per_step is not None:
        return (grouped(passes, scope.passes_per_step),)
    window = all(one.rank == WINDOW for one in found.parsed) and len(found.names) == 1
    if window or _copies_back(trace, pieces):
        return (replace(passes, says=(*passes.says, "each ends with a copy to the host")),) if not window else (passes,)
    return passes, together


def _copies_back(trace: Trace, pieces: Pieces) -> bool:
    """Whether every pass copies something to the host: its tokens."""
    back = (trace.gpu_ops["kind"] == "memcpy") & trace.gpu_ops["name"].cast(pl.String).str.contains(TO_HOST)
    with_copy = np.unique(pieces.op_piece[back.to_numpy() & (pieces.op_piece >= 0)])
    return with_copy.size >= EVERY * pieces.count


def grouped(passes: FoundSteps, size: int) -> FoundSteps:
    """Steps of so many passes each, as the user says."""
    if size == 1:
        return passes
    count = -(-len(passes.names) // size)
    whole = len(passes.names) // size
    step = np.where(passes.op_step >= 0, passes.op_step // size, -1).astype(np.int32)
    return replace(
        passes, names=passes.names[::size], parsed=passes.parsed[::size], host_ns=(None,) * count, op_step=step,
        level="step", op_pass=passes.op_step, cut_off=(whole,) if whole < count else (),
        method=f"{passes.method}, {size} a step as stated", settle="",
    )  # fmt: skip


def _parsed(found: FoundSteps, pieces: Pieces) -> list[Parsed | None]:
    """What is known of each piece: what its mark says, what the marks of its class say, or nothing.

    None for unmarked pieces that are no steps: unlike all others.
    """
    said: dict[int, Parsed] = {}
    for kind, unit in zip(pieces.kind.tolist(), pieces.unit.tolist(), strict=True):
        if unit >= 0:
            said.setdefault(kind, found.parsed[unit])
    times = np.bincount(pieces.kind)
    decode = any(one.phase == "decode" for one in found.parsed)
    guess = UNKNOWN if decode else replace(UNKNOWN, phase="decode")
    out: list[Parsed | None] = []
    for kind, unit in zip(pieces.kind.tolist(), pieces.unit.tolist(), strict=True):
        if unit >= 0:
            out.append(found.parsed[unit])
        else:
            out.append(said.get(kind, guess if times[kind] > 1 else None))
    return out


def _kept(pieces: Pieces, kept: list[int]) -> Pieces:
    """Only these pieces, numbered anew."""
    index = np.full(pieces.count + 1, -1, dtype=np.int32)
    index[kept] = np.arange(len(kept), dtype=np.int32)
    return Pieces(
        index[pieces.op_piece], pieces.unit[kept], pieces.kind[kept], pieces.work_ns[kept], pieces.idle_ns[kept],
        pieces.alone[kept], pieces.op_gap,
    )  # fmt: skip


def _phase(one: Parsed, unit: int, like_marked: bool) -> str:
    """The phase as cycles see it; an engine's idle step is no part of any."""
    if unit < 0 and not like_marked:
        return UNMARKED
    return "idle" if one.rank == ENGINE and one.phase == "other" else one.phase


def _cycles(trace: Trace, pieces: Pieces, parsed: list[Parsed]) -> Int64Array | None:
    marked = set(pieces.kind[pieces.unit >= 0].tolist())
    rows = zip(parsed, pieces.unit.tolist(), pieces.kind.tolist(), strict=True)
    phase = [_phase(one, unit, kind in marked) for one, unit, kind in rows]
    if len(set(pieces.kind.tolist())) < 2:
        return None
    return cycle_starts(pieces.kind, phase, pieces.idle_ns, PartsOf(trace, pieces.op_piece, pieces.kind))


def _as_passes(found: FoundSteps, pieces: Pieces, parsed: list[Parsed], split: bool, unmarked: bool) -> FoundSteps:
    """Each piece as a step."""
    names = tuple(_name(found, pieces, index) for index in range(pieces.count))
    host = tuple(
        found.host_ns[unit] if unit >= 0 and alone else None
        for unit, alone in zip(pieces.unit.tolist(), pieces.alone.tolist(), strict=True)
    )
    method = "passes in annotations" if split and found.method == "annotations" else found.method
    method = f"passes in {found.method}" if split and found.method != "annotations" else method
    says = (*(("each mark holds several equal passes of one model",) if split else ()),
            *(("unmarked work equals marked steps",) if unmarked else ()))  # fmt: skip
    return replace(
        found, names=names, parsed=tuple(parsed), host_ns=host, op_step=pieces.op_piece,
        method=f"{method} and unmarked work like it" if unmarked else method,
        confidence="high" if found.confidence == "high" else "medium",
        level="pass" if split else "step", says=says,
    )  # fmt: skip


def _name(found: FoundSteps, pieces: Pieces, index: int) -> str:
    unit = int(pieces.unit[index])
    return found.names[unit] if unit >= 0 else f"unmarked {index}"


def _as_cycles(found: FoundSteps, pieces: Pieces, parsed: list[Parsed], borders: Int64Array) -> FoundSteps:
    """Each row of pieces between two borders as a step."""
    of_piece = (np.searchsorted(borders, np.arange(pieces.count), side="right") - 1).astype(np.int32)
    op_step = np.where(pieces.op_piece >= 0, np.append(of_piece, np.int32(-1))[pieces.op_piece], -1).astype(np.int32)
    op_step = _with_scraps(pieces, of_piece, op_step)
    edges = np.append(borders, pieces.count)
    rows = [range(low, high) for low, high in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)]
    sizes = np.array([len(row) for row in rows])
    speculative = any(one.phase in ("verify", "draft") for one in parsed)
    whole = int(np.median(sizes[sizes > 1])) if (sizes > 1).any() else 1
    ends = [index for index in (0, len(rows) - 1) if 1 <= sizes[index] < whole]
    return replace(
        found,
        names=tuple(_row_name(found, pieces, row) for row in rows),
        parsed=tuple(_row_parsed(parsed, row, speculative) for row in rows),
        host_ns=(None,) * len(rows),
        op_step=op_step,
        method=f"cycles of {found.method}" if speculative else f"{found.method}, {SEVERAL}",
        level="cycle" if speculative else "step",
        op_pass=_target_passes(pieces, of_piece),
        cut_off=tuple(ends),
        says=("the pieces take strict turns and make one step together",),
    )


def _with_scraps(pieces: Pieces, of_piece: Int32Array, op_step: Int32Array) -> Int32Array:
    """Unmarked ops too few to be a piece belong to the step whose pieces stand on both sides of them."""
    marked = np.flatnonzero(pieces.unit >= 0)
    last = np.full(int(pieces.unit.max()) + 2, -1, dtype=np.int32)
    last[pieces.unit[marked]] = of_piece[marked]
    first = np.full(last.size, -2, dtype=np.int32)
    first[pieces.unit[marked][::-1]] = of_piece[marked][::-1]
    rows = np.flatnonzero((op_step < 0) & (pieces.op_gap > 0) & (pieces.op_gap < last.size - 1))
    gap = pieces.op_gap[rows]
    both = last[gap - 1] == first[gap]
    out = op_step.copy()
    out[rows[both]] = first[gap[both]]
    return out


def _target_passes(pieces: Pieces, of_piece: Int32Array) -> Int32Array:
    """The piece of each op that belongs to the longest kind of piece of its cycle, where layers are looked for."""
    main = np.zeros(pieces.count, dtype=np.bool_)
    kinds = np.unique(pieces.kind)
    mean = [pieces.work_ns[pieces.kind == kind].mean() for kind in kinds]
    longest = kinds[int(np.argmax(mean))]
    main[pieces.kind == longest] = True
    lacking = ~np.isin(of_piece, of_piece[main])
    main |= lacking
    index = np.where(main, np.arange(pieces.count), -1).astype(np.int32)
    target: Int32Array = np.append(index, np.int32(-1))[pieces.op_piece]
    return target


def _row_name(found: FoundSteps, pieces: Pieces, row: range) -> str:
    names = list(dict.fromkeys(found.names[u] for u in pieces.unit[row.start : row.stop].tolist() if u >= 0))
    more = " …" if len(names) > MOST_NAMED else ""
    return " + ".join(names[:MOST_NAMED]) + more or f"unmarked {row.start}"


def _row_parsed(parsed: list[Parsed], row: range, speculative: bool) -> Parsed:
    """What a row of pieces is: the phase they share; a cycle with a verify or draft in it makes tokens: decode."""
    phases = {parsed[index].phase for index in row}
    chosen = next((parsed[i] for i in row if parsed[i].phase == "verify"), parsed[row.start])
    chosen = next((parsed[i] for i in row if parsed[i] is not UNKNOWN), chosen) if chosen is UNKNOWN else chosen
    if speculative and phases & {"verify", "draft", "decode"}:
        return replace(chosen, phase="decode")
    return chosen
