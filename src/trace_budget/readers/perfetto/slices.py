"""The slices of GPU profilers in a Perfetto trace, as one table whatever their writer called things.

Writers and how they are distinguished, by the category of their slices (kernel / copy / API call / range):

- rocprofv3: kernel_dispatch / memory_copy / hip_api / marker_api
- rocprof-sys and omnitrace: rocm_kernel_dispatch, rocm_hip_stream, device_hip / rocm_memory_copy / rocm_hip_api,
  rocm_hip / rocm_marker_api, rocm_roctx, user. The two device categories without "kernel" also hold copies.
- hipprof (DTK): HIPOPS / HIPCOPY / HIP / HIPTX, as in its JSON; no pftrace of it was at hand, so this is a guess.

Sources: rocprofiler-sdk source/lib/output/generatePerfetto.cpp; rocprofiler-systems trace_cache/perfetto_processor.cpp.
"""

from __future__ import annotations

import polars as pl

from trace_budget.io.perfetto.trace_processor import Session
from trace_budget.readers.work_kinds import is_no_work, kind_of
from trace_budget.schema import build

ROCPROFV3_KERNEL = "kernel_dispatch"
HIPPROF_KERNEL = "HIPOPS"
ROCPROF_SYS_COPY = "rocm_memory_copy"
_DEVICE = "device"
ROLE_OF_CATEGORY = {
    ROCPROFV3_KERNEL: "kernel",
    "rocm_kernel_dispatch": "kernel",
    HIPPROF_KERNEL: "kernel",
    "rocm_hip_stream": _DEVICE,
    "device_hip": _DEVICE,
    "memory_copy": "memcpy",
    ROCPROF_SYS_COPY: "memcpy",
    "HIPCOPY": "memcpy",
    "hip_api": "call",
    "rocm_hip_api": "call",
    "rocm_hip": "call",
    "HIP": "call",
    "marker_api": "marker",
    "rocm_marker_api": "marker",
    "rocm_roctx": "marker",
    "user": "marker",
    "HIPTX": "marker",
}
_CATEGORIES = tuple(ROLE_OF_CATEGORY)
# Column: its type, and the debug annotations that hold it, by writer.
_ARGUMENTS: dict[str, tuple[type[pl.DataType], tuple[str, ...]]] = {
    "begin_ns": (pl.Int64, ("begin_ns", "BeginNs")),
    "finish_ns": (pl.Int64, ("end_ns", "EndNs")),
    "correlation": (pl.Int64, ("corr_id", "index")),
    "stream": (pl.Int64, ("stream_ID", "stream_id")),
    "queue": (pl.Int64, ("queue", "queueId")),
    "tid": (pl.Int64, ("tid",)),
    "bytes": (pl.Int64, ("copy_bytes", "bytes", "Bytes")),
    "agent": (pl.String, ("agent", "device", "devId")),
    "source": (pl.String, ("src_agent", "src_agent_id")),
    "target": (pl.String, ("dst_agent", "dst_agent_id")),
    "grid": (pl.String, ("grid_size",)),
    "block": (pl.String, ("workgroup_size",)),
}
_ARGUMENT_TYPES = {name: dtype for name, (dtype, _) in _ARGUMENTS.items()}
_OWN_COLUMNS = ("slice_id", "track_id", "category_id", "name_id", "ts", "dur", "depth")
_UNNAMED = "<unnamed>"
_TRACK_DEVICE = (r"(?:Dispatch|AGENT|COMPUTE[^\[]*?) \[(\d+)\]", r"Device (\d+)")
_TRACK_STREAM = r"(?i)stream ?\[?\"? ?(\d+)"
_TRACK_QUEUE = r"(?i)queue ?\[?(\d+)"
_QUOTED = ", ".join(f"'{category}'" for category in _CATEGORIES)
# Names are numbered inside trace_processor, so that one of 300 characters crosses over once, not once per slice.
_NAMES_SQL = """
CREATE PERFETTO TABLE trace_budget_name AS
SELECT ROW_NUMBER() OVER () - 1 AS name_id, name
FROM (SELECT DISTINCT name FROM slice WHERE category IN (<categories>) AND name IS NOT NULL)
""".replace("<categories>", _QUOTED)
_TEXTS = {"name_id": pl.Int64, "text": pl.String}
_SLICES_SQL = """
SELECT slice.id AS slice_id, track_id, CASE category <cases> END AS category_id, name_id, ts, dur, depth, <arguments>
FROM slice LEFT JOIN trace_budget_name USING (name)
WHERE category IN (<categories>) ORDER BY slice.id
""".replace("<categories>", _QUOTED)
_TRACKS_SQL = """
SELECT track.id AS track_id, track.name AS track_name, thread.tid AS track_tid, process.pid AS pid
FROM track
LEFT JOIN thread_track ON thread_track.id = track.id
LEFT JOIN thread ON thread.utid = thread_track.utid
LEFT JOIN process_track ON process_track.id = track.id
LEFT JOIN process ON process.upid = COALESCE(thread.upid, process_track.upid)
"""


