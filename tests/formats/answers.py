"""Runs commands as a user does, in this process: exit code, JSON document and the line on stderr."""

from __future__ import annotations

import io
import json
import signal
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import cache
from typing import Any

import same_run as run
from trace_budget.__main__ import main

SAMPLES = run.SAMPLES
KERNEL, SAVING_US = "paged_attention_kernel", 3.0
QUESTIONS: dict[str, tuple[str, ...]] = {
    "kernels": (),
    "steps": (),
    "layers": (),
    "overlap": (),
    "check": (),
    "threshold": (),
    "project": ("--kernel", KERNEL, "--saving-us", str(SAVING_US)),
}
# the described run, with or without what a format cannot hold
SAME_RUN = (
    "ascend_json/same_run.json",
    "hipprof_db/same_run.db",
    "hipprof_json/same_run.html",
    "hipprof_json/same_run.json",
    "kineto/same_run.json",
    "nsys_csv/beside_cuda_gpu_trace.csv",
    "nsys_csv/same_run.csv",
    "nsys_parquetdir/same_run",
    "nsys_sqlite/same_run.sqlite",
    "perfetto/rocprof_sys.proto",
    "perfetto/rocprof_sys_node.proto",
    "plain_table/same_run.csv",
    "plain_table/same_run.jsonl",
    "perfetto/same_run.pftrace",
    "rocpd/no_views.db",
    "rocpd/same_run.db",
    "rocpd/schema_4.db",
    "rocprof_v1_csv/old_registers.csv",
    "rocprof_v1_csv/same_run.csv",
    "rocprof_v1_csv/timestamp_only.csv",
    "rocprof_v1_db/same_run.db",
    "rocprof_v1_json/same_run.json",
    "rocprofv2_csv/hcc_ops_trace_4242.csv",
    "rocprofv2_csv/results_4242.csv",
    "rocprofv3_csv/of_rocpd_kernel_trace.csv",
    "rocprofv3_csv/rocm62_kernel_trace.csv",
    "rocprofv3_csv/same_run_kernel_trace.csv",
    "rocprofv3_json/same_run.json",
    "rpd/same_run.rpd",
    "rpd/schema_3.rpd",
    "rpd/of_sdk.rpd",
    "rpd_json/same_run.json",
)
# the first of each format that needs no file beside it
ONE_EACH = tuple({name.partition("/")[0]: name for name in reversed(SAME_RUN) if "beside" not in name}.values())
SUMS = (
    "kernel_stats_csv/hipprof.hipkernel.csv",
    "kernel_stats_csv/rocprof_results.stats.csv",
    "kernel_stats_csv/rocprofv3_kernel_stats.csv",
    "nsys_csv/cuda_gpu_kern_sum.csv",
)
OTHERS = (
    "ascend_csv/kernel_details.csv",
    "ascend_csv/op_summary_20260101.csv",
    "rocprofv2_csv/results_of_old_header.csv",
    "rocprofv2_csv/results_of_xccs.csv",
    "rocprofv3_csv/utf16_kernel_trace.csv",
    "xla_json/same_run.trace.json",
    "xplane/same_run.xplane.pb",
    "hipprof_db/two_workers.db",
    "hipprof_json/two_processes.json",
    "nsys_csv/two_processes_cuda_gpu_trace.csv",
    "nsys_sqlite/visible_devices.sqlite",
    "rocprof_v1_csv/two_processes.csv",
    "rocprof_v1_db/two_processes.db",
    "rocprofv3_csv/renamed_kernel_trace.csv",
    "rocprofv3_csv/two_processes_kernel_trace.csv",
    "rpd/of_clr.rpd",
    "rpd/two_processes.rpd",
    "kineto/cuda_two_streams_pdl.json.gz",
    "kineto/decimal_us_epoch.json.gz",
    "kineto/hybrid_once_per_step.json.gz",
    "kineto/integer_us_epoch.json.gz",
    "kineto/list_root.json.gz",
    "nsys_sqlite/two_processes.sqlite",
    "perfetto/overlaps_cut.pftrace",
    "rocpd/two_processes.db",
    "rocprofv3_json/two_processes.json",
    "rpd/odd_rows.rpd",
)


@dataclass(frozen=True)
class Answer:
    """What a command said: `document` is None unless it printed one."""

    code: int
    document: Any
    err: str

    @property
    def line(self) -> str:
        """The one line on stderr; below it stand at most the names it offers, one a line."""
        line, *names = self.err.splitlines()
        assert all(name.startswith("  --kernel ") for name in names), names
        return line


def said(*arguments: str) -> Answer:
    """What a command answers; an exception of the program passes through and fails the test."""
    before = signal.getsignal(signal.SIGTERM)
    out, err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8"), io.StringIO()
    try:
        with redirect_stdout(out), redirect_stderr(err):
            code = main(list(arguments))
            sys.stdout.flush()
    finally:
        signal.signal(signal.SIGTERM, before)
    text = out.buffer.getvalue().decode()  # type: ignore[attr-defined]
    return Answer(code, json.loads(text) if text.startswith("{") else None, err.getvalue())


@cache
def ask(command: str, *arguments: str) -> Answer:
    """The answer of a command as JSON; the same question is asked once."""
    return said(command, *arguments, "--format", "json")


def about(name: str, command: str, *options: str) -> Answer:
    """The answer about a sample, with the options the command needs."""
    return ask(command, str(SAMPLES / name), *QUESTIONS[command], *options)
