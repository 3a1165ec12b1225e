"""Which calls of the trace a replacement would take, and what they look like today."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from shlex import quote

import polars as pl

from trace_budget.analysis.kernels import types_text
from trace_budget.errors import NoSuchKernelError, NotInTraceError, UsageError
from trace_budget.labels import labels
from trace_budget.projection.names import closest, matching
from trace_budget.schema.damaged_names import damaged_twins
from trace_budget.schema.findings import Layers, Steps
from trace_budget.schema.kernel_names import is_nameless
from trace_budget.schema.options import Selection
from trace_budget.text import cells
from trace_budget.units import NS_PER_US, show_count

MOST_LISTED = 8
MOST_LABEL = 60
COLUMNS = (
    "op_id", "step_index", "layer_index", "position", "start_ns", "end_ns", "dur_ns", "solo_ns",
    pl.col("name").cast(pl.String), "grid_x", "grid_y", "grid_z",
)  # fmt: skip
NO_MATCH = "no kernel of the counted steps matches"
_SIZE = re.compile(r"[0-9]{1,10}")


@dataclass(frozen=True, slots=True)
class Match:
    """The matched calls of the used steps.

    `ops`: op_id, step_index, layer_index, position, start_ns, end_ns, dur_ns (null when unknown), solo_ns, name, and
    grid_x, grid_y, grid_z.
    `damaged`: further calls in these steps, under names that damage may have made of the matched ones. `types`:
    what each layer is, where the configuration of the model says.
    """

    kernel: str
    names: tuple[str, ...]
    ops: pl.DataFrame
    steps: int
    layers: int
    damaged: int = 0
    types: tuple[str, ...] = ()

    @property
    def layer_types(self) -> str | None:
        """Which types of layers run matched calls: `48 of 48 linear_attention`; None without the model's word."""
        return types_text(self.ops["layer_index"].unique().to_list(), self.types)

    @property
    def of_type(self) -> str:
        """`: linear_attention` where all layers hit are of one type of several, to stand behind their number."""
        hit = {self.types[at] for at in self.ops["layer_index"].unique().to_list() if 0 <= at < len(self.types)}
        return f": {hit.pop()}" if len(hit) == 1 and len(set(self.types)) > 1 else ""

    @property
    def calls_per_step(self) -> float:
        """Mean calls per used step."""
        return self.ops.height / self.steps

    @property
    def layers_hit(self) -> int | None:
        """Layers that run at least one matched call, the median over the steps that run any; None without layers."""
        if not self.layers:
            return None
        per_step = (
            self.ops.filter(pl.col("layer_index") >= 0).group_by("step_index").agg(pl.col("layer_index").n_unique())
        )
        return round(_median(per_step["layer_index"])) if per_step.height else 0

    @property
    def steps_hit(self) -> int:
        """Used steps that run at least one matched call."""
        return self.ops["step_index"].n_unique()

    @property
    def constant(self) -> bool:
        """Whether every used step runs the same number of matched calls."""
        per_step = self.ops.group_by("step_index").len()
        return self.steps_hit == self.steps and per_step["len"].n_unique() == 1


def _median(values: pl.Series) -> float:
    median = values.median()
    return float(median) if isinstance(median, (int, float)) else float("nan")


def match(ops: pl.DataFrame, selection: Selection, steps: Steps, layers: Layers, path: str) -> Match:
    """The calls a selection means, out of the ops of the used steps (analysis.kernels.op_table).

    Raises NotInTraceError when nothing matches (with the closest names) or several kernels do (unless `all_matches`).
    """
    kernels = ops.filter(pl.col("kind") == "kernel") if (ops["kind"] == "kernel").any() else ops
    names = kernels["name"].unique(maintain_order=True).cast(pl.String).to_list()
    found = matching(selection.kernel, names)
    if selection.batch_sizes:
        kernels = kernels.join(steps.frame.select("step_index", "batch_size"), on="step_index", how="left")
    if not found:
        raise _nothing(selection.kernel, names, path)
    if len(found) > 1 and not selection.all_matches:
        raise _several(selection.kernel, found, kernels, len(steps.used), path)
    _refuse_nameless(found, path)
    chosen = _narrowed(kernels.filter(pl.col("name").cast(pl.String).is_in(found)), selection, path)
    label = found[0] if len(found) == 1 else f"{len(found)} kernels matching {selection.kernel}"
    rows, damaged = chosen.select(COLUMNS).sort("op_id"), calls_in_doubt(kernels, found)
    return Match(label, tuple(found), rows, len(steps.used), layers.layers, damaged, layers.types)


def calls_in_doubt(kernels: pl.DataFrame, matched: Sequence[str]) -> int:
    """Calls under names that damage may have made of the matched ones."""
    names = kernels["name"].cast(pl.String)
    twins = set(damaged_twins(names.unique(maintain_order=True).to_list(), matched)).difference(matched)
    return int(names.is_in(sorted(twins)).sum()) if twins else 0


