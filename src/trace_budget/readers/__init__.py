"""One file = one format; each file's READER says what it recognises and reads.

`NAMES` is the explicit list: adding a format is one new file and one word here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from importlib import import_module

from trace_budget.contracts import Head, Reader

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
_OF_JSON = frozenset(("kineto", "rocprofv3_json", "rocprof_v1_json", "hipprof_json", "rpd_json"))
_OPENS_JSON = re.compile(rb"\A(?:\xef\xbb\xbf)?\s*[{\[]")


def recognising(head: Head) -> list[Reader]:
    """The readers that recognise an input.

    JSON is shown to the readers of JSON first, and to the others only when none of these knows it: importing all
    readers takes longer than reading a small trace.
    """
    others = [name for name in NAMES if name not in _OF_JSON]
    if not _OPENS_JSON.match(head.data):
        return _of(NAMES, head)
    return _of([name for name in NAMES if name in _OF_JSON], head) or _of(others, head)


def _of(names: Iterable[str], head: Head) -> list[Reader]:
    return [reader for name in names if (reader := load(name)).recognises(head)]


def load(name: str) -> Reader:
    """The reader of one format; its module is imported only now."""
    reader: Reader = import_module(f"trace_budget.readers.{name}").READER
    return reader
