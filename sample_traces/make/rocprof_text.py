"""CSV and JSON of rocprof (version 1), as its tblextr.py and dform.py write them, and the CSV of rocprofv2."""

from __future__ import annotations

from sample_traces.make import run_description as described
from sample_traces.make.rocprofv3_text import sums_by_name

SUFFIX = " [clone .kd]"
BEFORE_NS, AFTER_NS = 900, 1_500
_FIXED = (
    "Index KernelName gpu-id queue-id queue-index pid tid grd wgr lds scr arch_vgpr accum_vgpr sgpr wave_size sig obj"
)
HEADER = [*_FIXED.split(), "DispatchNs", "BeginNs", "EndNs", "CompleteNs"]
OLD_HEADER = [name.replace("arch_vgpr", "vgpr") for name in HEADER if name != "accum_vgpr"]
_GPU_SECTION = 6


def kernels(run: described.Run) -> list[described.Op]:
    return [op for op in run.ops if op.kernel]


def _row(number: int, op: described.Op, suffix: str = SUFFIX) -> dict[str, str]:
    kernel = op.kernel or described.HEAD_KERNEL
    x, y, z = kernel.grid_threads
    place = [number, f'"{op.name}{suffix}"', described.DEVICE, described.QUEUE, 0, described.PID, described.TID]
    sizes = [x * y * z, kernel.block[0], 0, 0, 8, 0, 16, 64, "0x0", "0x7fa3b0483600"]
    times = [op.start_ns - BEFORE_NS, op.start_ns, op.end_ns, op.end_ns + AFTER_NS]
    return dict(zip(HEADER, map(str, [*place, *sizes, *times]), strict=True))


def results_csv(run: described.Run) -> str:
    """The dialect dumped through the database: quoted header, quoted addresses, DurationNs last."""
    lines = [",".join(f'"{name}"' for name in [*HEADER, "DurationNs"])]
    for number, op in enumerate(kernels(run)):
        row = _row(number, op)
        row |= {name: f'"{row[name]}"' for name in ("sig", "obj")}
        lines.append(",".join([*row.values(), str(op.end_ns - op.start_ns)]))
    return "\n".join(lines) + "\n"


def timestamp_only_csv(run: described.Run, header: list[str] | None = None) -> str:
    """The dialect of `--timestamp on`: only names are quoted, no DurationNs; old ROCm has one register column less."""
    names = header or HEADER
    rows = [{**row, "vgpr": row["arch_vgpr"]} for row in (_row(n, op) for n, op in enumerate(kernels(run)))]
    return "".join(",".join(line) + "\n" for line in [names, *([row[name] for name in names] for row in rows)])


def counters_csv(run: described.Run) -> str:
    """hipprof's `--pmc`: counters before the times, DispatchNs and CompleteNs 0, short names without quotes."""
    header = [*HEADER[:17], "SQ_WAVES", "TCC_HIT[0]", *HEADER[17:]]
    lines = [",".join(header)]
    for number, op in enumerate(kernels(run), start=1):
        row = _row(number, op, ".kd") | {"DispatchNs": "0", "CompleteNs": "0", "SQ_WAVES": "64", "TCC_HIT[0]": "None"}
        row["KernelName"] = f"{op.name}.kd"
        lines.append(",".join(row[name] for name in header))
    return "\n".join(lines) + "\n"


def stats_csv(run: described.Run, suffix: str = "") -> str:
    """`results.stats.csv`: only names are quoted, averages are whole."""
    lines = ['"Name","Calls","TotalDurationNs","AverageNs","Percentage"']
    sums = sums_by_name(run)
    whole = sum(map(sum, sums.values()))
    for name, durations in sorted(sums.items(), key=lambda item: -sum(item[1])):
        total = sum(durations)
        lines.append(f'"{name}{suffix}",{len(durations)},{total},{total // len(durations)},{100 * total / whole}')
    return "\n".join(lines) + "\n"


