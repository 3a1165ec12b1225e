"""`nsys stats --format csv`: cuda_gpu_trace with cuda_api_trace and NVTX ranges, or sums from cuda_gpu_kern_sum.

The reports may stand in one output (`nsys stats -r cuda_gpu_trace,cuda_api_trace,nvtx_pushpop_trace`, with the notes
nsys prints between them) or in files beside each other (`-o BASE`). Units are taken from the headers' parentheses.
Source: the report scripts nsys installs (`reports/cuda_gpu_trace.py` …) and docs.nvidia.com/nsight-systems.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import polars as pl

from trace_budget.contracts import FileNames, Head, Reader, ReadOptions
from trace_budget.errors import InputError
from trace_budget.io.csv.table import CsvFile, first_lines
from trace_budget.readers.csv_trace import (
    NO_CALLS,
    NO_MARKERS,
    damage_of,
    required,
    several_tables,
    sibling,
    stem_of,
)
from trace_budget.readers.nsys import nsys_reports as reports
from trace_budget.readers.processes import keys_of, with_processes
from trace_budget.readers.records import Records, trace_of
from trace_budget.readers.sum_names import kernels_alone, refuse_other_sums
from trace_budget.schema import build, caveats
from trace_budget.schema.check import checked
from trace_budget.schema.tables import GPU_OPS
from trace_budget.schema.trace import Caveat, Trace

_RECORD = "nsys stats -r cuda_gpu_trace,cuda_api_trace,nvtx_pushpop_trace --format csv REPORT.nsys-rep"
_SEVERAL = "Read the SQLite export, which names the process of each kernel: nsys export --type sqlite REPORT.nsys-rep"
_BESIDE = ("cuda_api_trace", "nvtx_pushpop_trace", "nvtx_gpu_proj_trace")


def _recognises(head: Head) -> bool:
    return reports.may_begin(head.data) and any(reports.shape_of(line) for line in first_lines(head.data, 2_000))


def _read(path: Path, options: ReadOptions) -> Trace:
    file = required(reports.read_reports(path), READER.recognised_by)
    if file.of("ops"):
        return _timeline(file)
    if file.of("sums"):
        return _sums(file)
    found = " and ".join(sorted({table.shape.name for table in file.tables}))
    advice = f"Export the kernels with: {_RECORD}"
    raise InputError("holds no GPU operations", where=str(path), found=f"only host {found}", advice=advice)


def _timeline(file: CsvFile) -> Trace:
    ops = reports.ops(file.of("ops"))
    if not ops.filter(pl.col("kind") == "kernel").height:
        only = f"{ops.height} copies and memsets"
        raise InputError("holds no GPU kernels", where=str(file.path), found=only, advice=f"Record, then: {_RECORD}")
    calls, ranges, foreign = _host_side(file, ops)
    ops, unsure = with_processes(ops, calls, ("device", "context"), str(file.path), _SEVERAL)
    found = (
        *damage_of(*file.tables),
        *several_tables(file, "ops"),
        *reports.rounding(file.of("ops")),
        *_foreign(foreign),
        *unsure,
    )
    records = Records(ops.drop("device_name"), calls, ranges, keys_of(ops, calls), caveats=found, earliest_ns=0)
    return trace_of(
        file,
        "nsys_csv",
        records,
        device_name=ops["device_name"].drop_nulls().mode().sort().head(1).to_list()[0] if _named(ops) else None,
        vendor="NVIDIA",
        resolution_ns=max(reports.resolution_ns(table) for table in file.of("ops")),
    )


def _named(ops: pl.DataFrame) -> bool:
    return ops["device_name"].null_count() < ops.height


def _host_side(file: CsvFile, ops: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame, list[str]]:
    """Calls and ranges from the same output, else from files beside it; and the names of those of another run."""
    tables = {what: list(file.of(what)) for what in ("calls", "ranges")}
    foreign: list[str] = []
    for what, beside in _siblings(file.path):
        found = list(beside.of(what))
        if tables[what] or not found:
            continue
        if what == "calls" and not _launched(ops, reports.calls(found)):
            foreign.append(beside.path.name)
            break
        tables[what] = found
    calls = reports.calls(tables["calls"]) if tables["calls"] else NO_CALLS
    return calls, reports.ranges(tables["ranges"]) if tables["ranges"] else NO_MARKERS, foreign


def _siblings(path: Path) -> Iterator[tuple[str, CsvFile]]:
    stem = stem_of(path)
    for name in _BESIDE if stem.endswith("cuda_gpu_trace") else ():
        found = sibling(path, stem.removesuffix("cuda_gpu_trace") + name)
        if found is not None:
            yield "calls" if name == "cuda_api_trace" else "ranges", reports.read_reports(found)


def _launched(ops: pl.DataFrame, calls: pl.DataFrame) -> bool:
    """Whether most operations have a call of their correlation id that came before: clocks of all runs start at 0."""
    first = calls.group_by("correlation").agg(pl.col("start_ns").min().alias("called_ns"))
    found = ops.join(first, on="correlation").filter(pl.col("called_ns") <= pl.col("start_ns"))
    return 2 * found.height >= ops.height


def _foreign(names: list[str]) -> tuple[Caveat, ...]:
    text = "files beside it have its name but calls of another run: left out"
    return (Caveat("sibling_of_other_run", text, len(names), "note", names[0]),) if names else ()


def _sums(file: CsvFile) -> Trace:
    recorded = reports.sums(file.of("sums"))
    refuse_other_sums(file.path, recorded["name"], f"Export the kernels with: {_RECORD}")
    kernels, others = kernels_alone(recorded, "name")
    sums, unusable = caveats.usable_sums(reports.once_per_name(kernels))
    unusable = (*unusable, *others)
    if not sums.height:
        raise InputError("no kernel sums", where=str(file.path), found="a header without rows", advice=_RECORD)
    several = several_tables(file, "sums")
    damaged = (*damage_of(*file.tables), *reports.rows_below_damaged_headers(file))
    partial = (caveats.partial_file(file.damage),) if file.damage else ()
    return checked(
        Trace(
            str(file.path),
            "nsys_csv",
            GPU_OPS.empty(),
            vendor="NVIDIA",
            complete=not file.damage,
            events=sums.height,
            source_bytes=file.path.stat().st_size,
            caveats=(*partial, caveats.aggregates_only(), *unusable, *several, *damaged),
            aggregates=build.aggregates(sums),
        )
    )


READER = Reader(
    name="nsys_csv",
    title="nsys stats CSV: cuda_gpu_trace (with cuda_api_trace, NVTX ranges) or cuda_gpu_kern_sum",
    recognised_by="a header line of an nsys report: Start (unit), Duration (unit), … or Time (%), Total Time (unit), …",
    cannot_tell="processes of kernels; graph nodes; exact bytes of copies; from cuda_gpu_kern_sum nothing in time",
    recognises=_recognises,
    read=_read,
    suffixes=(".csv",),
    writers={"nsys": 2},
    names=FileNames(
        main=r"(?:cuda_)?gpu_trace[^/]*\.csv",
        companions=r"(?:cuda_api|nvtx_pushpop|nvtx_gpu_proj)_trace(?:_\d+)?\.csv",
        sums="kern_?sum",
        output="cuda_gpu_trace|cuda_gpu_kern_sum",
    ),
)
