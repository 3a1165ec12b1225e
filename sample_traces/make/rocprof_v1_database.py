"""rocprof (version 1) results.db, as its sqlitedb.py fills it: KERN and OPS list the same dispatches."""

from __future__ import annotations

from sample_traces.make import run_description as described
from sample_traces.make.database import Content

_DEVICE = "BeginNs EndNs dev-id queue-id Name~ pid tid roctx-range~ stream-id Index Data~ __section __lane DurationNs"
_HOST = "BeginNs EndNs pid tid Name~ args~ Index Data~ __section __lane DurationNs"
_TABLES = {
    "KERN": "Index KernelName~ gpu-id queue-id queue-index pid tid grd wgr lds scr arch_vgpr accum_vgpr sgpr wave_size"
    " sig~ obj~ DispatchNs BeginNs EndNs CompleteNs DurationNs",
    "OPS": _DEVICE,
    "COPY": _DEVICE,
    "HIP": _HOST,
    "rocTX": "BeginNs EndNs pid tid Name~ Index Data~ __section __lane DurationNs",
}


def same_run() -> Content:
    """The described run; the graph's kernels carry the Index of the graph launch."""
    return of_run(described.described_run())


def of_run(run: described.Run) -> Content:
    """A run of one process."""
    content = Content()
    for name, columns in _TABLES.items():
        content.table(name, columns)
    owner = {"pid": described.PID, "tid": described.TID}
    for call in run.calls:
        name = described.API_NAMES["hip"][call.kind]
        facts = {"Name": name, "args": "( stream(7))", "Index": call.correlation, "__section": 2}
        content.add("HIP", **_times(call.start_ns, call.end_ns), **owner, **facts)
    for marker in run.markers:
        content.add("rocTX", **_times(marker.start_ns, marker.end_ns), **owner, Name=marker.name, Index=0)
    for op in run.ops:
        lane = {"dev-id": described.DEVICE, "queue-id": described.QUEUE, "stream-id": described.STREAM, **owner}
        row = {**_times(op.start_ns, op.end_ns), **lane, "Index": op.correlation, "__section": 6}
        if op.kind == "memcpy":
            content.add("COPY", **row, Name="CopyHostToDevice")
            continue
        content.add("OPS", **row, Name=op.name)
        _kern(content, op)
    barrier = {**_times(described.T0_NS, described.T0_NS + 5), "dev-id": 0, "queue-id": 0, "Name": "<barrier packet>"}
    content.add("OPS", **barrier, **owner)
    return content


def _times(start_ns: int, end_ns: int) -> dict[str, object]:
    return {"BeginNs": start_ns, "EndNs": end_ns, "DurationNs": end_ns - start_ns}


def _kern(content: Content, op: described.Op) -> None:
    kernel = op.kernel or described.HEAD_KERNEL
    x, y, z = kernel.grid_threads
    size = {"grd": x * y * z, "wgr": kernel.block[0], "wave_size": 64, "sig": "0x0", "obj": "0x7fa3b0483600"}
    lane = {"gpu-id": described.DEVICE, "queue-id": described.QUEUE, "queue-index": 0, "pid": described.PID}
    around = {"DispatchNs": op.start_ns - 900, "CompleteNs": op.end_ns + 1_500, "tid": described.TID}
    name = {"Index": len(content.rows["KERN"]), "KernelName": f'"{op.name}.kd"'}
    content.add("KERN", **name, **lane, **size, **around, **_times(op.start_ns, op.end_ns))


def with_counters() -> Content:
    """A run under `-i pmc.txt`: a counter stands between the kernel's object and its times."""
    content = same_run()
    content.tables["KERN"] = content.tables["KERN"].replace('"DispatchNs"', '"SQ_WAVES" INTEGER, "DispatchNs"')
    return content
