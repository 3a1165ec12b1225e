"""rocprofv3 CSV: `*_kernel_trace.csv` of ROCm 6.2 and later, with the files of the same run beside it.

Read: kernel_trace (any set of columns, also as `rocpd convert -f csv` writes it), and of the same run hip_api_trace or
hip_trace, marker_api_trace, memory_copy_trace, agent_info. Refused with advice: counter_collection, files without
dispatches. Ignored: HSA and RCCL calls, allocations, scratch memory.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import polars as pl

from trace_budget.contracts import FileNames, Head, Reader, ReadOptions
from trace_budget.errors import InputError
from trace_budget.io.csv.table import CsvFile, CsvTable, first_lines
from trace_budget.io.inflate import PlainStream
from trace_budget.readers.csv_trace import (
    NO_CALLS,
    NO_MARKERS,
    damage_of,
    left_out,
    overlaps,
    required,
    sibling,
    stacked,
    stem_of,
)
from trace_budget.readers.processes import keys_of
from trace_budget.readers.records import Records, trace_of
from trace_budget.readers.rocprof import rocprofv3_tables as tables
from trace_budget.readers.rocprof.renamed import without_range_names
from trace_budget.readers.rocprof.rocprofv3_processes import with_pids
from trace_budget.schema import caveats
from trace_budget.schema.trace import Caveat, Trace

_RECORD = "Record with: rocprofv3 --kernel-trace --hip-runtime-trace --marker-trace --output-format csv -- COMMAND"
_STEM = re.compile(r"^(.*?_?)kernel_trace$")
_SIBLINGS = {
    "calls": ("api", ("hip_api_trace", "hip_trace", "regions_trace")),
    "markers": ("api", ("marker_api_trace", "marker_trace", "regions_trace")),
    "copies": ("copies", ("memory_copy_trace",)),
    "agents": ("agents", ("agent_info",)),
}
_NAMES = FileNames(
    main=r"kernel_trace[^/]*\.csv",
    companions=r"(?:hip_api|hip|hsa_api|hsa|marker_api|marker|rccl_api|rocdecode_api|rocjpeg_api|ompt|memory_copy|"
    r"memory_allocation|scratch_memory|regions|graph_launch|hip_event)_trace(?:_\d+)?\.csv|agent_info\.csv"
    r"|(?:spm_counter_collection|streaming_performance_monitor|counter_values)\w*\.csv",
    always=r"agent_info\.csv",
    output="kernel_trace",
)
_NO_TIMELINE = {
    "api": "holds API calls and ranges, no kernels",
    "copies": "holds memory copies, no kernels",
    "agents": "describes the devices, holds no kernels",
    "other": "holds no kernels",
}
_NO_GUID = pl.lit(None, pl.Categorical).alias("guid")
_NO_HOST = (("calls", NO_CALLS), ("markers", NO_MARKERS))
_SHOWN_SIBLINGS = 4
_MANY_SIBLINGS = 64
_FIRST_BYTES = 1 << 16


def _recognises(head: Head) -> bool:
    return any(tables.shape_of(line) for line in first_lines(head.data, 20))


@dataclass(frozen=True, slots=True)
class _Beside:
    """What lies beside the kernel trace and is of its run: rows by kind, device names; and what is of another run."""

    rows: dict[str, pl.DataFrame]
    device_names: dict[int, str]
    read: list[CsvTable]
    cut: list[Caveat]
    foreign: list[str]


def _read(path: Path, options: ReadOptions) -> Trace:
    file = required(tables.read_tables(path), READER.recognised_by)
    kernels = _kernels(file)
    beside = _beside(path, kernels)
    calls, markers = (beside.rows.get(what, empty.with_columns(_NO_GUID)) for what, empty in _NO_HOST)
    kernels, renamed = without_range_names(kernels, markers["name"])
    together = stacked([kernels, *(rows for what, rows in beside.rows.items() if what == "copies")])
    ops, unsure = with_pids(together, (calls, markers), str(path))
    found = (
        *caveats.several_processes(len(file.of("kernels"))),
        *beside.cut,
        *left_out(file, "other"),
        *damage_of(*file.tables, *beside.read),
        *_foreign(beside.foreign),
        *(renamed or _shortened(kernels)),
        *unsure,
    )
    return trace_of(
        file,
        "rocprofv3_csv",
        Records(ops.drop("tid", "guid"), calls, markers.drop("guid"), keys_of(ops, calls), caveats=found),
        device_name=_device_name(kernels, beside.device_names),
        vendor="AMD",
        dispatch_gap_in_duration=True,
    )


def _kernels(file: CsvFile) -> pl.DataFrame:
    """The dispatches; InputError when the file holds something else or nothing."""
    if counters := file.of("counters"):
        dispatches = sum(table.frame["Dispatch_Id"].n_unique() for table in counters)
        found = f"{sum(table.frame.height for table in counters)} rows, one per counter, of {dispatches} dispatches"
        message = "a performance-counter run: kernels run one by one, their times are no decode step's"
        raise InputError(message, where=str(file.path), found=found, advice=_RECORD)
    if not file.of("kernels"):
        kind = file.tables[0].shape.name if file.tables else "other"
        run = re.sub(f"_?(?:{_NAMES.companions}).*", "", file.path.name)
        advice = f"Name the kernel trace of that run: {stem_of(Path(run))}_kernel_trace.csv"
        raise InputError(_NO_TIMELINE[kind], where=str(file.path), advice=advice)
    kernels = tables.kernels(file)
    if not kernels.height:
        raise _no_dispatches(file.path)
    return kernels


def _no_dispatches(path: Path) -> InputError:
    """Name the kernel traces beside it that have rows: each process of a run writes its own."""
    beside = (other for other in sorted(path.parent.glob("*kernel_trace.csv*")) if other != path and other.is_file())
    others = [other.name for other in islice(beside, _MANY_SIBLINGS) if _has_rows(other)]
    shown = ", ".join(others[:_SHOWN_SIBLINGS]) + (", …" if len(others) > _SHOWN_SIBLINGS else "")
    advice = f"Workers are processes of their own; beside it, these have dispatches: {shown}" if others else _RECORD
    return InputError("no kernel dispatches", where=str(path), found="a header without rows", advice=advice)


def _has_rows(path: Path) -> bool:
    with PlainStream(path) as stream:
        lines = list(first_lines(stream.read(_FIRST_BYTES), 4))
    return len(lines) > 1 and tables.shape_of(lines[0]) == "kernels"


def _beside(path: Path, kernels: pl.DataFrame) -> _Beside:
    beside = _Beside({}, {}, [], [], [])
    for what, file in _siblings(path):
        if what == "agents":
            beside.device_names.update(tables.gpu_names(file))
            continue
        rows = _ROWS[what](file)
        if rows.height and not _same_run(rows, kernels, what):
            beside.foreign.append(file.path.name)
            continue
        beside.rows[what] = rows
        beside.read.extend(file.tables)
        if file.damage:
            beside.cut.append(caveats.partial_file(f"{file.path.name}: {file.damage}"))
    return beside


def _siblings(path: Path) -> Iterator[tuple[str, CsvFile]]:
    """Files called like this kernel trace that hold the table their name promises."""
    match = _STEM.match(stem_of(path))
    for what, (shape, stems) in _SIBLINGS.items() if match else ():
        found = (sibling(path, match[1] + stem) for stem in stems if match)
        beside = next((candidate for candidate in found if candidate), None)
        file = tables.read_tables(beside) if beside else None
        if file is not None and file.of(shape):
            yield what, file


_ROWS: dict[str, Callable[[CsvFile], pl.DataFrame]] = {
    "calls": tables.calls,
    "markers": tables.markers,
    "copies": tables.copies,
}


def _same_run(rows: pl.DataFrame, kernels: pl.DataFrame, what: str) -> bool:
    """Whether times fit and, for calls, at least one thread launched kernels."""
    threads = set(kernels["tid"].unique()) & set(rows["tid"].unique())
    return overlaps(rows, kernels) and (what != "calls" or bool(threads) or kernels["tid"].null_count() > 0)


def _foreign(names: list[str]) -> tuple[Caveat, ...]:
    text = "files beside it have its name but times or threads of another run: left out"
    return (Caveat("sibling_of_other_run", text, len(names), "note", names[0]),) if names else ()


def _shortened(kernels: pl.DataFrame) -> tuple[Caveat, ...]:
    """Names that `--truncate-kernels` made: different kernels may share one."""
    names = kernels["name"].unique(maintain_order=True).cast(pl.String)
    if names.str.contains(r"[(<]|^_Z|^Cijk|^triton|__").any():
        return ()
    text = "no name shows arguments: with --truncate-kernels, different kernels can share a name"
    return (Caveat("names_truncated", text, names.len(), "note", names[0]),)


def _device_name(kernels: pl.DataFrame, names: dict[int, str]) -> str | None:
    """The name of the device with most dispatches; any GPU's when all are alike."""
    device = kernels["device"].drop_nulls().mode().to_list()
    if device and device[0] in names:
        return names[device[0]]
    return next(iter(names.values())) if len(set(names.values())) == 1 else None


READER = Reader(
    name="rocprofv3_csv",
    title="rocprofv3 CSV (kernel_trace and the files beside it)",
    recognised_by="a header with Kernel_Name, Agent_Id, Start_Timestamp and End_Timestamp (or its sibling tables)",
    cannot_tell="bytes of copies; the process of a kernel; calls and steps unless hip_api_trace and marker_api_trace"
    " lie beside it; real names after --kernel-rename",
    recognises=_recognises,
    read=_read,
    suffixes=(".csv",),
    writers={"rocprofv3": 2},
    names=_NAMES,
)
