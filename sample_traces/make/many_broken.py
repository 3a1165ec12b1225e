"""What goes wrong in folders of traces: ten broken files, each in its own way, and five records of graph capture."""

from __future__ import annotations

import gzip
import json
import random

from sample_traces.make import rocprof_text, rocprofv3_text
from sample_traces.make import run_description as described
from sample_traces.make.broken_kineto import LFS_POINTER
from sample_traces.make.many_runs import Shape, decode_run, kineto

CAPTURE_OPS = 12_000
Content = bytes | str


def broken() -> dict[str, Content]:
    """Path and content of ten files that can give no answer."""
    shape = Shape(number=999, layers=3, steps=3)
    run = decode_run(shape, 4)
    whole = gzip.compress(kineto(run, shape).encode(), mtime=0)
    noise = random.Random(1).randbytes(2_000)
    host_event = {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 1, "dur": 2}
    host_only = json.dumps({"schemaVersion": 1, "traceEvents": [host_event]})
    return {
        "bad/empty.json": b"",
        "bad/pointer.trace.json": LFS_POINTER,
        "bad/noise.trace.json.gz": noise,
        "bad/cut_in_the_header.trace.json.gz": whole[:15],
        "bad/host_only.trace.json": host_only,
        "bad/report.nsys-rep": b"\x7f\x00NSYS" + noise,
        "bad/workers_kernel_trace.csv": rocprofv3_text.table(rocprofv3_text.KERNEL_HEADER, []),
        "bad/counters.csv": rocprof_text.counters_csv(run),
        "bad/cut.db": b"SQLite format 3\0" + bytes(84) + noise[:200],
        "bad/copy_of_a_trace.zip": b"PK\x03\x04" + noise[:300],
    }


def sidecars() -> dict[str, Content]:
    """Path and content of five records of graph capture: thousands of host events, a handful of kernels."""
    return {
        f"capture/graph_capture_rank_{rank}.{1_713_000_000 + rank}.pt.trace.json.gz": gzip.compress(
            _capture(rank).encode(), 3, mtime=0
        )
        for rank in range(5)
    }


def _capture(rank: int) -> str:
    event = {"ph": "X", "pid": described.PID, "tid": described.TID}
    rows: list[dict[str, object]] = [
        {**event, "cat": "cpu_op", "name": "aten::mm", "ts": 1_000 + n, "dur": 1} for n in range(CAPTURE_OPS)
    ]
    rows.append({**event, "cat": "user_annotation", "name": "capture_32_FULL", "ts": 1_000, "dur": CAPTURE_OPS})
    launch = {"name": "cudaLaunchKernel", "cat": "cuda_runtime", "args": {"correlation": 1}}
    rows.append({**event, **launch, "ts": 1_005, "dur": 2})
    rows.append(
        {
            "ph": "X", "cat": "kernel", "name": "warm_up_kernel", "pid": 0, "tid": 7, "ts": 1_010, "dur": 3,
            "args": {"device": 0, "stream": 7, "correlation": 1},
        }
    )  # fmt: skip
    job = {"backend": "nccl", "rank": rank, "world_size": 5}
    return json.dumps({"schemaVersion": 1, "distributedInfo": job, "traceEvents": rows})
