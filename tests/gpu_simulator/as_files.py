"""A run as the files a profiler would have written: Kineto JSON and a rocprofv3 kernel trace."""

from __future__ import annotations

import csv
import gzip
import json
from dataclasses import replace
from pathlib import Path

from gpu_simulator.program import Shown
from gpu_simulator.simulate import Run
from gpu_simulator.view import CallRow, OpRow, RangeRow, SyncRow, seen

PID = 4_321
BASE_NS = 5_000_000_000_000_000
CSV_HEADER = (
    *("Kind", "Agent_Id", "Queue_Id", "Stream_Id", "Thread_Id", "Dispatch_Id", "Kernel_Id", "Kernel_Name"),
    *("Correlation_Id", "Start_Timestamp", "End_Timestamp", "LDS_Block_Size", "Scratch_Size", "VGPR_Count"),
    *("Accum_VGPR_Count", "SGPR_Count", "Workgroup_Size_X", "Workgroup_Size_Y", "Workgroup_Size_Z"),
    *("Grid_Size_X", "Grid_Size_Y", "Grid_Size_Z"),
)
Row = OpRow | CallRow | RangeRow | SyncRow


def to_kineto(
    run: Run,
    path: Path,
    flavour: str = "cuda",
    hide_streams: bool = False,
    hide_sync: bool = False,
    rank: int = 0,
) -> None:
    """Write Kineto JSON, gzipped when the path says so; on `rocm` graph nodes carry no shape and no node id."""
    view = seen(run, rank, Shown(flavour, hide_streams, hide_sync))
    events = [*map(_range, view.ranges), *map(_call, view.calls), *(_op(row, flavour) for row in view.ops)]
    events += map(_sync, view.syncs)
    version = {"roctracer_version": 4.1} if flavour == "rocm" else {"cupti_version": 28}
    head = {
        "schemaVersion": 1,
        "deviceProperties": [{"id": 0, "name": "Simulated GPU", "warpSize": 64 if flavour == "rocm" else 32}],
        **version,
        "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": view.ranks},
        "displayTimeUnit": "ms",
        "baseTimeNanoseconds": 1767189312000000000,
    }
    text = json.dumps(head)[:-1] + ', "traceEvents": [\n' + ",\n".join(events) + '\n], "traceName": "simulated"}\n'
    data = text.encode()
    path.write_bytes(gzip.compress(data, 6, mtime=0) if path.suffix == ".gz" else data)


def to_rocprofv3_csv(run: Run, path: Path, rank: int = 0) -> None:
    """Write a kernel trace as rocprofv3 does since ROCm 7.0: kernels only, rows in the order buffers were flushed."""
    shown = replace(run.program.shown, flavour="rocm", hide_host=True)
    kernels = [row for row in seen(run, rank, shown).ops if row.kind == "kernel"]
    numbers = {name: i + 1 for i, name in enumerate(dict.fromkeys(row.name for row in kernels))}
    with path.open("w", newline="") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
        writer.writerow(CSV_HEADER)
        for index, row in sorted(enumerate(kernels), key=lambda pair: (pair[0] % 7 == 0, pair[0])):
            times = (BASE_NS + row.start_ns, BASE_NS + row.end_ns)
            identity = (row.stream, row.stream, PID, index + 1, numbers[row.name], row.name, row.correlation)
            writer.writerow(["KERNEL_DISPATCH", "Agent 4", *identity, *times, 0, 0, 32, 0, 48, 256, 1, 1, 65_536, 1, 1])


def _us(ns: int) -> str:
    return f"{ns // 1000}.{ns % 1000:03d}"


def _event(
    category: str, name: str, lane: tuple[int, int], row: OpRow | CallRow | RangeRow | SyncRow, args: str
) -> str:
    times = f'"ts": {_us(BASE_NS + row.start_ns)}, "dur": {_us(row.end_ns - row.start_ns)}'
    where = f'"pid": {lane[0]}, "tid": {lane[1]}'
    return f'{{"ph": "X", "cat": "{category}", "name": {json.dumps(name)}, {where}, {times}, "args": {args}}}'


def _range(row: RangeRow) -> str:
    return _event("user_annotation", row.name, (PID, PID), row, "{}")


def _call(row: CallRow) -> str:
    return _event("cuda_runtime", row.name, (PID, PID), row, json.dumps({"correlation": row.correlation}))


def _op(row: OpRow, flavour: str) -> str:
    args: dict[str, object] = {"device": 0, "stream": row.stream, "correlation": row.correlation}
    if row.kind != "kernel":
        args["bytes"] = 64
    elif flavour == "rocm" and row.node >= 0:
        args["kind"] = "Dispatch Task"
    else:
        args |= {"grid": [64, 1, 1], "block": [128, 1, 1]}
        args |= {"graph id": 1, "graph node id": row.node} if row.node >= 0 else {}
    category = "kernel" if row.kind == "kernel" else "gpu_memcpy"
    return _event(category, row.name, (0, row.stream), row, json.dumps(args))


def _sync(row: SyncRow) -> str:
    args: dict[str, object] = {"cuda_sync_kind": row.name, "stream": row.stream, "correlation": row.correlation}
    if row.wait_correlation >= 0:
        args |= {"wait_on_stream": row.wait_stream, "wait_on_cuda_event_record_corr_id": row.wait_correlation}
    return _event("cuda_sync", row.name, (0, row.stream), row, json.dumps({**args, "device": 0, "context": 1}))
