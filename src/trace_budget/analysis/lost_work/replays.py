"""Replays of one graph must run the same kernels: those that run fewer have lost theirs in recording."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl

from trace_budget.schema.findings import Int64Array, Steps
from trace_budget.schema.trace import Trace

LIKE = 3  # replays of one kind that show what is usual
KIND = ("turn", "replays", "batch_size", "phase")
MOST_KINDS = 512  # different replays looked at per kind, the commonest first
MOST_GRAPHS = 16  # of which so many may be graphs of their own
SCALED = 0.5  # share of the repeated kernels that a graph of fewer layers runs less often
NOTHING = pl.DataFrame(
    schema={"launch_id": pl.Int64, "step_index": pl.Int64, "code": pl.Int64, "missing": pl.Int64, "whole": pl.Int64}
)


@dataclass(frozen=True, slots=True)
class _Graph:
    """What one replay runs (codes ascending, with calls) and how many replays run just that."""

    launch: int
    codes: Int64Array
    calls: Int64Array
    votes: int
    batch_known: bool

    @property
    def kernels(self) -> int:
        return int(self.calls.sum())


def short_replays(trace: Trace, steps: Steps, ops: pl.DataFrame) -> pl.DataFrame:
    """What replays lack of their own graph: launch_id, step_index, code, missing, whole (kernels of the graph).

    Like are the k-th replays of steps with equally many replays and the same batch: a piecewise step is made of graphs
    of several sizes, and so is a run over several batch sizes. Graphs that run other kernels are other graphs.
    """
    graphs = trace.calls.filter(pl.col("kind") == "graph_launch").select("launch_id")
    if graphs.is_empty():
        return NOTHING
    # A first or last step that is cut off runs fewer kernels for that reason alone.
    whole = steps.frame.filter("complete").select(pl.col("step_index").cast(pl.Int32), "batch_size", "phase")
    counts = (
        ops.filter(pl.col("step_index") >= 0)
        .join(graphs, on="launch_id", how="semi")
        .group_by("launch_id", "code")
        .agg(pl.len().cast(pl.Int64).alias("calls"), pl.col("step_index").max())
        .join(whole, on="step_index", how="inner")
        .sort("launch_id", "code")
    )
    replays = _kinds(counts)
    found = [_lacks(kind, counts) for kind in replays.partition_by(KIND, maintain_order=True) if kind.height >= LIKE]
    return pl.concat([NOTHING, *[frame for frame in found if not frame.is_empty()]])


def _kinds(counts: pl.DataFrame) -> pl.DataFrame:
    """One row per replay: launch_id, step_index, its kind, and a signature of what it runs."""
    return (
        counts.group_by("launch_id", maintain_order=True)
        .agg(
            pl.struct("code", "calls").hash(seed=0).sum().alias("signature"),
            pl.col("calls").sum().alias("kernels"),
            pl.col("step_index", "batch_size", "phase").first(),
        )
        .with_columns(
            pl.int_range(pl.len()).over("step_index").alias("turn"), pl.len().over("step_index").alias("replays")
        )
    )


def _lacks(kind: pl.DataFrame, counts: pl.DataFrame) -> pl.DataFrame:
    """What the replays of one kind lack."""
    distinct = kind.group_by("signature", maintain_order=True).agg(
        pl.len().alias("votes"), pl.col("launch_id").min(), pl.col("kernels", "batch_size").first()
    )
    if distinct.height < 2:
        return NOTHING
    known = distinct.sort("votes", descending=True, maintain_order=True).head(MOST_KINDS)
    known = known.sort("kernels", "votes", descending=True, maintain_order=True)
    lacking = list(_short_of(list(_graphs(known, counts))))
    if not lacking:
        return NOTHING
    table = pl.concat(lacking).join(known.select("signature", "launch_id"), on="launch_id").drop("launch_id")
    return (
        kind.select("launch_id", "signature", pl.col("step_index").cast(pl.Int64))
        .join(table, on="signature", how="inner", maintain_order="left")
        .select(NOTHING.columns)
    )


def _graphs(known: pl.DataFrame, counts: pl.DataFrame) -> Iterator[_Graph]:
    rows = counts.filter(pl.col("launch_id").is_in(known["launch_id"].to_list()))
    launch, code, calls = (rows[name].to_numpy() for name in ("launch_id", "code", "calls"))
    for head, votes, batch in known.select("launch_id", "votes", "batch_size").rows():
        low, high = np.searchsorted(launch, head, "left"), np.searchsorted(launch, head, "right")
        yield _Graph(head, code[low:high], calls[low:high], votes, batch is not None)


def _short_of(replays: list[_Graph]) -> Iterator[pl.DataFrame]:
    """Per replay that lacks kernels of a graph: which ones; the largest come first."""
    graphs: list[_Graph] = []
    for replay in replays:
        over = [graph for graph in graphs if _within(replay, graph)]
        graph = min(over, key=lambda one: one.kernels) if over else None
        if graph is None or _of_its_own(replay, graph):
            graphs = [*graphs, replay][:MOST_GRAPHS]
            continue
        missing = _missing(replay, graph)
        lost = missing > 0
        yield pl.DataFrame({"code": graph.codes[lost], "missing": missing[lost]}).with_columns(
            pl.lit(replay.launch, dtype=pl.Int64).alias("launch_id"),
            pl.lit(graph.kernels, dtype=pl.Int64).alias("whole"),
        )


def _within(replay: _Graph, graph: _Graph) -> bool:
    """Whether the graph runs everything that the replay runs, as often at least."""
    place = np.minimum(np.searchsorted(graph.codes, replay.codes), graph.codes.size - 1)
    return bool(np.all((graph.codes[place] == replay.codes) & (graph.calls[place] >= replay.calls)))


def _missing(replay: _Graph, graph: _Graph) -> Int64Array:
    missing = graph.calls.copy()
    np.subtract.at(missing, np.searchsorted(graph.codes, replay.codes), replay.calls)
    return missing


def _of_its_own(replay: _Graph, graph: _Graph) -> bool:
    """Whether a replay within a graph is another graph: one without some of its kernels, or of fewer layers.

    Records are lost at random: kernels of a name are then missing here and there, hardly ever all of them, and no two
    replays lack the same.
    """
    missing = _missing(replay, graph)
    partly = (missing > 0) & (missing < graph.calls)
    repeated = graph.calls > 1
    if not partly.any():
        return replay.votes > 1 or bool((repeated & (missing > 0)).any())
    fewer_layers = partly.sum() >= SCALED * np.count_nonzero(repeated & ((missing == 0) | partly))
    return replay.votes > 1 and (bool(fewer_layers) or not replay.batch_known)
