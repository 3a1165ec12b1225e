"""Two runs side by side: which call of one step answers which call of the other, by name, order and neighbours."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

CALL = ["kind", "name"]
NEAR = 3  # kept calls by which one and the same place may differ between two runs, where streams interleave otherwise
LABELS = ("layer_index", "position", "rank")
STATS = ("calls", "n", "ns", "mean_ns", "var_ns")


@dataclass(frozen=True, slots=True)
class Usual:
    """The usual step of a run, one slot per call.

    `slots`: slot, kind, name (text), turn (k-th call of its name in the step), rank (by mean start in the step),
    layer_index, position (-1 outside layers), calls (per step), n (executions), ns (per step), mean_ns, var_ns (of one
    execution; null for fewer than two). `op_slot`: op_id and slot of every op.
    """

    slots: pl.DataFrame
    op_slot: pl.DataFrame


def usual_step(ops: pl.DataFrame, steps: int) -> Usual:
    """The usual step out of the ops of the used steps (`analysis.kernels.op_table`); the k-th calls make one slot."""
    begin = pl.col("start_ns").min().over("step_index")
    numbered = ops.sort("op_id").with_columns(
        pl.int_range(pl.len()).over("step_index", *CALL).alias("turn"), (pl.col("start_ns") - begin).alias("offset_ns")
    )
    slots = (
        numbered.group_by([*CALL, "turn"], maintain_order=True)
        .agg(
            pl.col("layer_index").first(),
            pl.col("position").first(),
            (pl.len() / steps).alias("calls"),
            pl.col("dur_ns").count().cast(pl.Int64).alias("n"),
            (pl.col("dur_ns").sum() / steps).alias("ns"),
            pl.col("dur_ns").mean().alias("mean_ns"),
            pl.col("dur_ns").var().alias("var_ns"),
            pl.col("offset_ns").mean(),
        )
        .sort("offset_ns", nulls_last=True, maintain_order=True)
        .with_row_index("slot")
        .with_columns(pl.col("slot").cast(pl.Int64), pl.col("slot").cast(pl.Int64).alias("rank"))
    )
    op_slot = numbered.join(slots.select(*CALL, "turn", "slot"), on=[*CALL, "turn"]).select("op_id", "slot")
    return Usual(slots.with_columns(pl.col(c).cast(pl.String) for c in CALL).drop("offset_ns"), op_slot.sort("op_id"))


def align(before: Usual, after: Usual) -> pl.DataFrame:
    """One row per call of either usual step: kept calls pair up, the others vanished or appeared.

    Names that run equally often pair by order; they anchor the others, which pair where the same anchors stand before
    them. Streams and the order in which a graph was captured play no part.

    Columns: kind, name, layer_index and position (those of BEFORE; of the place taken, for what appeared), rank, group
    (what vanished and what appeared in its place share one; null for kept calls), slot_before, slot_after, and calls,
    n, ns, mean_ns, var_ns of both (null: no call).
    """
    left, right = before.slots, after.slots
    first = _anchors(left, right)
    pairs = pl.concat([first, _beside(left, right, first)])
    names = left.select(pl.col("slot").alias("slot_before"), *CALL, *LABELS)
    kept = pairs.join(names, on="slot_before")
    gone = _places(left, pairs, "before").join(pairs, left_on="slot", right_on="slot_before", how="anti")
    new = _places(right, pairs, "after").join(pairs, left_on="slot", right_on="slot_after", how="anti")
    new = _taken_places(gone, new, kept)
    gone, new = gone.rename({"slot": "slot_before", "place": "group"}), new.rename({"slot": "slot_after"})
    calls = pl.concat([kept, gone, new], how="diagonal").sort("rank", "slot_after", nulls_last=True)
    return calls.join(_side(left, "before"), on="slot_before", how="left", maintain_order="left").join(
        _side(right, "after"), on="slot_after", how="left", maintain_order="left"
    )


def _side(slots: pl.DataFrame, side: str) -> pl.DataFrame:
    """The figures of a run's slots under names that say which run."""
    return slots.select(pl.col("slot").alias(f"slot_{side}"), *(pl.col(c).alias(f"{c}_{side}") for c in STATS))


