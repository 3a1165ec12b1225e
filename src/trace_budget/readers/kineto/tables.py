"""From collected Kineto rows to the declared tables, with a caveat for whatever could not be taken as recorded."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from trace_budget.readers.kineto.collector import Frames
from trace_budget.readers.kineto.numbers import SYNTHETIC_BELOW
from trace_budget.readers.work_kinds import with_kinds_by_name
from trace_budget.schema import build
from trace_budget.schema.trace import Caveat

_SYNC_PATTERNS = (
    ("stream_wait", "(?i)wait"),
    ("event_record", "(?i)record"),
    ("stream_sync", "(?i)stream"),
    ("event_sync", "(?i)event"),
    ("context_sync", "(?i)context|device"),
)


@dataclass(frozen=True, slots=True)
class Tables:
    """The four tables of one trace; times in ns with the file's base added."""

    gpu_ops: pl.DataFrame
    calls: pl.DataFrame
    markers: pl.DataFrame
    syncs: pl.DataFrame
    caveats: tuple[Caveat, ...]


def tables(frames: Frames, base_ns: int) -> Tables:
    """The tables of everything collected; `base_ns` is added to every recorded time."""
    calls, calls_lost = _call_table(frames.calls, base_ns)
    markers, markers_lost = _marker_table(frames.markers, base_ns)
    gpu_ops = _without_ambiguous_launches(_op_table(frames.ops, calls, base_ns), calls)
    caveats = (*_time_caveats(frames.ops), *calls_lost, *markers_lost, *_odd_names(gpu_ops, calls, markers))
    return Tables(gpu_ops, calls, markers, _sync_table(frames.syncs, base_ns), caveats)


def _start(base_ns: int) -> pl.Expr:
    """The start; a time and a duration of 0 are how Kineto writes "not recorded"."""
    return pl.when(~_UNRECORDED).then(pl.col("ts_ns") + base_ns)


_UNRECORDED = ((pl.col("ts_ns") == 0) & (pl.col("dur_ns") == 0)).fill_null(False)
_LENGTH = pl.when(pl.col("dur_ns") >= 0).then(pl.col("dur_ns"))
_REAL_PID = pl.when(pl.col("pid") >= SYNTHETIC_BELOW).then(pl.col("pid"))
_REAL_TID = pl.when(pl.col("tid") >= SYNTHETIC_BELOW).then(pl.col("tid"))


def _op_table(rows: pl.DataFrame, calls: pl.DataFrame, base_ns: int) -> pl.DataFrame:
    columns = rows.with_columns(
        _start(base_ns).alias("start_ns"),
        (_start(base_ns) + _LENGTH).alias("end_ns"),
        pl.coalesce("device", _REAL_PID).alias("device"),
        pl.coalesce("stream", _REAL_TID).alias("stream"),
    )
    return build.gpu_ops(with_kinds_by_name(columns.drop("ts_ns", "dur_ns", "pid", "tid")), calls)


def _without_ambiguous_launches(ops: pl.DataFrame, calls: pl.DataFrame) -> pl.DataFrame:
    """Correlation ids that several processes used for launches name no launch; the ids stay, the links go."""
    launches = calls.filter(pl.col("kind").cast(pl.String).is_in(build.ENQUEUES))
    if launches["pid"].n_unique() < 2:
        return ops
    processes = launches.group_by("correlation").agg(pl.col("pid").n_unique().alias("processes"))
    shared = processes.filter(pl.col("processes") > 1)["correlation"].implode()
    unsure = pl.col("correlation").is_in(shared).fill_null(False)
    return ops.with_columns(pl.when(~unsure).then(pl.col("launch_id")).alias("launch_id"))


def _call_table(rows: pl.DataFrame, base_ns: int) -> tuple[pl.DataFrame, tuple[Caveat, ...]]:
    """Calls that lack a start are left out; without a duration it counts as instant."""
    timed = rows.drop("kind").with_columns((pl.col("ts_ns") + base_ns).alias("start_ns"))
    kept = timed.filter(pl.col("start_ns").is_not_null())
    columns = kept.with_columns((pl.col("start_ns") + _LENGTH.fill_null(0)).alias("end_ns")).drop("ts_ns", "dur_ns")
    lost = rows.height - kept.height
    text = "API calls without a usable time were left out: what they launched counts as orphans"
    return build.calls(columns), (Caveat("calls_without_time", text, lost, "warning"),) if lost else ()


def _marker_table(rows: pl.DataFrame, base_ns: int) -> tuple[pl.DataFrame, tuple[Caveat, ...]]:
    on_device = pl.col("kind") == "gpu_annotation"
    columns = rows.select(
        "kind",
        "name",
        pl.when(~on_device).then("pid").alias("pid"),
        pl.when(~on_device).then("tid").alias("tid"),
        pl.when(on_device).then(_REAL_PID).alias("device"),
        (pl.col("ts_ns") + base_ns).alias("start_ns"),
        (pl.col("ts_ns") + base_ns + _LENGTH).alias("end_ns"),
    )
    kept = columns.filter(pl.col("end_ns").is_not_null())
    lost = columns.height - kept.height
    text = "annotations without a usable time were left out: steps they marked are not found by name"
    return build.markers(kept), (Caveat("annotations_without_time", text, lost, "warning"),) if lost else ()


def _sync_table(rows: pl.DataFrame, base_ns: int) -> pl.DataFrame:
    name, kind = pl.col("name").cast(pl.String), pl.lit("other")
    for label, pattern in reversed(_SYNC_PATTERNS):
        kind = pl.when(name.str.contains(pattern)).then(pl.lit(label)).otherwise(kind)
    columns = rows.select(
        kind.alias("kind"),
        pl.coalesce("device", _REAL_PID).alias("device"),
        _known("stream"),
        (pl.col("ts_ns") + base_ns).alias("start_ns"),
        (pl.col("ts_ns") + base_ns + _LENGTH).alias("end_ns"),
        pl.col("correlation"),
        _known("wait_on_stream").alias("wait_stream"),
        _known("wait_correlation"),
    )
    return build.syncs(columns.filter(pl.col("start_ns").is_not_null()))


def _known(column: str) -> pl.Expr:
    """Kineto writes -1 for "none"."""
    return pl.when(pl.col(column) >= 0).then(pl.col(column)).alias(column)


def _time_caveats(ops: pl.DataFrame) -> tuple[Caveat, ...]:
    rest = ops.filter(~_UNRECORDED)
    cases = (
        ("zero_timestamps", ops.filter(_UNRECORDED), "device operations have time 0 and duration 0"),
        ("bad_start", rest.filter(pl.col("ts_ns").is_null()), "device operations lack a usable start"),
        ("bad_duration", rest.filter(_LENGTH.is_null()), "device operations lack a duration, or have a negative one"),
    )
    effect = ": they count as calls and are left out of every time"
    return tuple(
        Caveat(code, text + effect, rows.height, "warning", str(rows["name"][0]))
        for code, rows, text in cases
        if rows.height
    )


def _odd_names(*frames: pl.DataFrame) -> tuple[Caveat, ...]:
    """Names with bytes that are not UTF-8, counted once each."""
    texts = pl.concat([frame["name"].cast(pl.String) for frame in frames]).unique(maintain_order=True)
    odd = texts.filter(texts.str.contains("\ufffd", literal=True))
    text = "names held bytes that are not UTF-8, shown as replacement characters"
    return (Caveat("replacement_characters", text, odd.len(), "note", odd[0]),) if odd.len() else ()
