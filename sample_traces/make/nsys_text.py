"""`nsys stats --format csv` reports, one by one or in one output with the notes nsys prints between them."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable
from statistics import median

from sample_traces.make import run_description as described
from sample_traces.make.rocprofv3_text import sums_by_name

UNITS = {"ns": 0, "us": 3, "ms": 6}
Row = list[object]


def _table(header: str, rows: Iterable[Row]) -> str:
    target = io.StringIO()
    csv.writer(target, lineterminator="\n").writerows([header.split(","), *rows])
    return target.getvalue()


def _printed(ns: int, unit: str) -> str:
    """A time with all its digits: nsys prints three decimals for us, six for ms."""
    digits = UNITS[unit]
    whole, rest = divmod(ns, 10**digits)
    return f"{whole}.{rest:0{digits}d}" if digits else str(ns)


def since_start(ns: int) -> int:
    """nsys counts from the start of the recording."""
    return ns - described.T0_NS


def gpu_trace(run: described.Run, unit: str = "ns") -> str:
    header = (
        f"Start ({unit}),Duration ({unit}),CorrId,GrdX,GrdY,GrdZ,BlkX,BlkY,BlkZ,Reg/Trd,StcSMem (MB),DymSMem (MB),"
        "Bytes (MB),Throughput (MB/s),SrcMemKd,DstMemKd,Device,Ctx,GreenCtx,Strm,Name"
    )
    rows: list[Row] = []
    for op in run.ops:
        times: Row = [_printed(since_start(op.start_ns), unit), _printed(op.end_ns - op.start_ns, unit), op.correlation]
        place: Row = [f"{described.DEVICE_NAMES['cuda']} ({described.DEVICE})", 1, "", described.STREAM]
        if op.kernel:
            middle: Row = [*op.kernel.blocks, *op.kernel.block, 32, "0.000", "0.008", "", "", "", ""]
            rows.append([*times, *middle, *place, op.name])
        else:
            megabytes = f"{(op.bytes or 0) / 1e6:.3f}"
            rows.append(
                [*times, *[""] * 9, megabytes, "4098.049", "Pinned", "Device", *place, "[CUDA memcpy Host-to-Device]"]
            )
    return _table(header, rows)


def api_trace(run: described.Run, unit: str = "ns") -> str:
    header = f"Start ({unit}),Duration ({unit}),Name,Result,CorrID,Pid,Tid,T-Pri,Thread Name"
    names = described.API_NAMES["cuda"]
    rows: list[Row] = []
    for call in run.calls:
        times = [_printed(since_start(call.start_ns), unit), _printed(call.end_ns - call.start_ns, unit)]
        rows.append([*times, names[call.kind], 0, call.correlation, described.PID, described.TID, 20, "python"])
    return _table(header, rows)


def pushpop_trace(run: described.Run, unit: str = "ns") -> str:
    header = (
        f"Start ({unit}),End ({unit}),Duration ({unit}),DurChild ({unit}),DurNonChild ({unit}),Name,PID,TID,Lvl,"
        "NumChild,RangeId,ParentId,RangeStack,NameTree"
    )
    rows: list[Row] = []
    for number, marker in enumerate(run.markers, start=1):
        length = _printed(marker.end_ns - marker.start_ns, unit)
        times = [_printed(since_start(ns), unit) for ns in (marker.start_ns, marker.end_ns)]
        owner: Row = [
            f":{marker.name}",
            described.PID,
            described.TID,
            0,
            0,
            number,
            "",
            f":{number}",
            f":{marker.name}",
        ]
        rows.append([*times, length, _printed(0, unit), length, *owner])
    return _table(header, rows)


def kernel_sums(run: described.Run, unit: str = "ns") -> str:
    names = ("Total Time", "Avg", "Med", "Min", "Max", "StdDev")
    total, *others = (f"{name} ({unit})" for name in names)
    rows: list[Row] = []
    sums = sums_by_name(run)
    whole = sum(map(sum, sums.values()))
    for name, durations in sorted(sums.items(), key=lambda item: -sum(item[1])):
        mean = sum(durations) / len(durations)
        spread = (sum((d - mean) ** 2 for d in durations) / max(1, len(durations) - 1)) ** 0.5
        exact = [_printed(value, unit) for value in (min(durations), max(durations))]
        first: Row = [f"{100 * sum(durations) / whole:.1f}", _printed(sum(durations), unit), len(durations)]
        rounded = [f"{value / 10 ** UNITS[unit]:.1f}" for value in (mean, median(durations), spread)]
        rows.append([*first, *rounded[:2], *exact, rounded[2], name])
    return _table(f"Time (%),{total},Instances,{','.join(others)},Name", rows)


def api_sums(run: described.Run, unit: str = "ns") -> str:
    """A report of host calls with as many columns as the kernels' sums."""
    columns = ("Total Time", "Num Calls", "Avg", "Med", "Min", "Max", "StdDev")
    header = ",".join(["Time (%)", *(c if c == "Num Calls" else f"{c} ({unit})" for c in columns), "Name"])
    return _table(header, [[100.0, 9, 9, 1.0, 1.0, 1, 1, 0.0, "cudaGraphLaunch"]])


def one_output(run: described.Run, unit: str = "us") -> str:
    """What `nsys stats -r … --format csv` prints for several reports."""
    reports: dict[str, Callable[[described.Run, str], str]] = {
        "cuda_api_sum": api_sums,
        "cuda_gpu_trace": gpu_trace,
        "cuda_gpu_kern_sum": kernel_sums,
        "cuda_api_trace": api_trace,
        "nvtx_pushpop_trace": pushpop_trace,
    }
    text = (
        "\nNOTICE: Existing SQLite export found: decode.sqlite\n"
        "        It is assumed file was previously exported from: decode.nsys-rep\n"
        "        Consider using --force-export=true if needed.\n"
    )
    for name, report in reports.items():
        text += f"\nProcessing [decode.sqlite] with [/opt/nvidia/nsight-systems/reports/{name}.py]... \n"
        text += report(run, unit)
    return text + "\n"