def _anchors(left: pl.DataFrame, right: pl.DataFrame) -> pl.DataFrame:
    """Pairs of names that run equally often in both."""
    counts = left.group_by(CALL).len().join(right.group_by(CALL).len(), on=[*CALL, "len"]).select(CALL)
    both = left.join(counts, on=CALL).join(right, on=[*CALL, "turn"], suffix="_after")
    return both.select(pl.col("slot").alias("slot_before"), "slot_after").sort("slot_before")


def _places(slots: pl.DataFrame, pairs: pl.DataFrame, side: str) -> pl.DataFrame:
    """The slots with `place`: how many paired calls stand before them in their own run."""
    paired = pl.col("slot").is_in(pairs[f"slot_{side}"].implode())
    return slots.sort("rank").select("slot", *CALL, *LABELS, (paired.cum_sum() - paired).cast(pl.Int64).alias("place"))


def _beside(left: pl.DataFrame, right: pl.DataFrame, anchors: pl.DataFrame) -> pl.DataFrame:
    """Pairs of the same name in the same place, the nearest places first."""
    gone = _places(left, anchors, "before").join(anchors, left_on="slot", right_on="slot_before", how="anti")
    new = _places(right, anchors, "after").join(anchors, left_on="slot", right_on="slot_after", how="anti")
    found = [anchors.head(0)]
    for distance in _distances():
        rows = _same_place(gone, new, distance)
        found.append(rows)
        gone = gone.join(rows, left_on="slot", right_on="slot_before", how="anti")
        new = new.join(rows, left_on="slot", right_on="slot_after", how="anti")
    return pl.concat(found)


def _distances() -> list[int]:
    """Zero, then one place further to either side at a time."""
    return [0, *(sign * step for step in range(1, NEAR + 1) for sign in (1, -1))]


def _same_place(gone: pl.DataFrame, new: pl.DataFrame, distance: int) -> pl.DataFrame:
    turn = pl.int_range(pl.len()).over(*CALL, "place").alias("turn")
    moved = new.with_columns(pl.col("place") + distance)
    both = gone.with_columns(turn).join(moved.with_columns(turn), on=[*CALL, "place", "turn"], suffix="_after")
    return both.select(pl.col("slot").alias("slot_before"), "slot_after").sort("slot_before")


def _taken_places(gone: pl.DataFrame, new: pl.DataFrame, kept: pl.DataFrame) -> pl.DataFrame:
    """What appeared, with the group and labels of what vanished in its place, else the labels of what it follows.

    The k-th call that appeared in a place takes the labels of the k-th that vanished there, or of the last.
    """
    turn = pl.int_range(pl.len()).over("place").alias("turn")
    spots = gone.select("place", *LABELS, turn, pl.len().over("place").alias("spots"))
    places = spots.select("place", "spots").unique()
    left, found = new.drop(LABELS), []
    for distance in _distances():
        here = left.with_columns(pl.col("place") + distance).join(places, on="place")
        numbered = here.with_columns(pl.min_horizontal(turn, pl.col("spots").cast(pl.Int64) - 1).alias("turn"))
        hit = numbered.join(spots.drop("spots"), on=["place", "turn"]).drop("turn", "spots")
        found.append(hit.with_columns(pl.col("place").alias("group")))
        left = left.join(hit, on="slot", how="anti")
    return pl.concat([*found, _alone(left, kept)], how="diagonal").drop("place")


def _alone(new: pl.DataFrame, kept: pl.DataFrame) -> pl.DataFrame:
    """What appeared where nothing vanished: a group of its own, with the labels of the kept call before it."""
    ahead = kept.sort("slot_after").select(pl.int_range(1, pl.len() + 1).alias("place"), *LABELS)
    nothing = (pl.col("layer_index").fill_null(-1), pl.col("position").fill_null(-1), pl.col("rank").fill_null(0))
    return new.join(ahead, on="place", how="left").with_columns(*nothing, (-1 - pl.col("place")).alias("group"))
