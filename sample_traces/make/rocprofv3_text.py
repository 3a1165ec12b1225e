"""rocprofv3's CSV files and JSON document, as generateCSV.cpp and generateJSON.cpp of rocprofiler-sdk write them."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable
from dataclasses import dataclass

from sample_traces.make import run_description as described

CPU_AGENT, GPU_AGENT = 0, 2
GUID = "0000ddb5-8903-7903-b269-cd8d3745bb8a"
Cell = str | int
SIZES = [f"{what}_Size_{axis}" for what in ("Workgroup", "Grid") for axis in "XYZ"]
KERNEL_HEADER = [
    *("Kind", "Agent_Id", "Queue_Id", "Stream_Id", "Thread_Id", "Dispatch_Id", "Kernel_Id", "Kernel_Name"),
    *("Correlation_Id", "Start_Timestamp", "End_Timestamp", "LDS_Block_Size", "Scratch_Size", "VGPR_Count"),
    *("Accum_VGPR_Count", "SGPR_Count", *SIZES),
]
API_HEADER = ["Domain", "Function", "Process_Id", "Thread_Id", "Correlation_Id", "Start_Timestamp", "End_Timestamp"]
COPY_HEADER = [
    *("Kind", "Direction", "Stream_Id", "Source_Agent_Id", "Destination_Agent_Id", "Correlation_Id"),
    *("Start_Timestamp", "End_Timestamp"),
]
STATS_HEADER = ["Name", "Calls", "TotalDurationNs", "AverageNs", "Percentage", "MinNs", "MaxNs", "StdDev"]
COUNTER_HEADER = [
    *("Correlation_Id", "Dispatch_Id", "Agent_Id", "Queue_Id", "Process_Id", "Thread_Id", "Grid_Size", "Kernel_Id"),
    *(
        "Kernel_Name",
        "Workgroup_Size",
        "LDS_Block_Size",
        "Scratch_Size",
        "VGPR_Count",
        "Accum_VGPR_Count",
        "SGPR_Count",
    ),
    *("Counter_Name", "Counter_Value", "Start_Timestamp", "End_Timestamp"),
]


def cell(value: Cell) -> str:
    """Text in quotes that are not escaped inside, numbers bare."""
    return f'"{value}"' if isinstance(value, str) else str(value)


def table(header: list[str], rows: Iterable[list[Cell]]) -> str:
    return "".join(",".join(map(cell, row)) + "\n" for row in [header, *rows])


@dataclass(frozen=True)
class Dispatch:
    """A kernel of the run with the numbers rocprofv3 gives it."""

    op: described.Op
    number: int
    kernel_id: int

    @property
    def kernel(self) -> described.Kernel:
        return self.op.kernel or described.HEAD_KERNEL


def dispatches(run: described.Run) -> list[Dispatch]:
    """All kernels, in the order in which buffers happened to be flushed: not that of time."""
    names = [*dict.fromkeys(op.name for op in run.ops if op.kernel)]
    found = [Dispatch(op, n, 10 + names.index(op.name)) for n, op in enumerate((o for o in run.ops if o.kernel), 1)]
    random.Random(3).shuffle(found)
    return found


def kernel_trace(run: described.Run, rename: dict[str, str] | None = None) -> str:
    """`*_kernel_trace.csv` of ROCm 7: 22 columns, agents as text."""
    return table(KERNEL_HEADER, (_kernel_row(d, (rename or {}).get(d.op.name, d.op.name)) for d in dispatches(run)))


def _kernel_row(d: Dispatch, name: str) -> list[Cell]:
    place: list[Cell] = ["KERNEL_DISPATCH", f"Agent {GPU_AGENT}", described.QUEUE, described.STREAM, described.TID]
    times: list[Cell] = [d.op.correlation, d.op.start_ns, d.op.end_ns]
    return [*place, d.number, d.kernel_id, name, *times, 0, 0, 8, 0, 16, *d.kernel.block, *d.kernel.grid_threads]


def kernel_trace_rocm62(run: described.Run) -> str:
    """The 18 columns of ROCm 6.2: agents as numbers, no stream, no registers."""
    header = [name for name in KERNEL_HEADER if name != "Stream_Id" and not name.endswith(("_Count", "_Block_Size"))]
    header[header.index("Scratch_Size")] = "Private_Segment_Size"
    header.insert(header.index("Private_Segment_Size") + 1, "Group_Segment_Size")
    rows = []
    for d in dispatches(run):
        place: list[Cell] = [
            "KERNEL_DISPATCH",
            GPU_AGENT,
            described.QUEUE,
            described.TID,
            d.number,
            d.kernel_id,
            d.op.name,
        ]
        rows.append(
            [*place, d.op.correlation, d.op.start_ns, d.op.end_ns, 0, 0, *d.kernel.block, *d.kernel.grid_threads]
        )
    return table(header, rows)


def kernel_trace_of_rocpd(run: described.Run) -> str:
    """As `rocpd convert -f csv` writes it: a Guid before all other columns."""
    lines = kernel_trace(run).splitlines()
    return "".join(
        f"{first},{line}\n" for first, line in zip(['"Guid"', *[f'"{GUID}"'] * len(lines)], lines, strict=False)
    )


def regions_trace_of_rocpd(run: described.Run) -> str:
    """As `rocpd convert -f csv` writes it beside the kernel trace: API calls and ranges in one table, with a Guid."""
    calls, ranges = hip_api_trace(run).splitlines(), marker_api_trace(run).splitlines()
    return "".join([f'"Guid",{calls[0]}\n', *(f'"{GUID}",{line}\n' for line in (*calls[1:], *ranges[1:]))])


def memory_copy_trace_of_rocpd(run: described.Run) -> str:
    """The copies beside it, with a Guid."""
    header, *rows = memory_copy_trace(run).splitlines()
    return "".join([f'"Guid",{header}\n', *(f'"{GUID}",{row}\n' for row in rows)])


def hip_api_trace(run: described.Run) -> str:
    owner = [described.PID, described.TID]
    names = described.API_NAMES["hip"]
    rows = [
        ["HIP_RUNTIME_API_EXT", names[c.kind], *owner, c.correlation, c.start_ns, c.end_ns] for c in reversed(run.calls)
    ]
    return table(API_HEADER, rows)


def marker_api_trace(run: described.Run) -> str:
    owner = [described.PID, described.TID]
    rows = [["MARKER_CORE_RANGE_API", m.name, *owner, 100 + m.step, m.start_ns, m.end_ns] for m in run.markers]
    return table(API_HEADER, rows)


def memory_copy_trace(run: described.Run) -> str:
    agents: list[Cell] = [f"Agent {CPU_AGENT}", f"Agent {GPU_AGENT}"]
    start: list[Cell] = ["MEMORY_COPY", "MEMORY_COPY_HOST_TO_DEVICE", described.STREAM, *agents]
    return table(COPY_HEADER, ([*start, o.correlation, o.start_ns, o.end_ns] for o in run.ops if o.kernel is None))


def agent_info() -> str:
    """The first and last of its columns; the others describe the hardware."""
    header = ["Node_Id", "Logical_Node_Id", "Agent_Type", "Cpu_Cores_Count", "Cu_Count"]
    names = ["Name", "Vendor_Name", "Product_Name", "Model_Name"]
    cpu: list[Cell] = ["AMD EPYC 9575F 64-Core Processor", "CPU", "AMD EPYC 9575F 64-Core Processor", ""]
    gpu: list[Cell] = ["gfx942", "AMD", described.DEVICE_NAMES["hip"], "aqua_vanjaram"]
    rows: list[list[Cell]] = [[0, 0, "CPU", 64, 64, *cpu], [1, 1, "CPU", 64, 64, *cpu], [3, 2, "GPU", 0, 304, *gpu]]
    return table([*header, *names], rows)


def kernel_stats(run: described.Run) -> str:
    """`*_kernel_stats.csv`: largest first; doubles below 1 in scientific notation."""
    sums = sums_by_name(run)
    whole = sum(sum(durations) for durations in sums.values())
    rows = []
    for name, durations in sorted(sums.items(), key=lambda item: -sum(item[1])):
        total, mean = sum(durations), sum(durations) / len(durations)
        spread = (sum((d - mean) ** 2 for d in durations) / max(1, len(durations) - 1)) ** 0.5
        share = 100 * total / whole
        text = f"{share:.6e}" if share < 1 else f"{share:.6f}"
        rows.append(
            f'"{name}",{len(durations)},{total},{mean:.6f},{text},{min(durations)},{max(durations)},{spread:.6f}\n'
        )
    return ",".join(f'"{name}"' for name in STATS_HEADER) + "\n" + "".join(rows)


def sums_by_name(run: described.Run) -> dict[str, list[int]]:
    sums: dict[str, list[int]] = {}
    for op in run.ops:
        if op.kernel:
            sums.setdefault(op.name, []).append(op.end_ns - op.start_ns)
    return sums


def counter_collection(run: described.Run) -> str:
    """One row per dispatch and counter."""
    rows: list[list[Cell]] = []
    for d in dispatches(run):
        x, y, z = d.kernel.grid_threads
        for counter in ("SQ_WAVES", "FETCH_SIZE"):
            start: list[Cell] = [d.op.correlation, d.number, f"Agent {GPU_AGENT}", described.QUEUE, described.PID]
            size: list[Cell] = [described.TID, x * y * z, d.kernel_id, d.op.name, d.kernel.block[0], 0, 0, 8, 0, 16]
            rows.append([*start, *size, counter, 64, d.op.start_ns, d.op.end_ns])
    return table(COUNTER_HEADER, rows)


_KINDS = {
    "NONE": [],
    "HIP_RUNTIME_API_EXT": ["hipApiName", *described.API_NAMES["hip"].values()],
    "MARKER_CORE_RANGE_API": ["roctxMarkA", "roctxThreadRangeA", "roctxProcessRangeA", "roctxGetThreadId"],
    "MEMORY_COPY": [
        *("MEMORY_COPY_NONE", "MEMORY_COPY_HOST_TO_HOST", "MEMORY_COPY_HOST_TO_DEVICE"),
        *("MEMORY_COPY_DEVICE_TO_HOST", "MEMORY_COPY_DEVICE_TO_DEVICE"),
    ],
    "KERNEL_DISPATCH": ["KERNEL_DISPATCH_NONE", "KERNEL_DISPATCH_ENQUEUE", "KERNEL_DISPATCH_COMPLETE"],
}
_HANDLES = {CPU_AGENT: 37944, 1: 37945, GPU_AGENT: 37946}


def _record(kind: str, operation: str, correlation: int, start_ns: int, end_ns: int) -> dict[str, object]:
    numbers = {"kind": list(_KINDS).index(kind), "operation": _KINDS[kind].index(operation)}
    times = {"start_timestamp": start_ns, "end_timestamp": end_ns}
    return {"size": 184, **numbers, "thread_id": described.TID, "correlation_id": _ids(correlation), **times}


def _ids(correlation: int) -> dict[str, int]:
    return {"internal": correlation, "external": 0}


def _dispatch(d: Dispatch) -> dict[str, object]:
    record = _record("KERNEL_DISPATCH", "KERNEL_DISPATCH_COMPLETE", d.op.correlation, d.op.start_ns, d.op.end_ns)
    place = {"agent_id": {"handle": _HANDLES[GPU_AGENT]}, "queue_id": {"handle": described.QUEUE}}
    segments = {"private_segment_size": 0, "group_segment_size": 0}
    block, grid = (dict(zip("xyz", size, strict=True)) for size in (d.kernel.block, d.kernel.grid_threads))
    sizes = {"workgroup_size": block, "grid_size": grid}
    info = {"size": 72, **place, "kernel_id": d.kernel_id, "dispatch_id": d.number, **segments, **sizes}
    return {**record, "dispatch_info": info, "stream_id": {"handle": described.STREAM}}


def _copy(op: described.Op) -> dict[str, object]:
    record = _record("MEMORY_COPY", "MEMORY_COPY_HOST_TO_DEVICE", op.correlation, op.start_ns, op.end_ns)
    agents = {"dst_agent_id": {"handle": _HANDLES[GPU_AGENT]}, "src_agent_id": {"handle": _HANDLES[CPU_AGENT]}}
    return {**record, **agents, "bytes": op.bytes, "stream_id": {"handle": described.STREAM}}


def _buffer_records(run: described.Run) -> dict[str, object]:
    names = described.API_NAMES["hip"]
    calls = [_record("HIP_RUNTIME_API_EXT", names[c.kind], c.correlation, c.start_ns, c.end_ns) for c in run.calls]
    ranges = [
        _record("MARKER_CORE_RANGE_API", "roctxThreadRangeA", 100 + m.step, m.start_ns, m.end_ns) for m in run.markers
    ]
    work = {"kernel_dispatch": [_dispatch(d) for d in dispatches(run)]}
    copies = [_copy(op) for op in run.ops if op.kernel is None]
    return {**work, "hip_api": calls, "hsa_api": [], "marker_api": ranges, "rccl_api": [], "memory_copy": copies}


def _symbol(number: int, name: str) -> dict[str, object]:
    names = {"formatted_kernel_name": name, "demangled_kernel_name": f"{name}(void*)", "truncated_kernel_name": name}
    return {"size": 56, "kernel_id": number, "code_object_id": 1, "kernel_name": f"{name}.kd", **names}


def _agents() -> list[dict[str, object]]:
    cpu, gpu = "AMD EPYC 9575F 64-Core Processor", described.DEVICE_NAMES["hip"]
    rows = ((0, 0, 1, cpu, cpu), (1, 1, 1, cpu, cpu), (3, GPU_AGENT, 2, "gfx942", gpu))
    return [
        {
            **{"size": 312, "id": {"handle": _HANDLES[logical]}, "type": kind, "node_id": node},
            **{"logical_node_id": logical, "name": name, "product_name": product},
        }
        for node, logical, kind, name, product in rows
    ]


def _process(run: described.Run, pid: int) -> dict[str, object]:
    symbols = {d.kernel_id: d.op.name for d in dispatches(run)}
    messages = [{"key": 100 + marker.step, "value": marker.name} for marker in run.markers]
    kinds = [{"kind": kind, "operations": operations} for kind, operations in _KINDS.items()]
    strings = {"callback_records": [], "buffer_records": kinds, "marker_api": messages}
    return {
        "metadata": {
            "node": {"id": 0},
            "pid": pid,
            "init_time": 1,
            "fini_time": 2,
            "command": ["python", '"quoted":['],
        },
        "agents": _agents(),
        "counters": [],
        "strings": strings,
        "code_objects": [{"size": 0, "code_object_id": 0, "uri": ""}],
        "kernel_symbols": [_symbol(0, "0"), *(_symbol(*item) for item in sorted(symbols.items()))],
        "host_functions": [],
        "summary": [],
        "callback_records": {"counter_collection": []},
        "buffer_records": _buffer_records(run),
    }


def results_json(run: described.Run, pids: tuple[int, ...] = (described.PID,)) -> str:
    """`*_results.json`: one element per process, written without blanks."""
    return json.dumps({"rocprofiler-sdk-tool": [_process(run, pid) for pid in pids]}, separators=(",", ":"))