def _span(name: str, section: int, tid: int, start_ns: int, end_ns: int, args: dict[str, object]) -> str:
    """Whole microseconds as text, at least 1; names are not escaped."""
    length = max(1, (end_ns - start_ns) // 1_000)
    body = ",\n".join(f'    "{key}":"{value}"' for key, value in args.items())
    head = f'"ph":"X","name":"{name}","pid":{section},"tid":{tid},"ts":"{start_ns // 1_000}","dur":"{length}"'
    return f',{{{head},\n  "args":{{\n{body}\n  }}\n}}\n'


def _times(start_ns: int, end_ns: int) -> dict[str, object]:
    return {"BeginNs": start_ns, "EndNs": end_ns}


def _host_span(name: str, section: int, start_ns: int, end_ns: int) -> str:
    owner = {"pid": described.PID, "tid": described.TID}
    args = {
        **_times(start_ns, end_ns),
        **owner,
        "Name": name,
        "args": "( stream(7))",
        "Data": "",
        "DurationNs": end_ns - start_ns,
    }
    return _span(name, section, described.TID, start_ns, end_ns, args)


def _dispatch_span(number: int, op: described.Op) -> str:
    row = {key: value.strip('"') for key, value in _row(number, op).items() if key != "Index"}
    args: dict[str, object] = {**row, "DurationNs": op.end_ns - op.start_ns}
    return _span(f"{op.name}{SUFFIX}", _GPU_SECTION, described.TID, op.start_ns, op.end_ns, args)


def _activity_span(op: described.Op) -> str:
    name = op.name if op.kernel else "CopyHostToDevice"
    place = {"dev-id": described.DEVICE, "queue-id": described.QUEUE, "Name": name}
    owner = {"pid": described.PID, "tid": described.TID, "stream-id": described.STREAM, "Data": ""}
    args = {**_times(op.start_ns, op.end_ns), **place, **owner, "DurationNs": op.end_ns - op.start_ns}
    return _span(name, _GPU_SECTION, described.STREAM, op.start_ns, op.end_ns, args)


def results_json(run: described.Run) -> str:
    """The Chrome trace: each kernel as a dispatch and again as HIP activity, a barrier among them."""
    titles = {
        2: "CPU HIP API",
        1: "COPY",
        0: "Markers and Ranges",
        _GPU_SECTION: "GPU0",
        _GPU_SECTION + 512: "GPU Barriers0",
    }
    text = '{ "traceEvents":[{}\n'
    for order, (section, title) in enumerate(titles.items()):
        name = f'"args":{{"name":"{title}"}},"ph":"M","pid":{section},"name":"process_name","sort_index":{order}'
        text += f",{{{name}}}\n"
    text += "".join(_dispatch_span(number, op) for number, op in enumerate(kernels(run)))
    names = described.API_NAMES["hip"]
    text += "".join(_host_span(names[call.kind], 2, call.start_ns, call.end_ns) for call in run.calls)
    text += "".join(_host_span(marker.name, 0, marker.start_ns, marker.end_ns) for marker in run.markers)
    text += "".join(map(_activity_span, run.ops))
    barrier = _times(described.T0_NS, described.T0_NS + 5_000)
    text += _span("<barrier packet>", _GPU_SECTION + 512, 0, described.T0_NS, described.T0_NS + 5_000, barrier)
    return (
        text
        + "".join(_flow(number, op) for number, op in enumerate(kernels(run)))
        + '],\n"otherData": {\n    "CMD": "run"\n  }\n}\n'
    )


def _flow(number: int, op: described.Op) -> str:
    ends = (("s", op.start_ns - BEFORE_NS, 2), ("t", op.start_ns, _GPU_SECTION))
    lane = f'"cat":"DataFlow","id":{number}'
    return "".join(
        f',{{"ts":{ns // 1_000},"ph":"{ph}",{lane},"pid":{pid},"tid":{described.TID},"name":"dep"}}\n'
        for ph, ns, pid in ends
    )


def v2_results_csv(run: described.Run) -> str:
    """rocprofv2's results file; names in quotes that are not escaped inside."""
    header = "Dispatch_ID,GPU_ID,Queue_ID,PID,TID,Grid_Size,Workgroup_Size,LDS_Per_Workgroup,Scratch_Per_Workitem"
    lines = [f"{header},Arch_VGPR,Accum_VGPR,SGPR,Wave_Size,Kernel_Name,Start_Timestamp,End_Timestamp,Correlation_ID"]
    for number, op in enumerate(kernels(run)):
        kernel = op.kernel or described.HEAD_KERNEL
        x, y, z = kernel.grid_threads
        place = [number, described.DEVICE, described.QUEUE, described.PID, described.TID, x * y * z, kernel.block[0]]
        lines.append(",".join(map(str, [*place, 0, 0, 8, 0, 16, 64, f'"{op.name}.kd"', op.start_ns, op.end_ns, 0])))
    return "\n".join(lines) + "\n"


def v2_old_results_csv(run: described.Run) -> str:
    """rocprofv2's results file of its first releases: the words of rocprof v1, a blank line after the header."""
    lines = v2_results_csv(run).splitlines()
    words = {"Grid_Size": "GRD", "Workgroup_Size": "WGR", "LDS_Per_Workgroup": "LDS", "Scratch_Per_Workitem": "SCR"}
    header = ",".join(words.get(cell, cell) for cell in lines[0].split(","))
    return "\n".join([header.replace("Accum_VGPR", "ACCUM_VGPR"), "", *lines[1:]]) + "\n"


def v2_xcc_results_csv(run: described.Run) -> str:
    """rocprofv2's results file on a GPU of eight XCCs: a row for each, of one number and times."""
    header, *rows = v2_results_csv(run).splitlines()
    return "".join([f"{header},XCC_Index\n", *(f"{row},{xcc}\n" for row in rows for xcc in range(8))])


def v2_ops_trace_csv(run: described.Run) -> str:
    """rocprofv2's `hcc_ops_trace_<pid>.csv`: a blank line after the header."""
    lines = ["Domain,Operation,Kernel_Name,Start_Timestamp,Stop_Timestamp,Correlation_ID", ""]
    for op in run.ops:
        what = ("DISPATCH", f'"{op.name}"') if op.kernel else ("COPY", '""')
        lines.append(",".join(map(str, ["HIP_OPS_DOMAIN", *what, op.start_ns, op.end_ns, op.correlation])))
    return "\n".join(lines) + "\n"


def v2_api_trace_csv(run: described.Run) -> str:
    """rocprofv2's `hip_api_trace_<pid>.csv`."""
    lines = ["Domain,Function,Start_Timestamp,End_Timestamp,Correlation_ID", ""]
    names = described.API_NAMES["hip"]
    for call in run.calls:
        lines.append(
            ",".join(map(str, ["HIP_API_DOMAIN", names[call.kind], call.start_ns, call.end_ns, call.correlation]))
        )
    return "\n".join(lines) + "\n"
