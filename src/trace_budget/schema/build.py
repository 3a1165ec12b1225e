"""From a reader's raw columns to the declared tables: fill, cast, sort, number and link, alike for all formats."""

from __future__ import annotations

import polars as pl

from trace_budget.schema.kernel_names import UNNAMED, with_nameless
from trace_budget.schema.tables import AGGREGATES, CALLS, GPU_OPS, MARKERS, SYNCS, NameType, TableSpec

ENQUEUES = ("launch", "graph_launch", "memcpy", "memset")
_SIZES = tuple(f"{size}_{axis}" for size in ("grid", "block") for axis in "xyz")
_CONTROLS = r"[\x00-\x1f\x7f-\x9f]"
_CALL_PATTERNS = (
    ("graph_launch", "GraphLaunch|aclmdl(?:RI)?Execute"),
    (
        "launch",
        "LaunchKernel|LaunchCooperativeKernel|LaunchHostFunc|ModuleLaunch|ExtLaunch|LaunchMultiKernel|^Node@launch$",
    ),
    ("memcpy", "[Mm]emcpy"),
    ("memset", "[Mm]emset"),
    ("sync", "Synchronize|StreamQuery|EventQuery|aclrtQuery(?:Event|Stream)"),
    ("event_record", "EventRecord|aclrtRecordEvent"),
    ("stream_wait", "StreamWaitEvent|StreamWaitValue"),
)


def names_from_text(column: pl.Series) -> pl.Series:
    """An Enum column from a text column; null becomes `<unnamed>`, control characters (terminal escapes too) `?`."""
    filled = column.cast(pl.String).fill_null(UNNAMED)
    distinct = filled.unique(maintain_order=True)
    clean = distinct.str.replace_all(_CONTROLS, "?")
    mapped = filled if clean.equals(distinct) else filled.replace_strict(distinct, clean)
    return mapped.cast(pl.Enum(clean.unique(maintain_order=True)))


def call_kind(name: str) -> pl.Expr:
    """What a host API call does, by its name (`cuda*`, `cu*`, `hip*` and other vendors' spellings alike)."""
    text = pl.col(name).cast(pl.String)
    kind = pl.lit("other")
    for label, pattern in reversed(_CALL_PATTERNS):
        kind = pl.when(text.str.contains(pattern)).then(pl.lit(label)).otherwise(kind)
    return kind


def gpu_ops(columns: pl.DataFrame, calls: pl.DataFrame | None = None) -> pl.DataFrame:
    """The gpu_ops table from any subset of its columns (kind, name required), sorted by start, numbered.

    With `calls`, `launch_id` is filled by correlation where the reader has not set it.
    """
    frame = _filled(GPU_OPS, columns.with_columns(_known_size(name) for name in _SIZES if name in columns.columns))
    frame = frame.with_columns(_named(frame["name"]))
    order = frame.sort("start_ns", nulls_last=True, maintain_order=True)
    if calls is not None and "launch_id" not in columns.columns:
        order = _linked(order, calls)
    return _numbered(GPU_OPS, order, "op_id")


def _named(names: pl.Series) -> pl.Series:
    """Names in which those that name no kernel are UNNAMED; as they are when there are none."""
    texts = names.dtype.categories if isinstance(names.dtype, pl.Enum) else names.unique().drop_nulls()
    return names_from_text(with_nameless(names)) if not with_nameless(texts).equals(texts) else names


def _known_size(name: str) -> pl.Expr:
    """No kernel runs on a grid of 0: recorders write 0 for what they do not know."""
    return pl.when(pl.col(name) > 0).then(name).alias(name)


def calls(columns: pl.DataFrame) -> pl.DataFrame:
    """The calls table from any subset of its columns (name, start_ns, end_ns required), sorted by start, numbered.

    `kind` is derived from the API name unless given. Rows keep their order in time; ids start at 0.
    """
    frame = columns if "kind" in columns.columns else columns.with_columns(_kinds_of(columns["name"]))
    return _numbered(CALLS, _filled(CALLS, frame).sort("start_ns", maintain_order=True), "launch_id")


def markers(columns: pl.DataFrame) -> pl.DataFrame:
    """The markers table from any subset of its columns, sorted by start, numbered."""
    return _numbered(MARKERS, _filled(MARKERS, columns).sort("start_ns", maintain_order=True), "marker_id")


def syncs(columns: pl.DataFrame) -> pl.DataFrame:
    """The syncs table from any subset of its columns, sorted by start."""
    return _filled(SYNCS, columns).sort("start_ns", maintain_order=True)


def aggregates(columns: pl.DataFrame) -> pl.DataFrame:
    """The aggregates table from name, calls, total_ns and any of its other columns, largest total first."""
    frame = columns.with_columns((pl.col("total_ns") / pl.col("calls")).alias("mean_ns"))
    return _filled(AGGREGATES, frame).sort("total_ns", descending=True, maintain_order=True)


def _kinds_of(names: pl.Series) -> pl.Series:
    distinct = names.unique(maintain_order=True).to_frame("name").with_columns(call_kind("name").alias("kind"))
    return names.cast(pl.String).replace_strict(distinct["name"].cast(pl.String), distinct["kind"]).alias("kind")


def _safe_names(series: pl.Series) -> pl.Series:
    """An Enum column as it is when nothing in its categories needs cleaning; else built anew from its texts."""
    if not isinstance(series.dtype, pl.Enum) or series.null_count():
        return names_from_text(series)
    return names_from_text(series) if series.dtype.categories.str.contains(_CONTROLS).any() else series


def _filled(spec: TableSpec, columns: pl.DataFrame) -> pl.DataFrame:
    unknown = set(columns.columns) - set(spec.column_names())
    if unknown:
        raise ValueError(f"{spec.name}: columns {sorted(unknown)} are not declared")
    out: list[pl.Series] = []
    for column in spec.columns:
        if column.name not in columns.columns:
            dtype = pl.Int64() if isinstance(column.dtype, NameType) else column.dtype
            out.append(pl.Series(column.name, [None], dtype=dtype).new_from_index(0, columns.height))
        elif isinstance(column.dtype, NameType):
            series = columns[column.name]
            out.append(_safe_names(series).alias(column.name))
        else:
            out.append(columns[column.name].cast(column.dtype, strict=False))
    return pl.DataFrame(out)


def _numbered(spec: TableSpec, frame: pl.DataFrame, id_column: str) -> pl.DataFrame:
    return frame.with_columns(pl.int_range(pl.len(), dtype=pl.Int64).alias(id_column)).select(spec.column_names())


def _linked(ops: pl.DataFrame, calls_frame: pl.DataFrame) -> pl.DataFrame:
    """Fill launch_id by correlation id, within the process where both sides know it; calls that enqueue work win."""
    known = calls_frame.filter(pl.col("correlation").is_not_null())
    ranked = known.with_columns((~pl.col("kind").cast(pl.String).is_in(ENQUEUES)).alias("rank")).sort(
        "rank", maintain_order=True
    )
    first = ranked.unique("correlation", keep="first", maintain_order=True).select("correlation", "launch_id")
    return ops.drop("launch_id").join(first, on="correlation", how="left", maintain_order="left")
