"""Whether the new kernel runs where the old one did: on every layer, in every step."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import polars as pl

from trace_budget.projection.names import matching

ALL = 0.95
NONE = 0.05
LEAST_CHANGE = 0.01  # of the call: a median change below this is no sign of another kernel under the same name
SIGMAS_OF_MEDIAN = 2 * 1.2533  # twice the standard error of a median, in standard errors of a mean
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Engagement:
    """What became of the old calls.

    `taken`: their share that runs something else, nothing, or the same name with another time (`same_name`).
    Calls are per step. `new_names`: what runs in their place; `layers` they hit, of `layers_before` that ran the old
    one; `steps_hit` of `steps` of AFTER run any of them (the old name, when nothing else took its place).
    """

    old_calls_before: float
    old_calls_after: float
    layers_before: int
    layers_old_after: int
    taken: float
    same_name: bool
    new_names: tuple[str, ...]
    new_calls: float
    layers: int
    steps_hit: int
    steps: int

    @property
    def word(self) -> str:
        """Engaged, partly or not."""
        return "engaged" if self.taken >= ALL else "partly engaged" if self.taken > NONE else "not engaged"


def engagement(
    pairs: pl.DataFrame,
    chosen: Flags,
    ops_after: pl.DataFrame,
    steps: int,
    new_kernel: str | None = None,
    drift: float = 1.0,
) -> Engagement:
    """What became of the chosen calls of BEFORE; `ops_after` are the ops of AFTER's `steps` used steps.

    `drift`: how much longer everything else takes in AFTER; a call that follows it was not changed.
    """
    old = pairs.filter(pl.Series(chosen))
    kept = old.filter(pl.col("slot_after").is_not_null())
    names = _new_names(pairs, old, ops_after, new_kernel)
    replaced = 1.0 - _calls(kept, "before") / max(_calls(old, "before"), 1e-9)
    same_name = replaced <= NONE and not names
    taken = _retimed(kept, drift) if same_name else replaced
    seen = names or tuple(old["name"].unique(maintain_order=True).to_list())
    new = ops_after.filter(pl.col("name").cast(pl.String).is_in(seen))
    in_place = pairs.filter(pl.col("name").is_in(seen) & pl.col("slot_after").is_not_null())
    return Engagement(
        old_calls_before=_calls(old, "before"),
        old_calls_after=_calls(kept, "after"),
        layers_before=_layers(old),
        layers_old_after=_layers(kept),
        taken=taken,
        same_name=same_name,
        new_names=names,
        new_calls=new.height / max(steps, 1) if names else 0.0,
        layers=_layers(in_place),
        steps_hit=new["step_index"].n_unique(),
        steps=steps,
    )


def _calls(rows: pl.DataFrame, side: str) -> float:
    return float(rows[f"calls_{side}"].sum() or 0)


def _layers(rows: pl.DataFrame) -> int:
    return rows.filter(pl.col("layer_index") >= 0)["layer_index"].n_unique()


def _new_names(
    pairs: pl.DataFrame, old: pl.DataFrame, ops_after: pl.DataFrame, new_kernel: str | None
) -> tuple[str, ...]:
    """The names the user gave, else those that appeared in the groups of vanished old calls."""
    if new_kernel is not None:
        present = ops_after["name"].unique(maintain_order=True).cast(pl.String).to_list()
        return tuple(matching(new_kernel, present))
    groups = old["group"].drop_nulls().unique()
    here = pairs.filter(pl.col("group").is_in(groups.implode()) & pl.col("slot_before").is_null())
    return tuple(here["name"].unique(maintain_order=True).to_list())


def drift_of(calls: pl.DataFrame) -> float | None:
    """The median ratio of the durations of kept calls: clocks, profilers or loads that differ move all alike."""
    rows = calls.filter((pl.col("mean_ns_before") > 0) & (pl.col("mean_ns_after") > 0))
    ratio = (rows["mean_ns_after"] / rows["mean_ns_before"]).median()
    return float(ratio) if isinstance(ratio, (int, float)) else None


def _retimed(kept: pl.DataFrame, drift: float) -> float:
    """Share of calls whose time changed by more than half the median change, where that is more than noise."""
    drop = (kept["mean_ns_before"] * drift - kept["mean_ns_after"]).drop_nulls().to_numpy()
    if drop.size == 0:
        return 0.0
    drop = drop * (1.0 if np.median(drop) >= 0 else -1.0)
    median = float(np.median(drop))
    error = float(np.std(drop, ddof=1)) / np.sqrt(drop.size) if drop.size > 1 else 0.0
    usual = float(kept["mean_ns_before"].median() or 0.0)  # type: ignore[arg-type]
    if median <= max(SIGMAS_OF_MEDIAN * error, LEAST_CHANGE * usual):
        return 0.0
    return float(np.mean(drop > median / 2))
