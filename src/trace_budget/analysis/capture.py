"""Names for the ops of graph replays: each replayed op answers one launch of the capture it was recorded in."""

from __future__ import annotations

import numpy as np
import polars as pl

from trace_budget.schema.capture import CapturedNames, CaptureFile
from trace_budget.schema.findings import Int64Array, Layers, Steps
from trace_budget.schema.trace import Caveat, Trace

FITS = 0.95  # of the replayed ops: below it the capture is of another graph, and nothing is named
COMPILED = "GraphModule"  # what torch.compile leaves of the modules it compiled
TEXTS = ("module", "operator", "shapes")
Ranges = list[Int64Array]
Marks = tuple[tuple[str, int, int], ...]
MOST_MARKS = 3


def captured_names(trace: Trace, steps: Steps, layers: Layers, capture: CaptureFile) -> CapturedNames:
    """Names of the ops of the used steps' graph replays, from the capture that fits them best.

    Kernel names of the capture pair with the replay's call by call (the k-th of each name); a capture without kernel
    names pairs by order, when it launched as many. Below FITS nothing is named.
    """
    replayed = _replayed(trace, steps)
    if replayed.is_empty():
        return _nothing(capture, 0, "the counted steps hold no graph replay: eager ops need no capture")
    found = [_paired(replayed, rows) for _, rows in capture.launches.group_by("capture", maintain_order=True)]
    best = max(range(len(found)), key=lambda index: found[index].height)
    rows = capture.launches.filter(pl.col("capture") == best)
    label, by_name = str(rows["label"][0]), rows["kernel"].null_count() < rows.height
    if found[best].height < FITS * replayed.height:
        return _nothing(capture, replayed.height, _misfit(replayed, rows, found[best].height, label))
    texts = _around(rows, capture.ranges)
    names = found[best].join(texts, on="order", how="left").sort("op_id")
    marks = _layer_marks(names, rows, capture.ranges, layers)
    modules = capture.ranges.filter(pl.col("kind") == "module")
    modules_tell = bool(_layer_marks(names, rows, modules, layers))
    method = "names" if by_name else "count"
    texts = _with_layer(names, layers, modules_tell)
    return CapturedNames(texts, label, names.height, replayed.height, method, marks, modules_tell)


def _nothing(capture: CaptureFile, replayed: int, why: str) -> CapturedNames:
    empty = pl.DataFrame(schema={"op_id": pl.Int64, **dict.fromkeys(TEXTS, pl.String)})
    return CapturedNames(empty, "", 0, replayed, "none", (), False, f"{capture.path}: {why}")


def _misfit(replayed: pl.DataFrame, rows: pl.DataFrame, paired: int, label: str) -> str:
    replays = replayed["launch_id"].n_unique()
    return (
        f"none of its captures fits: the closest, {label}, launches {rows.height} operations, a replay runs"
        f" {replayed.height / replays:g}, and {paired} of {replayed.height} replayed calls pair up"
    )


def _replayed(trace: Trace, steps: Steps) -> pl.DataFrame:
    """Ops of the used steps that graph launches replayed: op_id, launch_id, name, kind; by graph node where known."""
    graphs = trace.calls.filter(pl.col("kind") == "graph_launch")["launch_id"]
    rows = trace.gpu_ops.select("op_id", "launch_id", "kind", "name", "graph_node_id").with_columns(
        pl.Series("step_index", steps.op_step)
    )
    inside = rows.filter(pl.col("launch_id").is_in(graphs.implode()) & pl.col("step_index").is_in(steps.used.tolist()))
    return inside.with_columns(pl.col("name").cast(pl.String), pl.col("kind").cast(pl.String)).sort(
        "launch_id", "graph_node_id", "op_id"
    )


