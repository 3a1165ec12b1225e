"""Kernels of a CSV trace by the csv module alone; NotStrictError where a row has not as many cells as its header."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from .count_json import NotStrictError, whole

Row = dict[str, str]


@dataclass(frozen=True)
class Table:
    """Which headers open the table, and which of its rows count."""

    headers: Callable[[Sequence[str]], bool]
    counts: Callable[[Row], bool] = lambda _: True


def rows_of(data: bytes, table: Table, ends: Callable[[Sequence[str]], bool] = lambda _: False) -> Iterator[Row]:
    """The rows below each header of the table."""
    wide = data.startswith((b"\xff\xfe", b"\xfe\xff")) or (data[1:4:2] == b"\0\0" and 0 not in data[0:4:2])
    encoding = "utf-8" if not wide else "utf-16" if data[1:2] != b"\0" else "utf-16-le"
    text = data.decode(encoding, "replace").lstrip("\ufeff")
    text = re.sub(r"\r+(\n|\Z)", r"\1", text)
    header: list[str] | None = None
    try:
        for cells in csv.reader(text.replace("\r", "?").split("\n"), strict=True):
            stripped = [cell.removeprefix("\ufeff").strip('"').split("(")[0].strip() for cell in cells]
            if table.headers(stripped):
                header = stripped
            elif ends(cells):
                header = None
            elif header is not None and "".join(cells).strip("\ufeff \t"):
                if len(cells) != len(header):
                    raise NotStrictError(f"{len(cells)} cells")
                yield dict(zip(reversed(header), reversed(cells), strict=True))
    except csv.Error as error:
        raise NotStrictError(str(error)) from None


def _has(*names: str) -> Callable[[Sequence[str]], bool]:
    return lambda cells: set(names) <= set(cells)


_COPIES = ("[CUDA memcpy", "[CUDA memset")
_NSYS = Table(_has("Start", "Duration", "CorrId", "GrdX", "Name"), lambda row: not row["Name"].startswith(_COPIES))
_OTHER_WORK = ("MEMORY_COPY", "BARRIER")  # operation types: as the name of a dispatch they name no kernel
_TABLES = {
    "rocprof_v1_csv": Table(_has("Index", "KernelName")),
    "ascend_csv": Table(_has("Name", "Accelerator Core", "Duration"), lambda row: row["Type"] != "MEMCPY_ASYNC"),
    "plain_table": Table(
        # a table of another profiler with damaged titles may still have these
        lambda cells: (
            {"name", "start_ns", "end_ns"} <= {cell.lower() for cell in cells}
            or {"Name", "Start", "Duration"} <= set(cells)
        ),
        lambda row: (
            next((row[name] for name in row if name.lower() == "kind"), "") not in ("memcpy", "memset")
            and not row.get("Name", "").startswith(_COPIES)
            and row.get("name") not in _OTHER_WORK
        ),
    ),
    "rocprofv3_csv": Table(_has("Agent_Id", "Kernel_Name", "Start_Timestamp", "End_Timestamp")),
}
_DISPATCHES = Table(_has("Dispatch_ID", "GPU_ID", "Kernel_Name", "Start_Timestamp"))
_ACTIVITY = Table(
    _has("Domain", "Operation", "Kernel_Name", "Stop_Timestamp"),
    lambda row: row["Kernel_Name"] not in ("", *_OTHER_WORK),
)
_SUMS = Table(_has("Name", "Calls", "TotalDurationNs", "AverageNs", "Percentage"))
_NSYS_SUMS = Table(_has("Time", "Total Time", "Instances", "Name"))
_NSYS_ENDS = (
    "Processing [",
    "NOTICE",
    "SKIPPED",
    "API Start",
    "Timestamp",
    "NVTX Range",
    "Start (",
    "Time (",
    "Total ",
)


def _nsys(data: bytes) -> int:
    timeline = _counted(data, _NSYS, _ends_report)
    # Sums of one name are added up.
    return timeline or len({row["Name"] for row in rows_of(data, _NSYS_SUMS, _ends_report)})


def _ends_report(cells: Sequence[str]) -> bool:
    return bool(cells) and cells[0].startswith(_NSYS_ENDS)


def _rocprofv2(data: bytes) -> int:
    dispatches = list(rows_of(data, _DISPATCHES))
    if dispatches and all("XCC_Index" in row for row in dispatches):
        owner = ("PID", "Dispatch_ID", "GPU_ID", "Queue_ID", "Kernel_Name")
        return len({tuple(row.get(name) for name in owner) for row in dispatches})
    return len(dispatches) or _counted(data, _ACTIVITY)


def _sums(data: bytes) -> int:
    """Rows, without a last one that sums up all others."""
    rows = list(rows_of(data, _SUMS))
    total = len(rows) > 1 and rows[-1]["Name"] == "Total" and sum(row["Name"] == "Total" for row in rows) == 1
    if not total:
        return len(rows)
    calls = [whole(row["Calls"].strip()) or 0 for row in rows]
    return len(rows) - (calls[-1] == sum(calls[:-1]))


def _counted(data: bytes, table: Table, ends: Callable[[Sequence[str]], bool] = lambda _: False) -> int:
    return sum(1 for row in rows_of(data, table, ends) if table.counts(row))


def _one(name: str) -> Callable[[bytes], int]:
    return lambda data: _counted(data, _TABLES[name])


COUNTS: dict[str, Callable[[bytes], int]] = {
    **{name: _one(name) for name in _TABLES},
    "rocprofv2_csv": _rocprofv2,
    "nsys_csv": _nsys,
    "kernel_stats_csv": _sums,
}
