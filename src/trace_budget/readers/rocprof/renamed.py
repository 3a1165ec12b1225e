"""Kernels that carry the text of the range around them (`rocprofv3 --kernel-rename`, `rocpd convert --kernel-rename`).

Such a text is known by the ranges of the run; without them by what engines write around steps, by words that no symbol
holds, or because kernels of three shapes and more in a row carry it, which calls of one kernel do not.
"""

from __future__ import annotations

import polars as pl

from trace_budget.schema.kernel_names import in_range, is_step_text
from trace_budget.schema.trace import Caveat

_SHAPE = tuple(f"{size}_{axis}" for size in ("grid", "block") for axis in "xyz")
_SUFFIX = r"(?: \[clone [^\]]*\])?(?:\.kd)?$"
_WORDS = r"^[^(<\[{]*\s[^(<\[{]*$"  # no symbol holds a blank but in its arguments
_SYMBOL = r"[(<]|^_Z|^Cijk|^triton_|__"  # a range may be named after the one kernel in it
_FEWEST = 3  # kernels of different shapes in a row
_SHARE = 0.9  # of a name's calls stand in such rows
_UNLIKE = 2.0  # between the longest and the shortest mean of the shapes


def without_range_names(kernels: pl.DataFrame, ranges: pl.Series) -> tuple[pl.DataFrame, tuple[Caveat, ...]]:
    """Kernels with `<in TEXT>` for names that are texts of `ranges`, or must be those of ranges nobody recorded."""
    names = kernels["name"].unique(maintain_order=True).drop_nulls().cast(pl.String).to_frame("name")
    bare = pl.col("name").str.replace(_SUFFIX, "")
    texts = ranges.unique(maintain_order=True).drop_nulls().cast(pl.String)
    known = (bare.is_in(texts.implode()) & ~bare.str.contains(_SYMBOL)) | is_step_text(bare)
    told = names.select("name", known=known, words=bare.str.contains(_WORDS))
    shaped = [name for name in _SHAPE if name in kernels.columns]
    unlike = _unlike(kernels, shaped) if shaped else pl.DataFrame(schema={"name": pl.String, "in_row": pl.Boolean})
    found = told.join(unlike, on="name", how="left").filter(
        pl.col("known") | (pl.col("in_row").is_not_null() & pl.col("words")) | pl.col("in_row").fill_null(value=False)
    )["name"]
    if not found.len():
        return kernels, ()
    text = (
        "kernels carry the text of the range around them (--kernel-rename): different kernels share a name, nothing can"
        " be projected on them"
    )
    name = pl.col("name").cast(pl.String)
    renamed = pl.when(name.is_in(found.implode())).then(in_range(name)).otherwise(name)
    return kernels.with_columns(_enum(kernels.select(renamed.alias("name")).to_series())), (
        Caveat("kernels_renamed", text, found.len(), "warning", found.sort()[0]),
    )


def _enum(names: pl.Series) -> pl.Series:
    return names.cast(pl.Enum(names.unique(maintain_order=True).drop_nulls()))


def _unlike(kernels: pl.DataFrame, shape: list[str]) -> pl.DataFrame:
    """(name, in_row) of names whose calls have several shapes of unlike length; in_row: they follow each other."""
    lane = [name for name in ("device", "queue") if name in kernels.columns]
    varied = kernels.group_by("name").agg(
        pl.any_horizontal(pl.col(size).min() != pl.col(size).max() for size in shape).alias("varied")
    )
    shaped = kernels.filter(pl.col("name").is_in(varied.filter("varied")["name"].implode()))
    if not shaped.height:
        return pl.DataFrame(schema={"name": pl.String, "in_row": pl.Boolean})
    means = shaped.group_by("name", *shape).agg((pl.col("end_ns") - pl.col("start_ns")).mean().alias("mean_ns"))
    longest, shortest = pl.col("mean_ns").max(), pl.col("mean_ns").min()
    several = means.group_by("name").agg(pl.len().alias("shapes"), (longest >= _UNLIKE * shortest).alias("unlike"))
    wanted = several.filter((pl.col("shapes") > 1) & pl.col("unlike"))["name"]
    if not wanted.len():
        return pl.DataFrame(schema={"name": pl.String, "in_row": pl.Boolean})
    rows = kernels.select("name", "start_ns", *lane, shape=pl.struct(shape).rank("dense"))
    ordered = rows.sort(*lane, "start_ns", nulls_last=True)
    turns = ordered.with_columns(
        (pl.col("name") != pl.col("name").shift()).fill_null(value=True).cum_sum().alias("turn")
    )
    of_name = turns.filter(pl.col("name").is_in(wanted.implode()))
    runs = of_name.group_by("turn").agg(pl.col("name").first(), pl.len().alias("calls"), pl.col("shape").n_unique())
    long = pl.col("calls").filter(pl.col("shape") >= _FEWEST).sum() >= _SHARE * pl.col("calls").sum()
    return runs.group_by("name").agg(long.alias("in_row")).with_columns(pl.col("name").cast(pl.String))