def _paired(replayed: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
    """op_id and order (place in the capture) of the ops that answer a launch."""
    ordered = rows.with_columns(pl.int_range(pl.len()).alias("order"))
    kernels = ordered.drop_nulls("kernel")
    if kernels.is_empty():
        return _by_order(replayed, ordered)
    launched = kernels.with_columns(pl.int_range(pl.len()).over("kernel").alias("turn"))
    turn = pl.int_range(pl.len()).over("launch_id", "name").alias("turn")
    counts = launched.group_by("kernel").len("launched")
    ops = replayed.filter(pl.col("kind") == "kernel").with_columns(
        turn, pl.len().over("launch_id", "name").alias("runs")
    )
    same = ops.join(counts, left_on="name", right_on="kernel").filter(pl.col("runs") == pl.col("launched"))
    return same.join(launched, left_on=["name", "turn"], right_on=["kernel", "turn"]).select("op_id", "order")


def _by_order(replayed: pl.DataFrame, ordered: pl.DataFrame) -> pl.DataFrame:
    """Replays of exactly as many ops as were captured pair place by place."""
    place = pl.int_range(pl.len()).over("launch_id").alias("order")
    ops = replayed.with_columns(place, pl.len().over("launch_id").alias("runs"))
    return ops.filter(pl.col("runs") == ordered.height).select("op_id", "order")


def _around(rows: pl.DataFrame, ranges: pl.DataFrame) -> pl.DataFrame:
    """order, module, operator and shapes of each launch: what was open around it, outermost first."""
    modules = ranges.filter((pl.col("kind") == "module") & ~pl.col("name").str.starts_with(COMPILED))
    operators = ranges.filter(pl.col("kind") == "operator")
    return pl.DataFrame(
        {
            "order": pl.Series(np.arange(rows.height)),
            "module": _path(modules["name"], _open(rows, modules), rows.height),
            "operator": _path(operators["name"], _open(rows, operators), rows.height),
            "shapes": _innermost(operators["shapes"], _open(rows, operators), rows.height),
        }
    )


def _open(rows: pl.DataFrame, ranges: pl.DataFrame) -> Ranges:
    """Per depth of nesting the row of the range open at each launch on its thread, -1 for none."""
    numbered = ranges.with_row_index("row").with_columns(pl.col("row").cast(pl.Int64))
    levels: list[Int64Array] = []
    for tid in rows["tid"].unique().to_list():
        mine, here = numbered.filter(pl.col("tid") == tid), (rows["tid"] == tid).to_numpy()
        start, end, row = (mine[c].to_numpy() for c in ("start_ns", "end_ns", "row"))
        depth = np.arange(start.size) - np.searchsorted(np.sort(end), start, side="right")
        at = rows["start_ns"].to_numpy()
        for level in range(int(depth.max(initial=-1)) + 1):
            chosen = np.flatnonzero(depth == level)
            last = np.searchsorted(start[chosen], at, side="right") - 1
            inside = here & (last >= 0) & (end[chosen][np.maximum(last, 0)] > at)
            found = np.where(inside, row[chosen][np.maximum(last, 0)], -1)
            if level == len(levels):
                levels.append(found)
            else:
                levels[level] = np.where(inside, found, levels[level])
    return levels


def _texts(column: pl.Series, rows: Int64Array) -> pl.Series:
    """The texts of rows, null for -1."""
    known = pl.Series(np.where(rows < 0, column.len(), rows))
    return pl.concat([column, pl.Series([None], dtype=pl.String)]).gather(known)


def _path(names: pl.Series, levels: Ranges, height: int) -> pl.Series:
    """The names of all depths joined; null where nothing is open."""
    frame = _by_depth(names, levels, height)
    joined = frame.select(pl.concat_str(pl.all(), separator=" > ", ignore_nulls=True).alias("path"))["path"]
    return joined.replace("", None)


def _innermost(shapes: pl.Series, levels: Ranges, height: int) -> pl.Series:
    """The shapes of the innermost range that recorded some."""
    frame = _by_depth(shapes, levels, height)
    return frame.select(pl.coalesce(list(reversed(frame.columns))).alias("shapes"))["shapes"]


def _by_depth(texts: pl.Series, levels: Ranges, height: int) -> pl.DataFrame:
    """One column of texts per depth, null where nothing is open."""
    if not levels:
        return pl.DataFrame({"0": pl.Series([None] * height, dtype=pl.String)})
    return pl.DataFrame([_texts(texts, rows).alias(str(depth)) for depth, rows in enumerate(levels)])


def _layer_marks(names: pl.DataFrame, rows: pl.DataFrame, ranges: pl.DataFrame, layers: Layers) -> Marks:
    """Operators and modules that are called once a layer around launches.

    Each with its calls in the layer of their number, and the layers; best agreement first, at most MOST_MARKS.
    """
    levels = _open(rows, ranges)
    if not levels or not layers.layers:
        return ()
    classes = ranges["name"].str.replace(r"_\d+$", "")
    seen = pl.concat(pl.DataFrame({"order": np.arange(rows.height), "row": found}) for found in levels)
    seen = seen.filter(pl.col("row") >= 0).with_columns(
        classes.gather(seen.filter(pl.col("row") >= 0)["row"]).alias("mark")
    )
    numbered = seen.with_columns((pl.col("row").rank("dense").over("mark") - 1).cast(pl.Int64).alias("number"))
    once = numbered.filter(pl.col("row").n_unique().over("mark") == layers.layers)
    first = names.unique("order", keep="first", maintain_order=True).select("order", "op_id")
    placed = once.join(first, on="order")
    layer = pl.Series(layers.op_layer[placed["op_id"].to_numpy()].astype(np.int64))
    hits = placed.with_columns((layer == placed["number"]).alias("hit"))
    calls = hits.group_by("mark", "number").agg(pl.col("hit").all(), pl.col("order").min())
    found = calls.group_by("mark").agg(pl.col("hit").sum().cast(pl.Int64), pl.col("order").min())
    best = found.sort("hit", "order", "mark", descending=[True, False, False]).head(MOST_MARKS)
    return tuple((mark, hit, layers.layers) for mark, hit, _ in best.rows())


def _with_layer(names: pl.DataFrame, layers: Layers, modules_tell: bool) -> pl.DataFrame:
    """op_id and texts; where modules do not give the layer (a compiled model), its number in the replay does."""
    chosen = names.select("op_id", *TEXTS)
    layer = pl.Series("layer", layers.op_layer[names["op_id"].to_numpy()].astype(np.int64))
    if modules_tell:
        return chosen
    numbered = pl.when(pl.col("layer") >= 0).then(pl.lit("layer ") + pl.col("layer").cast(pl.String))
    path = pl.concat_str("module", numbered, separator=" > ", ignore_nulls=True).replace("", None)
    return chosen.with_columns(layer).with_columns(path.alias("module")).drop("layer")


def capture_caveats(found: CapturedNames) -> tuple[Caveat, ...]:
    """How well the capture fits, in words."""
    if found.why_not:
        return (Caveat("capture_does_not_fit", found.why_not, 1, "warning"),)
    how = (
        "kernel names agree" if found.method == "names" else "paired by order alone: the capture tells no kernel names"
    )
    text = f"{found.label} names {found.named} of {found.replayed} replayed operations ({how})"
    marks = [f"{mark} ({hit} of {of} calls in the layer of their number)" for mark, hit, of in found.layers_by]
    per_layer = f"; called once a layer: {', '.join(marks)}" if marks else "; nothing in it is called once a layer"
    severity = "note" if found.method == "names" and found.named == found.replayed else "warning"
    caveats = [Caveat("capture_names", text + per_layer, found.named, severity)]
    if not found.modules_tell:
        text = (
            "the capture holds no module call per layer (a compiled model, or recorded without stacks): the numbers of"
            " layers are those of the replay, by order"
        )
        caveats.append(Caveat("layers_numbered_by_order", text))
    return tuple(caveats)
