"""Steps written by hand as rows of `op_table`: what two runs are aligned from."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

Call = tuple[str, int, int]  # name, layer (-1: outside), duration in ns
GAP_NS = 100


def step_ops(*steps: Sequence[Call]) -> pl.DataFrame:
    """Ops of steps, each a list of calls one after the other; the position of a call is its place in its layer."""
    rows: list[dict[str, object]] = []
    now = 0
    for index, calls in enumerate(steps):
        places: dict[int, int] = {}
        for name, layer, length in calls:
            place = places.get(layer, 0)
            places[layer] = place + 1
            rows.append(
                {
                    "op_id": len(rows), "step_index": index, "kind": "kernel", "name": name, "layer_index": layer,
                    "position": place if layer >= 0 else -1, "start_ns": now, "dur_ns": length,
                }
            )  # fmt: skip
            now += length + GAP_NS
    return pl.DataFrame(rows).with_columns(pl.col("name").cast(pl.Enum(sorted({str(r["name"]) for r in rows}))))


def layers_of(names: Sequence[str], count: int, length: int = 1_000) -> list[Call]:
    """A step of `count` equal layers."""
    return [(name, layer, length) for layer in range(count) for name in names]
