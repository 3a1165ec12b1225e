"""Fusion: consecutive kernels that one launch replaces, found in the trace and turned into a claim on their ops."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import polars as pl

from trace_budget.errors import NotInTraceError
from trace_budget.projection.candidates import Sequence
from trace_budget.projection.claimed_saving import Saving
from trace_budget.projection.match import Match, calls_in_doubt
from trace_budget.projection.names import closest, matching
from trace_budget.projection.replay.schedule import Claim
from trace_budget.schema.caveats import LATEST_NS
from trace_budget.schema.findings import Int64Array, Layers, Steps


@dataclass(frozen=True, slots=True)
class Fusion:
    """Sequences found in a trace.

    `match` has one row per sequence (span from first start to last end, gaps included; null where a kernel has no end);
    `members` (sequences x kernels) are the ops of each, `first_ns` the duration of the first.
    """

    match: Match
    members: Int64Array
    first_ns: Int64Array

    @property
    def timed(self) -> Fusion:
        """Only the sequences whose kernels all have usable times."""
        known = self.match.ops["dur_ns"].is_not_null()
        ops, chosen = self.match.ops.filter(known), known.to_numpy()
        return Fusion(replace(self.match, ops=ops), self.members[chosen], self.first_ns[chosen])


def find_sequences(ops: pl.DataFrame, wanted: Sequence, steps: Steps, layers: Layers, path: str) -> Fusion:
    """Consecutive kernels of one stream whose names fit the patterns in order, inside one step.

    Raises NotInTraceError when a pattern fits nothing, the kernels never follow each other, or one has no start.
    """
    kernels = ops.filter(pl.col("kind") == "kernel").sort("step_index", "stream", "op_id")
    fits = [_fit(pattern, kernels["name"].cast(pl.String), path) for pattern in wanted.patterns]
    placed = kernels["start_ns"].is_not_null().to_numpy()
    _all_placed(placed, fits, path)
    kernels, fits = kernels.filter(placed), [fit[placed] for fit in fits]
    length, count = len(fits), kernels.height
    starts = np.flatnonzero(np.all([np.append(f[k:], np.zeros(k, bool)) for k, f in enumerate(fits)], axis=0))
    starts = starts[starts + length <= count]
    rows = starts[:, None] + np.arange(length)[None, :]
    rows = rows[_together(kernels, rows, wanted.max_gap_ns)]
    rows = _apart(rows)
    if rows.shape[0] == 0:
        raise NotInTraceError(
            "these kernels never follow each other", where=path, expected=", ".join(wanted.patterns),
            found="all of them, but with others between, on other streams or too far apart",
        )  # fmt: skip
    return _fusion(kernels, rows, wanted, steps, layers)


def _fit(pattern: str, names: pl.Series, path: str) -> np.ndarray:
    distinct = names.unique().to_list()
    found = matching(pattern, distinct)
    if not found:
        near = "; ".join(name[:80] for name in closest(pattern, distinct))
        raise NotInTraceError(
            "no kernel matches a pattern of the sequence", where=path, expected=pattern, found=f"closest: {near}"
        )
    return names.is_in(found).to_numpy()


def _all_placed(placed: npt.NDArray[np.bool_], fits: list[np.ndarray], path: str) -> None:
    """Refuse when one of the kernels has no start: what it follows is unknown, and so is the number of sequences."""
    lost = int(np.count_nonzero(np.any(fits, axis=0) & ~placed))
    if lost:
        raise NotInTraceError(
            "kernels of the sequence have no usable start", where=path, expected="a start for each of them",
            found=f"{lost} without", advice="Record again, or choose other steps (--steps).",
        )  # fmt: skip


def _together(kernels: pl.DataFrame, rows: Int64Array, max_gap_ns: float | None) -> npt.NDArray[np.bool_]:
    """Sequences whose kernels share step and stream and lie close enough."""
    if rows.shape[0] == 0:
        return np.zeros(0, dtype=bool)
    step, stream = kernels["step_index"].to_numpy()[rows], kernels["stream"].fill_null(-1).to_numpy()[rows]
    same: npt.NDArray[np.bool_] = (step == step[:, :1]).all(axis=1) & (stream == stream[:, :1]).all(axis=1)
    if max_gap_ns is None or rows.shape[1] < 2:
        return same
    ends = kernels["end_ns"].fill_null(LATEST_NS).to_numpy()  # behind an unknown end there may be no gap
    gap = kernels["start_ns"].to_numpy()[rows[:, 1:]] - ends[rows[:, :-1]]
    close: npt.NDArray[np.bool_] = (gap <= max_gap_ns).all(axis=1)
    return same & close


def _apart(rows: Int64Array) -> Int64Array:
    """Drop sequences that share a kernel with an earlier one."""
    kept: list[int] = []
    until = -1
    for index, first in enumerate(rows[:, 0].tolist() if rows.size else []):
        if first > until:
            kept.append(index)
            until = int(rows[index, -1])
    return rows[kept]


def _fusion(kernels: pl.DataFrame, rows: Int64Array, wanted: Sequence, steps: Steps, layers: Layers) -> Fusion:
    durations = kernels["dur_ns"].fill_null(0).to_numpy()[rows]
    timed = pl.Series(kernels["dur_ns"].is_not_null().to_numpy()[rows].all(axis=1))
    anchor = kernels[rows[:, 0]]
    end = kernels["end_ns"].gather(rows[:, -1])
    span = (end - anchor["start_ns"]).zip_with(timed, pl.Series([None], dtype=pl.Int64).new_from_index(0, end.len()))
    # Idle gaps inside the sequence are exposed too: nothing else of this stream runs there.
    gap = np.maximum(span.fill_null(0).to_numpy() - durations.sum(axis=1), 0)
    kept = ("op_id", "step_index", "layer_index", "position", "start_ns", "grid_x", "grid_y", "grid_z")
    frame = anchor.select(*kept, pl.col("name").cast(pl.String)).with_columns(
        end.alias("end_ns"),
        span.alias("dur_ns"),
        pl.Series("solo_ns", kernels["solo_ns"].to_numpy()[rows].sum(axis=1) + gap),
    )
    names = tuple(kernels["name"].cast(pl.String).gather(rows[0]).to_list())
    order = np.argsort(frame["op_id"].to_numpy())
    damaged = calls_in_doubt(kernels, names)
    match = Match(" + ".join(wanted.patterns), names, frame[order], len(steps.used), layers.layers, damaged)
    ids = kernels["op_id"].to_numpy()[rows][order]
    return Fusion(match, ids, durations[:, 0][order])


def claim_of_fusion(fusion: Fusion, saving: Saving) -> Claim:
    """The first op takes the new kernel's time, the others vanish with their launches and end where it does."""
    rest = fusion.match.ops["dur_ns"].to_numpy() - fusion.first_ns
    return Claim(
        fusion.members[:, 0],
        saving.low - rest,
        saving.expected - rest,
        saving.high - rest,
        fusion.members[:, 1:].ravel(),
        fusion.members[:, :-1].ravel(),
    )