def _refuse_nameless(found: list[str], path: str) -> None:
    """NotInTraceError for kernels that the recording gave no name of their own."""
    nameless = next((name for name in found if is_nameless(name)), None)
    if nameless is not None:
        raise NotInTraceError(
            "kernels without a name of their own may be of many kinds: nothing can be projected on them",
            where=path,
            expected="the name of one kernel",
            found=ascii(nameless)[1:-1],
            advice="Record again with the kernels' names: without --kernel-rename, or with another profiler.",
        )


def rows_matching(rows: pl.DataFrame, pattern: str | None, path: str, none: str = NO_MATCH) -> pl.DataFrame:
    """The rows whose `kernel` a pattern means, all without one; NoSuchKernelError, with the closest, for none."""
    if pattern is None:
        return rows
    names = rows["kernel"].unique(maintain_order=True).to_list()
    found = matching(pattern, names)
    if not found:
        raise _nothing(pattern, names, path, none)
    return rows.filter(pl.col("kernel").is_in(found))


def _nothing(pattern: str, names: list[str], path: str, message: str = NO_MATCH) -> NoSuchKernelError:
    near = closest(pattern, names)
    return NoSuchKernelError(
        message,
        where=path,
        expected=f"--kernel {pattern!r}",
        found=f"{len(names)} other kernels",
        advice="The closest:" if near else "trace-budget kernels lists the names.",
        choices=tuple(f"--kernel {quote(label)}" for label in labels(near, MOST_LABEL, names)),
    )


def _several(pattern: str, found: list[str], kernels: pl.DataFrame, steps: int, path: str) -> NotInTraceError:
    """The kernels that take most time, as `--kernel` takes them."""
    rows = (
        kernels.with_columns(pl.col("name").cast(pl.String))
        .filter(pl.col("name").is_in(found))
        .group_by("name", maintain_order=True)
        .agg(pl.len().alias("calls"), (pl.col("dur_ns").sum() / steps / NS_PER_US).alias("us"))
        .sort("us", descending=True, maintain_order=True)
    )
    first = rows.head(MOST_LISTED)
    everything = kernels["name"].unique().cast(pl.String).to_list()
    options = [f"--kernel {quote(label)}" for label in labels(first["name"].to_list(), MOST_LABEL, everything)]
    width = max(map(cells, options))
    choices = [
        f"{option}{' ' * (width - cells(option))}  {show_count(calls / steps)} calls, {us:,.1f} us a step"
        for option, calls, us in zip(options, first["calls"], first["us"], strict=True)
    ]
    more = f", the largest {MOST_LISTED} of them" if len(found) > MOST_LISTED else ", the largest first"
    return NotInTraceError(
        "one pattern matches several kernels",
        where=path,
        expected=f"one kernel for {pattern!r}",
        found=str(len(found)),
        advice=f"Write more of the name, or --all-matches to replace them all{more}:",
        choices=tuple(choices),
    )


def _narrowed(rows: pl.DataFrame, selection: Selection, path: str) -> pl.DataFrame:
    """Apply --position, --grid, --stream; raise naming the option that leaves nothing."""
    for option, wanted, column in (
        ("--position", selection.position, "position"),
        ("--stream", selection.stream, "stream"),
        ("--device", selection.device, "device"),
    ):
        if wanted is None:
            continue
        present = sorted(rows[column].drop_nulls().unique().to_list())
        rows = rows.filter(pl.col(column) == wanted)
        if rows.is_empty():
            raise NotInTraceError(
                "no matched call has it", where=path, expected=f"{option} {wanted}", found=f"{column} {present}"
            )
    for option, column, wanted_set in (
        ("layers", "layer_index", selection.layers),
        ("m_bucket", "batch_size", selection.batch_sizes),
    ):
        if wanted_set is None:
            continue
        if column == "batch_size":
            rows = rows.filter(pl.col(column).is_between(wanted_set[0], wanted_set[-1]))
        else:
            rows = rows.filter(pl.col(column).is_in(wanted_set))
        if rows.is_empty():
            raise NotInTraceError(
                "no matched call is left", where=path, expected=f"{option} {list(wanted_set)[:8]}", found="none"
            )
    if selection.grid is not None:
        rows = _on_grid(rows, selection.grid, path)
    return rows


def _on_grid(rows: pl.DataFrame, grid: str, path: str) -> pl.DataFrame:
    parts = [part.strip() for part in grid.replace("x", ",").split(",")]
    if not all(_SIZE.fullmatch(part) for part in parts) or not 1 <= len(parts) <= 3:
        raise UsageError("not a grid", where="--grid", expected="X,Y,Z", found=repr(grid))
    sizes = [int(part) for part in parts] + [1] * (3 - len(parts))
    chosen = rows.filter(
        (pl.col("grid_x") == sizes[0]) & (pl.col("grid_y") == sizes[1]) & (pl.col("grid_z") == sizes[2])
    )
    if chosen.is_empty():
        present = rows.select("grid_x", "grid_y", "grid_z").unique().sort("grid_x").head(MOST_LISTED).rows()
        raise NotInTraceError(
            "no matched call has this grid", where=path, expected=f"--grid {grid}", found=str(present)
        )
    return chosen