def read_slices(session: Session) -> pl.DataFrame:
    """One row per slice of a known category: slice_id, category, role, name, ts, dur, depth, place, annotations.

    `name` is an Enum; `role` is kernel, memcpy, memset, call or marker; ts and dur are ns (dur -1: never ended).
    Annotations are null where the writer gave none; stream, queue, tid and track_device come from the track then.
    """
    session.query(_NAMES_SQL, {})
    names = _names(session.query("SELECT name_id, name AS text FROM trace_budget_name ORDER BY name_id", _TEXTS))
    slices = session.query(_slices_sql(), {**dict.fromkeys(_OWN_COLUMNS, pl.Int64), **_ARGUMENT_TYPES})
    categories = _category_table()
    keyed = slices.with_columns(pl.col("name_id").fill_null(names.height - 1))
    wide = (
        keyed.join(_tracks(session), on="track_id", how="left", maintain_order="left")
        .join(categories, on="category_id", how="left", maintain_order="left")
        .join(names, on="name_id", how="left", maintain_order="left")
    )
    role = pl.when(pl.col("role") == _DEVICE).then(pl.col("device_role")).otherwise(pl.col("role"))
    filled = wide.with_columns(
        role.alias("role"),
        pl.coalesce("stream", "track_stream").alias("stream"),
        pl.coalesce("queue", "track_queue").alias("queue"),
        pl.coalesce("tid", "track_tid").alias("tid"),
    )
    return filled.filter(pl.col("role").is_not_null())


def read_flows(session: Session) -> pl.DataFrame:
    """The arrows between slices: slice_out, slice_in."""
    return session.query("SELECT slice_out, slice_in FROM flow", {"slice_out": pl.Int64, "slice_in": pl.Int64})


def read_pids(session: Session) -> list[int]:
    """The processes the file knows."""
    sql = "SELECT DISTINCT pid FROM process WHERE pid IS NOT NULL AND pid <> 0 ORDER BY pid"
    return session.query(sql, {"pid": pl.Int64})["pid"].to_list()


def category_counts(session: Session) -> pl.DataFrame:
    """Slices per category, most first: category, slices."""
    sql = "SELECT COALESCE(category, 'none') AS category, COUNT(*) AS slices FROM slice GROUP BY 1 ORDER BY 2 DESC"
    return session.query(sql, {"category": pl.String, "slices": pl.Int64})


def _slices_sql() -> str:
    category = " ".join(f"WHEN '{name}' THEN {index}" for index, name in enumerate(_CATEGORIES))
    arguments = ", ".join(_argument_sql(name) for name in _ARGUMENTS)
    return _SLICES_SQL.replace("<cases>", category).replace("<arguments>", arguments)


def _argument_sql(column: str) -> str:
    dtype, keys = _ARGUMENTS[column]
    values = ", ".join(f"EXTRACT_ARG(arg_set_id, 'debug.{key}')" for key in keys)
    return f"CAST(COALESCE({values}, NULL) AS {'INTEGER' if dtype is pl.Int64 else 'TEXT'}) AS {column}"


def _names(named: pl.DataFrame) -> pl.DataFrame:
    """name_id, name (Enum) and the role such a name has among device slices; the last row stands for no name."""
    unnamed = pl.DataFrame({"name_id": [named.height], "text": [_UNNAMED]}, schema=named.schema)
    texts = pl.concat([named, unnamed])
    text = pl.col("text")
    work = pl.when(~is_no_work(text)).then(kind_of(text))
    names = build.names_from_text(texts["text"]).alias("name")
    return texts.with_columns(work.alias("device_role")).drop("text").with_columns(names)


def _category_table() -> pl.DataFrame:
    return pl.DataFrame(
        {
            "category_id": range(len(_CATEGORIES)),
            "category": pl.Series(_CATEGORIES, dtype=pl.Enum(_CATEGORIES)),
            "role": list(ROLE_OF_CATEGORY.values()),
        },
        schema_overrides={"category_id": pl.Int64},
    )


def _tracks(session: Session) -> pl.DataFrame:
    """track_id, pid, and what its name says: track_tid, track_device, track_stream, track_queue."""
    types = {"track_id": pl.Int64, "track_name": pl.String, "track_tid": pl.Int64, "pid": pl.Int64}
    name = pl.col("track_name").str
    return session.query(_TRACKS_SQL, types).select(
        "track_id",
        "track_tid",
        "pid",
        pl.coalesce(*(name.extract(pattern) for pattern in _TRACK_DEVICE))
        .cast(pl.Int64, strict=False)
        .alias("track_device"),
        name.extract(_TRACK_STREAM).cast(pl.Int64, strict=False).alias("track_stream"),
        name.extract(_TRACK_QUEUE).cast(pl.Int64, strict=False).alias("track_queue"),
    )
