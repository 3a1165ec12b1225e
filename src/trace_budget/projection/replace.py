"""Fusion: consecutive kernels that one launch replaces, found in the trace and turned into a claim on their ops."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from trace_budget.errors import NotInTraceError
from trace_budget.projection.candidate import Saving
from trace_budget.projection.candidates import Sequence
from trace_budget.projection.ground import Claim
from trace_budget.projection.match import Match
from trace_budget.projection.names import closest, matching
from trace_budget.schema.findings import Int64Array, Layers, Steps


@dataclass(frozen=True, slots=True)
class Fusion:
    """Sequences found in a trace.

    `match` has one row per sequence (span from first start to last end, gaps included);
    `members` (sequences x kernels) are the ops of each, `first_ns` the duration of the first.
    """

    match: Match
    members: Int64Array
    first_ns: Int64Array


def find_sequences(ops: pl.DataFrame, wanted: Sequence, steps: Steps, layers: Layers, path: str) -> Fusion:
    """Consecutive kernels of one stream whose names fit the patterns in order, inside one step.

    Raises NotInTraceError when a pattern fits nothing or the kernels never follow each other.
    """
    kernels = ops.filter((pl.col("kind") == "kernel") & pl.col("dur_ns").is_not_null()).sort(
        "step_index", "stream", "op_id"
    )
    names = kernels["name"].cast(pl.String)
    fits = [_fit(pattern, names, path) for pattern in wanted.patterns]
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


def _together(kernels: pl.DataFrame, rows: Int64Array, max_gap_ns: float | None) -> npt.NDArray[np.bool_]:
    """Sequences whose kernels share step and stream and lie close enough."""
    if rows.shape[0] == 0:
        return np.zeros(0, dtype=bool)
    step, stream = kernels["step_index"].to_numpy()[rows], kernels["stream"].fill_null(-1).to_numpy()[rows]
    same: npt.NDArray[np.bool_] = (step == step[:, :1]).all(axis=1) & (stream == stream[:, :1]).all(axis=1)
    if max_gap_ns is None or rows.shape[1] < 2:
        return same
    gap = kernels["start_ns"].to_numpy()[rows[:, 1:]] - kernels["end_ns"].to_numpy()[rows[:, :-1]]
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
    first, last = rows[:, 0], rows[:, -1]
    anchor = kernels[first]
    end = kernels["end_ns"].to_numpy()[last]
    frame = anchor.select("op_id", "step_index", "layer_index", "position", "start_ns").with_columns(
        pl.Series("end_ns", end),
        pl.Series("dur_ns", end - anchor["start_ns"].to_numpy()),
        pl.Series("solo_ns", kernels["solo_ns"].to_numpy()[rows].sum(axis=1)),
    )
    # Idle gaps inside the sequence are exposed too: nothing else of this stream runs there.
    gap = frame["dur_ns"].to_numpy() - kernels["dur_ns"].to_numpy()[rows].sum(axis=1)
    frame = frame.with_columns((pl.col("solo_ns") + pl.Series(np.maximum(gap, 0))).alias("solo_ns"))
    names = tuple(kernels["name"].cast(pl.String).gather(rows[0]).to_list())
    order = np.argsort(frame["op_id"].to_numpy())
    match = Match(" + ".join(wanted.patterns), names, frame[order], len(steps.used), layers.layers)
    ids = kernels["op_id"].to_numpy()[rows][order]
    return Fusion(match, ids, kernels["dur_ns"].to_numpy()[first][order])


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
