"""One run by two processes at once, in every format that can hold both: each has its own kernels, calls and ranges.

Both number their calls alike, so that a reader that joins by number alone mixes them up. What a format cannot hold is
listed in LOSSES and asserted.
"""

from __future__ import annotations

import polars as pl
import pytest
from sample_traces.make import nsys_database, rocpd_database, sqlite_formats
from sample_traces.make import run_description as described
from sample_traces.make.two_processes import OTHER_PID, SHIFT_NS

import same_run as run
from formats.answers import ask
from trace_budget import api
from trace_budget.schema.trace import Trace

NO_HOST, NO_COPIES, FROM_0 = "no host", "no copies", "from 0"
# what each lacks, how far the second process is behind, the devices of the two
FILES: dict[str, tuple[set[str], int, tuple[int, int]]] = {
    "nsys_csv/two_processes_cuda_gpu_trace.csv": ({FROM_0}, SHIFT_NS, (0, 1)),
    "rocprofv3_csv/two_processes_kernel_trace.csv": (set(), SHIFT_NS, (2, 3)),
    "rocprof_v1_csv/two_processes.csv": ({NO_HOST, NO_COPIES}, SHIFT_NS, (0, 1)),
    "rocprof_v1_db/two_processes.db": (set(), SHIFT_NS, (0, 1)),
    "hipprof_json/two_processes.json": (set(), SHIFT_NS, (0, 1)),
    "rpd/two_processes.rpd": (set(), SHIFT_NS, (2, 3)),
    "rocpd/two_processes.db": (set(), sqlite_formats.ROCPD_SHIFT_NS, (rocpd_database.GPU, sqlite_formats.OTHER_GPU)),
    "rocprofv3_json/two_processes.json": (set(), 0, (2, 2)),
    "nsys_sqlite/two_processes.sqlite": (set(), nsys_database.TWO_PROCESSES_SHIFT_NS, (0, 1)),
    "nsys_sqlite/visible_devices.sqlite": (set(), nsys_database.TWO_PROCESSES_SHIFT_NS, (0, 1)),
}


def of(trace: Trace, pid: int) -> Trace:
    """The tables of one process."""
    tables = {name: getattr(trace, name).filter(pl.col("pid") == pid) for name in ("gpu_ops", "calls", "markers")}
    return Trace(trace.path, trace.format, **tables)


@pytest.fixture(params=FILES)
def name(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


def processes(name: str) -> list[tuple[Trace, int, int]]:
    """Each process with what is to be added to the described times, and its device."""
    losses, shift_ns, devices = FILES[name]
    trace = api.open_trace(run.SAMPLES / name)
    begin = -described.T0_NS if FROM_0 in losses else 0
    pids = (described.PID, sqlite_formats.OTHER_PID)
    assert trace.gpu_ops["pid"].unique().sort().to_list() == list(pids) == [described.PID, OTHER_PID]
    return [
        (of(trace, pid), begin + behind, device)
        for pid, behind, device in zip(pids, (0, shift_ns), devices, strict=True)
    ]


def moved(rows: list[tuple[str, int, int]], by_ns: int) -> list[tuple[str, int, int]]:
    return [(text, start + by_ns, end + by_ns) for text, start, end in rows]


def test_kernels_copies_and_devices_of_each(name: str) -> None:
    for process, by_ns, device in processes(name):
        assert run.kernel_rows(process) == run.expected_kernels(by_ns)
        copies = process.gpu_ops.filter(pl.col("kind") == "memcpy").select("start_ns", "end_ns").rows()
        expected = [(start + by_ns, end + by_ns) for start, end in run.expected_copies()]
        assert copies == ([] if NO_COPIES in FILES[name][0] else expected)
        assert process.gpu_ops.filter(pl.col("kind") != "memset")["device"].unique().to_list() == [device]


def test_calls_ranges_and_replays_of_each(name: str) -> None:
    losses = FILES[name][0]
    for process, by_ns, _ in processes(name):
        host = NO_HOST not in losses
        assert run.call_rows(process) == (moved(run.expected_calls(), by_ns) if host else [])
        assert run.marker_rows(process) == (moved(run.expected_markers(), by_ns) if host else [])
        assert run.launched_kernels(process) == ([21] * described.STEPS if host else [])
        starts = [start for kind, start, _ in moved(run.expected_calls(), by_ns) if kind == "memcpy"]
        assert run.launch_starts_of_copies(process) == (starts if host else [])


def test_that_there_are_two_is_told_and_they_are_not_added_up(name: str) -> None:
    document = ask("check", str(run.SAMPLES / name)).document
    assert "several_processes" in {finding["code"] for finding in document["findings"]}
    kernels = ask("kernels", str(run.SAMPLES / name)).document
    told = {caveat["code"] for caveat in kernels["caveats"]}
    assert "several_processes" in told
    for row in kernels["rows"]:
        if row["kernel"].startswith("paged_attention_kernel"):
            assert row["median_us"] == pytest.approx(15.114)
