"""The described run by two processes at once, each on its own device, in formats that can hold both.

Both number their calls alike: only the process tells which call launched a kernel. The second is 137 us behind, so that
a reader that mixes them up has kernels before their launch.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from sample_traces.make import hipprof_text, nsys_text, rocprof_text, rocprof_v1_database, rocprofv3_text, rpd_database
from sample_traces.make import run_description as described
from sample_traces.make.database import Content

OTHER_PID, OTHER_TID, OTHER_DEVICE = 4343, 4344, 1
SHIFT_NS = 137_001
OTHER_GUID = "0000ddb6-8903-7903-b269-cd8d3745bb8b"
Writer = Callable[[described.Run], str]


def shifted(run: described.Run, later_ns: int = SHIFT_NS, ids: int = 0) -> described.Run:
    """The run as the other process has it: later, and numbered from elsewhere."""

    def moved(row: described.Op | described.Call | described.Marker) -> dict[str, int]:
        return {"start_ns": row.start_ns + later_ns, "end_ns": row.end_ns + later_ns}

    ops = tuple(replace(op, **moved(op), correlation=op.correlation + ids) for op in run.ops)
    calls = tuple(replace(call, **moved(call), correlation=call.correlation + ids) for call in run.calls)
    return described.Run(ops, calls, tuple(replace(marker, **moved(marker)) for marker in run.markers))


@contextmanager
def other_process() -> Iterator[None]:
    """What writers take from the description is that of the other process."""
    before = described.PID, described.TID, described.DEVICE
    described.PID, described.TID, described.DEVICE = OTHER_PID, OTHER_TID, OTHER_DEVICE
    try:
        yield
    finally:
        described.PID, described.TID, described.DEVICE = before


def tables(write: Writer, ids: int = 0) -> tuple[str, str]:
    """A table of each process, with its header."""
    run = described.described_run()
    first = write(run)
    with other_process():
        return first, write(shifted(run, ids=ids))


def one_table(write: Writer, ids: int = 0) -> str:
    """The rows of both under one header."""
    first, second = tables(write, ids)
    return first + second.partition("\n")[2]


def nsys_csv() -> dict[str, str]:
    """Kernel rows without a process; ids that differ, as launches of two processes do."""
    ids = 1_000
    return {
        "nsys_csv/two_processes_cuda_gpu_trace.csv": one_table(nsys_text.gpu_trace, ids),
        "nsys_csv/two_processes_cuda_api_trace.csv": one_table(nsys_text.api_trace, ids),
        "nsys_csv/two_processes_nvtx_pushpop_trace.csv": one_table(nsys_text.pushpop_trace, ids),
    }


def rocprofv3_csv() -> dict[str, str]:
    """As `rocpd convert -f csv` writes the databases of two processes: the Guid tells them apart."""
    writers = {
        "kernel": rocprofv3_text.kernel_trace_of_rocpd,
        "regions": rocprofv3_text.regions_trace_of_rocpd,
        "memory_copy": rocprofv3_text.memory_copy_trace_of_rocpd,
    }
    gpu, other = f'"Agent {rocprofv3_text.GPU_AGENT}"', f'"Agent {rocprofv3_text.GPU_AGENT + 1}"'
    found = {}
    for table, write in writers.items():
        first, second = tables(write)
        rows = second.partition("\n")[2].replace(rocprofv3_text.GUID, OTHER_GUID).replace(gpu, other)
        found[f"rocprofv3_csv/two_processes_{table}_trace.csv"] = first + rows
    return found


def csv_samples() -> dict[str, str]:
    """All tables."""
    return {
        **nsys_csv(),
        **rocprofv3_csv(),
        "rocprof_v1_csv/two_processes.csv": one_table(rocprof_text.results_csv),
    }


def hipprof_json() -> str:
    """Tracks of both; `index` numbers the calls of each process from the same place."""
    first, second = (json.loads(text)["traceEvents"] for text in tables(hipprof_text.timeline_json))
    events = [*first, *({**event, "pid": event["pid"] + 10} for event in second)]
    return '{"traceEvents":[' + ",\n".join(json.dumps(event, separators=(",", ":")) for event in events) + "]}\n"


def rpd() -> Content:
    """RPD numbers calls anew in every session, so that ids of one file are its own."""
    recorder = rpd_database.Recorder()
    rpd_database.record(recorder, described.described_run())
    with other_process():
        recorder.gpu, recorder.first = rpd_database.GPU + 1, 1 << 40
        rpd_database.record(recorder, shifted(described.described_run()))
    return recorder.content


def rocprof_v1_db() -> Content:
    """KERN, OPS and calls with their process."""
    content = rocprof_v1_database.same_run()
    with other_process():
        other = rocprof_v1_database.of_run(shifted(described.described_run()))
    for table, rows in other.rows.items():
        content.rows[table] += rows
    return content


TRUTH = {
    "processes": {str(described.PID): described.DEVICE, str(OTHER_PID): OTHER_DEVICE},
    "kernels_per_process": 63,
    "shift_ns": SHIFT_NS,
}
