"""One file = one format; each file's READER says what it recognises and reads.

`NAMES` is the explicit list: adding a format is one new file and one word here.
"""

from __future__ import annotations

from importlib import import_module

from trace_budget.contracts import Reader

NAMES: tuple[str, ...] = (
    "kineto",
    "rocpd",
    "rpd",
    "nsys_sqlite",
    "nsys_parquetdir",
    "hipprof_db",
    "rocprof_v1_db",
    "perfetto",
    "rocprofv3_csv",
    "rocprofv3_json",
    "rocprof_v1_csv",
    "rocprof_v1_json",
    "rocprofv2_csv",
    "kernel_stats_csv",
    "hipprof_json",
    "rpd_json",
    "nsys_csv",
    "ingested",
)


def load(name: str) -> Reader:
    """The reader of one format; its module is imported only now."""
    reader: Reader = import_module(f"trace_budget.readers.{name}").READER
    return reader
