"""Call sites of a kernel that no one measured time fits: which calls it was measured for, and which may differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from trace_budget.schema.findings import Int64Array
from trace_budget.units import show_count, show_us, us_from_ns

UNLIKE = 0.2  # relative: sites whose means differ by more are not alike
SMALL_SHARE = 0.02  # of the time of all calls: a site with less cannot make the others unlike
SPLIT = 1.5  # between neighbours by duration, where nothing else distinguishes calls
FEWEST = 3  # calls on either side of such a split
MOST_SHOWN = 4
GRID = ("grid_x", "grid_y", "grid_z")
SITE = ("name", "position", *GRID)
FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Sites:
    """Groups of alike call sites, by rising mean duration; only made where there are several.

    `group`: the group of each call; `means_ns`: its mean duration; `calls`: its calls per step; `options`: what picks
    its largest site, '' where no option does.
    """

    group: Int64Array
    means_ns: FloatArray
    calls: tuple[float, ...]
    options: tuple[str, ...]

    def those(self, groups: Sequence[int]) -> npt.NDArray[np.bool_]:
        """Which calls are of these groups."""
        return np.isin(self.group, groups)

    @property
    def listed(self) -> str:
        """The groups in words, each with what picks it."""
        rows = [
            f"{show_count(count)} x {show_us(us_from_ns(mean))} us" + (f" ({option})" if option else "")
            for count, mean, option in zip(self.calls, self.means_ns.tolist(), self.options, strict=True)
        ]
        more = f" and {len(rows) - MOST_SHOWN} more" if len(rows) > MOST_SHOWN else ""
        return ", ".join(rows[:MOST_SHOWN]) + more

    @property
    def option(self) -> str:
        """The option that says which site is meant."""
        named = [option for option in self.options if option]
        return named[0] if named else "--steps, --phase"


def unlike_sites(ops: pl.DataFrame, steps: int) -> Sites | None:
    """The sites of calls (with usable times) as groups of like means; None where one time may fit all of them."""
    ops = ops.with_columns(_position())
    numbered = ops.select(pl.struct(SITE).rank("dense").cast(pl.Int64).alias("site"), *SITE, "dur_ns")
    site, duration = numbered["site"].to_numpy() - 1, numbered["dur_ns"].to_numpy().astype(np.float64)
    if site.size == 0 or duration.sum() <= 0:
        return None
    if site.max() == 0:
        site = _by_turn(ops) if steps > 1 else _by_length(duration)
    time, count = np.bincount(site, duration), np.bincount(site)
    group_of_site = _grouped(time / count, time / duration.sum())
    if group_of_site.max() == 0:
        return None
    group = group_of_site[site]
    time, count = np.bincount(group, duration), np.bincount(group)
    return Sites(group, time / count, tuple((count / steps).tolist()), _options(numbered, group))


def _position() -> pl.Expr:
    """The position in the layer; in steps whose layers were not found the only one that the kernel has elsewhere.

    Without it those steps would be a site of their own for want of layers alone.
    """
    known = pl.when(pl.col("position") >= 0).then(pl.col("position"))
    steps_without = known.is_null().all().over("step_index")
    one = known.n_unique().over("name", *GRID) - known.is_null().any().over("name", *GRID).cast(pl.UInt32) == 1
    alone = known.max().over("name", *GRID)
    return pl.when(steps_without & one).then(alone).otherwise("position").alias("position")


def _grouped(means: FloatArray, share: FloatArray) -> Int64Array:
    """The group of each site: means within UNLIKE of the first of their group; small sites join the one below."""
    order = np.argsort(means, kind="stable")
    firsts: list[float] = []
    for mean in means[order[share[order] >= SMALL_SHARE]].tolist():
        if not firsts or mean > (1.0 + UNLIKE) * firsts[-1]:
            firsts.append(mean)
    if not firsts:
        return np.zeros(means.size, dtype=np.int64)
    place = np.searchsorted(np.array(firsts), means, side="right") - 1
    return np.maximum(place, 0)


def _by_turn(ops: pl.DataFrame) -> Int64Array:
    """Calls by their turn in the step, where every step runs the same number of them."""
    turns = ops.select(
        pl.int_range(pl.len()).over("step_index").alias("turn"), pl.len().over("step_index").alias("all")
    )
    alike = turns["all"].n_unique() == 1
    return turns["turn"].to_numpy().astype(np.int64) if alike else np.zeros(ops.height, dtype=np.int64)


def _by_length(duration: FloatArray) -> Int64Array:
    """Two sites where the durations of one step fall into two kinds with nothing between."""
    order = np.sort(duration)
    inner = slice(FEWEST, order.size - FEWEST + 1)
    if order.size < 2 * FEWEST:
        return np.zeros(duration.size, dtype=np.int64)
    jump = order[inner] / np.maximum(order[FEWEST - 1 : order.size - FEWEST], 1.0)
    cut = order[FEWEST + int(np.argmax(jump))]
    return (duration >= cut).astype(np.int64) if jump.max() >= SPLIT else np.zeros(duration.size, dtype=np.int64)


def _options(calls: pl.DataFrame, group: Int64Array) -> tuple[str, ...]:
    """What picks the site with the most time of each group alone."""
    sites = (
        calls.with_columns(pl.Series("group", group))
        .group_by("group", *SITE, maintain_order=True)
        .agg(pl.col("dur_ns").sum().alias("ns"))
        .sort("group", "ns", descending=[False, True], maintain_order=True)
    )
    largest = sites.unique("group", keep="first", maintain_order=True)
    return tuple(_option(row, sites) for row in largest.to_dicts())


def _option(row: dict[str, object], sites: pl.DataFrame) -> str:
    """--grid, --position or both, whichever leaves only the row's own group; the kernel's name as the last."""
    grid = "" if row["grid_x"] is None else f"--grid {','.join(str(row[axis] or 1) for axis in GRID)}"
    position = "" if row["position"] in (None, -1) else f"--position {row['position']}"
    same_grid = pl.all_horizontal(pl.col(axis).eq_missing(pl.lit(row[axis])) for axis in GRID)
    same_position = pl.col("position").eq_missing(pl.lit(row["position"]))
    ways: list[tuple[str, pl.Expr]] = [(grid, same_grid), (position, same_position)]
    ways += [(f"{grid} {position}", same_grid & same_position)] if grid and position else []
    ways += (
        [(f"--kernel '{row['name']}'", pl.col("name").eq(pl.lit(row["name"])))] if sites["name"].n_unique() > 1 else []
    )
    for text, chosen in ways:
        if text and sites.filter(chosen)["group"].n_unique() == 1:
            return text
    return ""
