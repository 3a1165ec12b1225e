"""Call sites of two aligned runs: which appeared, vanished, grew or shrank, by how much, and their neighbours."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

SITE = ["kind", "name", "position"]
SIGMAS = 2.0
FEWEST = 3  # differences that show a spread
LEAST_SHARE = 0.005  # of its own time: smaller differences of a call site are never called a change
UNKNOWN_SPREAD_SHARE = 0.05  # the same where nothing shows a spread
REACH = 2  # calls before and after a changed one that count as its neighbours


def call_sites(pairs: pl.DataFrame) -> pl.DataFrame:
    """One row per kernel and position of aligned calls (`alignment.align`), the largest difference first.

    Columns: kernel, kind, position (-1 outside layers), change, layers_before, layers_after (distinct layers),
    calls_before, calls_after, ns_before, ns_after, difference_ns (per step; negative: less time), error_ns (two
    standard errors of it, from calls that answer each other; null when too few), counterpart (what stood or stands
    there instead).
    """
    gap = pl.col("ns_after") - pl.col("ns_before")
    kept = pl.col("slot_before").is_not_null() & pl.col("slot_after").is_not_null()
    known = (pl.col("n_before") >= 2) & (pl.col("n_after") >= 2)
    own = pl.col("var_ns_before") / pl.col("n_before") + pl.col("var_ns_after") / pl.col("n_after")
    sites = _with_counterparts(pairs).group_by(SITE, maintain_order=True).agg(
        *(pl.col(f"{c}_{side}").sum() for c in ("calls", "ns") for side in ("before", "after")),
        *(_layers(side) for side in ("before", "after")),
        gap.filter(kept).std().alias("spread"),
        kept.sum().alias("kept"),
        pl.when((kept & known).sum() == kept.sum()).then(own.filter(kept).sum().sqrt()).alias("own_error"),
        pl.col("counterpart").drop_nulls().unique(maintain_order=True).str.join(" + ").alias("counterpart"),
    )  # fmt: skip
    between = pl.when(pl.col("kept") >= FEWEST).then(pl.col("spread") * pl.col("kept").cast(pl.Float64).sqrt())
    return (
        sites.with_columns(
            (SIGMAS * pl.coalesce(between, "own_error")).alias("error_ns"),
            (pl.col("ns_after") - pl.col("ns_before")).alias("difference_ns"),
        )
        .with_columns(_change().alias("change"), pl.col("kind").cast(pl.String))
        .sort(pl.col("difference_ns").abs(), "name", "position", descending=[True, False, False])
        .select(
            pl.col("name").alias("kernel"), "kind", "position", "change", "layers_before", "layers_after",
            "calls_before", "calls_after", "ns_before", "ns_after", "difference_ns", "error_ns",
            pl.col("counterpart").replace("", None),
        )
    )  # fmt: skip


def _layers(side: str) -> pl.Expr:
    inside = (pl.col("layer_index") >= 0) & pl.col(f"slot_{side}").is_not_null()
    return pl.col("layer_index").filter(inside).n_unique().cast(pl.Int64).alias(f"layers_{side}")


def _change() -> pl.Expr:
    before, difference = pl.col("ns_before"), pl.col("difference_ns")
    unknown = pl.lit(UNKNOWN_SPREAD_SHARE) * before
    noise = pl.max_horizontal(pl.coalesce("error_ns", unknown), LEAST_SHARE * before)
    moved = (difference.abs() > noise) | (pl.col("calls_before") != pl.col("calls_after"))
    return (
        pl.when(pl.col("calls_before") == 0).then(pl.lit("appeared"))
        .when(pl.col("calls_after") == 0).then(pl.lit("vanished"))
        .when(moved & (difference > 0)).then(pl.lit("grew"))
        .when(moved & (difference < 0)).then(pl.lit("shrank"))
        .otherwise(pl.lit("same"))
    )  # fmt: skip


def _with_counterparts(pairs: pl.DataFrame) -> pl.DataFrame:
    """Calls that vanished or appeared, with the names on the other side of their group."""
    lone = pairs.filter(pl.col("group").is_not_null())
    gone, new = pl.col("slot_after").is_null(), pl.col("slot_before").is_null()
    sides = lone.group_by("group").agg(
        pl.col("name").filter(gone).unique(maintain_order=True).str.join(" + ").alias("gone"),
        pl.col("name").filter(new).unique(maintain_order=True).str.join(" + ").alias("new"),
    )
    other = pl.when(new).then("gone").when(gone).then("new").replace("", None)
    return pairs.join(sides, on="group", how="left", maintain_order="left").with_columns(other.alias("counterpart"))


def beside(pairs: pl.DataFrame, chosen: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Which kept calls stand within REACH places of a chosen one (and are not chosen themselves)."""
    rank = pairs["rank"].to_numpy()
    near = np.zeros(int(rank.max(initial=0)) + 1 + 2 * REACH, dtype=bool)
    for step in range(2 * REACH + 1):
        near[rank[chosen] + step] = True
    kept = pairs["slot_before"].is_not_null().to_numpy() & pairs["slot_after"].is_not_null().to_numpy()
    found: npt.NDArray[np.bool_] = near[rank + REACH] & kept & ~chosen
    return found
