"""Perfetto traces of GPU profilers: `.pftrace` of rocprofv3 and hipprof, `perfetto-trace*.proto` of rocprof-sys.

Parsed by Perfetto's own trace_processor (see files/trace_processor_routes.py). Read: kernels, copies, HIP API calls,
roctx ranges. Ignored: HSA and RCCL API calls, counters, sampling. Kineto and other JSON never comes this way:
trace_processor drops and rounds what it finds there.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from trace_budget.contracts import FileNames, Head, Reader, ReadOptions
from trace_budget.errors import InputError
from trace_budget.io.perfetto.packets import starts_with_packets
from trace_budget.io.perfetto.trace_processor import Session, session
from trace_budget.io.probe import probe
from trace_budget.readers.perfetto.slices import (
    HIPPROF_KERNEL,
    ROCPROF_SYS_COPY,
    ROCPROFV3_KERNEL,
    category_counts,
    read_flows,
    read_pids,
    read_slices,
)
from trace_budget.readers.records import Records, trace_of
from trace_budget.schema.trace import Caveat, Trace

_XSPACE = (b"/device:", b"/host:")
_XSPACE_BYTES = 1024
_WORK = ("kernel", "memcpy", "memset")
_SHOWN_CATEGORIES = 5
_INT32_MAX = 2**31 - 1
# Statistics that trace_processor counts as mere information, though slices are missing when they are not 0: a full
# buffer (rocprofv3 discards what comes late), packets without the state they need, events it could not read.
_LOSSES = (
    "traced_buf_chunks_discarded",
    "traced_buf_chunks_overwritten",
    "tokenizer_skipped_packets",
    "interned_data_tokenizer_errors",
    "track_event_parser_errors",
    "track_event_tokenizer_errors",
    "trace_sorter_negative_timestamp_dropped",
)
_STATS_SQL = """
SELECT name, severity, value, COALESCE(description, '') AS description
FROM stats WHERE value > 0 AND (severity IN ('error', 'data_loss') OR name IN (<losses>)) ORDER BY name, idx
""".replace("<losses>", ", ".join(f"'{name}'" for name in _LOSSES))
_STATS = {"name": pl.String, "severity": pl.String, "value": pl.Int64, "description": pl.String}


@dataclass(frozen=True, slots=True)
class _Loaded:
    """The file and why it may be incomplete."""

    path: Path
    damage: str


def _recognises(head: Head) -> bool:
    if any(mark in head.data[:_XSPACE_BYTES] for mark in _XSPACE):  # a JAX XSpace, the other protobuf that starts so
        return False
    return starts_with_packets(head.data)


def _read(path: Path, options: ReadOptions) -> Trace:
    # trace_processor would also take JSON, and drop and round what it finds there
    if not (start := probe(path).data).startswith(b"\n"):
        expected, found = "protobuf packets", f"bytes that start {start[:8].hex(' ')}"
        raise InputError("no Perfetto trace", where=str(path), expected=expected, found=found)
    with session(path, options.trace_processor) as opened:
        stats = opened.query(_STATS_SQL, _STATS)
        slices = read_slices(opened)
        if not slices.filter(pl.col("role") == "kernel").height:
            raise _no_kernels(opened)
        flows, pids = read_flows(opened), read_pids(opened)
        engine, damage = opened.engine, opened.damage or _lost_data(stats)
    if len(pids) == 1:  # tracks of a device belong to no process
        slices = slices.with_columns(pl.lit(pids[0], dtype=pl.Int64).alias("pid"))
    timed = _with_ends(slices)
    keyed = timed.with_columns(_launch_keys(timed, flows).alias("launch_key"))
    ops = _ops(keyed)
    records = Records(
        ops=ops,
        calls=keyed.filter(pl.col("role") == "call").select(*_HOST, "correlation", "launch_key"),
        markers=keyed.filter(pl.col("role") == "marker").select(*_HOST, pl.lit("annotation").alias("kind")),
        keys=("launch_key",),
        caveats=(*_reported(stats), *_mended(keyed), *_maybe_cut(keyed), *_product_sizes(ops)),
    )
    return trace_of(
        _Loaded(path, damage),
        "perfetto",
        records,
        vendor="Hygon" if (keyed["category"] == HIPPROF_KERNEL).any() else "AMD",
        rank=options.rank,
        engine=engine,
        dispatch_gap_in_duration=True,
    )


_HOST = ("name", "pid", "tid", "start_ns", "end_ns")


def _with_ends(slices: pl.DataFrame) -> pl.DataFrame:
    """start_ns and end_ns; `mended` where the annotated length replaces one that trace_processor paired wrongly.

    A slice ends at the next END of its track, so two that overlap partly get each other's end. Starts are right.
    """
    paired = pl.when(pl.col("dur") >= 0).then(pl.col("dur"))
    annotated = pl.col("finish_ns") - pl.col("begin_ns")
    length = pl.coalesce(annotated, paired)
    return slices.with_columns(
        pl.col("ts").alias("start_ns"),
        (pl.col("ts") + length).alias("end_ns"),
        pl.coalesce(annotated != pl.col("dur"), pl.lit(False)).alias("mended"),
        pl.when(pl.col("correlation") != 0).then(pl.col("correlation")).alias("correlation"),
    )


def _launch_keys(slices: pl.DataFrame, flows: pl.DataFrame) -> pl.Series:
    """What a device slice shares with the call that launched it: the correlation id, else the start of its flow.

    Flows chain every slice of one id: call -> kernel -> next kernel of the same graph launch.
    """
    if slices["correlation"].null_count() < slices.height or not flows.height:
        return slices["correlation"]
    size = int(pl.concat([slices["slice_id"], flows["slice_in"], flows["slice_out"]]).max()) + 1  # type: ignore[arg-type]
    origin = np.arange(size)
    origin[flows["slice_in"].to_numpy()] = flows["slice_out"].to_numpy()
    for _ in range(size.bit_length()):  # each round doubles the length of chain that is followed
        origin = origin[origin]
    return pl.Series(origin[slices["slice_id"].to_numpy()])


def _ops(slices: pl.DataFrame) -> pl.DataFrame:
    """Kernels and copies as columns of gpu_ops."""
    work = slices.filter(pl.col("role").is_in(_WORK))
    to_host = pl.col("name").cast(pl.String).str.contains("DEVICE_TO_HOST|DeviceToHost")
    place = pl.coalesce("agent", pl.when(to_host).then("source").otherwise("target"))
    number = place.str.extract(r"(\d+)\)?$").cast(pl.Int64, strict=False)
    # rocprof-sys numbers the devices of kernels by GPU, those of copies by node: the two meet by chance alone
    by_node = pl.col("category").cast(pl.String) == ROCPROF_SYS_COPY
    return work.with_columns(
        pl.col("role").cast(pl.String).alias("kind"),
        pl.when(~by_node).then(pl.coalesce(number, "track_device")).alias("device"),
        *_sizes("grid"),
        *_sizes("block"),
    ).select(*_OP_COLUMNS)


_SIZES = tuple(f"{size}_{axis}" for size in ("grid", "block") for axis in "xyz")
_OP_COLUMNS = (
    *("kind", "name", "device", "stream", "queue", "pid", "start_ns", "end_ns", "correlation", "launch_key", "bytes"),
    *_SIZES,
)


def _sizes(column: str) -> list[pl.Expr]:
    """x, y, z of `(x,y,z)`; a plain number is the product of the three and goes to x alone."""
    numbers = pl.col(column).str.extract_all(r"\d+")
    at = [numbers.list.get(index, null_on_oob=True).cast(pl.Int64, strict=False) for index in range(3)]
    return [
        pl.when(value <= _INT32_MAX).then(value).alias(f"{column}_{axis}")
        for value, axis in zip(at, "xyz", strict=True)
    ]


def _no_kernels(opened: Session) -> InputError:
    counts = category_counts(opened)
    shown = [f"{name} ({number})" for name, number in counts.head(_SHOWN_CATEGORIES).rows()]
    more = ", …" if counts.height > _SHOWN_CATEGORIES else ""
    cut = f"; the file is incomplete: {opened.damage}" if opened.damage else ""
    return InputError(
        "holds no GPU kernels",
        where=str(opened.path),
        expected="slices of category kernel_dispatch (rocprofv3) or rocm_kernel_dispatch (rocprof-sys)",
        found=(f"categories {', '.join(shown)}{more}" if shown else "no slices") + cut,
        advice="Record with: rocprofv3 --kernel-trace --hip-runtime-trace --output-format pftrace -- COMMAND",
    )


def _lost_data(stats: pl.DataFrame) -> str:
    lost = stats.filter((pl.col("severity") == "data_loss") | pl.col("name").is_in(_LOSSES))["name"]
    return f"the recording lost data: {', '.join(lost.unique(maintain_order=True))}" if lost.len() else ""


def _reported(stats: pl.DataFrame) -> tuple[Caveat, ...]:
    """One caveat for every error or loss that trace_processor met."""
    return tuple(
        Caveat(
            "trace_processor_stat",
            f"trace_processor reports {name} ({severity}): {description or 'no description'}",
            value,
            "warning",
        )
        for name, severity, value, description in stats.rows()
    )


def _mended(slices: pl.DataFrame) -> tuple[Caveat, ...]:
    """Lengths taken from annotations, and kernels inside kernels where there are none to take them from."""
    rows = slices.filter(pl.col("mended"))
    text = "slices that overlap on one track had each other's end; the writer's annotations gave the lengths back"
    found = [Caveat("slice_ends_mended", text, rows.height, "note", str(rows["name"][0]))] if rows.height else []
    bare = pl.col("finish_ns").is_null() & (pl.col("role") == "kernel") & (pl.col("depth") > 0)
    nested = slices.filter(bare)
    text = "kernels lie inside others on their track and carry no annotated end: the ends of both may be swapped"
    if nested.height:
        found.append(Caveat("slice_ends_doubtful", text, nested.height, "warning", str(nested["name"][0])))
    return tuple(found)


def _maybe_cut(slices: pl.DataFrame) -> tuple[Caveat, ...]:
    """rocprofv3 cuts overlapping kernels of one queue at the middle of the overlap before it writes a pftrace.

    What is left are kernels that touch exactly, as kernels in a row also do: the count is what may have been cut.
    """
    kernels = slices.filter(pl.col("category") == ROCPROFV3_KERNEL).sort("start_ns", maintain_order=True)
    before = pl.col("end_ns").shift(1).over("agent", "queue")
    touching = kernels.filter(pl.col("start_ns") == before)
    text = (
        "pairs of kernels on one queue touch exactly: where kernels overlapped, rocprofv3 cut both at the middle of the"
        " overlap before it wrote this file; rocpd, CSV or JSON of the same run hold the recorded times"
    )
    if not touching.height:
        return ()
    return (Caveat("writer_cut_overlaps", text, touching.height, "note", str(touching["name"][0])),)


def _product_sizes(ops: pl.DataFrame) -> tuple[Caveat, ...]:
    rows = ops.filter(pl.col("grid_x").is_not_null() & pl.col("grid_y").is_null())
    text = "kernels carry the product of their three grid and block sizes only: it stands in grid_x and block_x"
    return (Caveat("sizes_are_products", text, rows.height),) if rows.height else ()


READER = Reader(
    name="perfetto",
    title="Perfetto trace (pftrace) of rocprofv3, rocprof-sys or hipprof",
    recognised_by="a sequence of protobuf TracePackets with time stamps or sequence ids",
    cannot_tell="recorded ends of overlapping kernels (rocprofv3 cuts them); grid and block shapes; graph nodes",
    recognises=_recognises,
    read=_read,
    suffixes=(".pftrace", ".perfetto-trace", ".perfetto", ".proto"),
    own_suffixes=(".pftrace", ".perfetto-trace"),
    writers={"rocprofv3": 3, "hipprof": 2},
    names=FileNames(output="results"),
)
