"""One file = one format, in the folder of its family; each file's READER says what it recognises and reads.

`FILES` is the explicit list: adding a format is one new file and one word here. A format has the name of its file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from importlib import import_module

from trace_budget.contracts import Head, Reader

FILES: tuple[str, ...] = (
    "kineto.kineto",
    "rocprof.rocpd",
    "rpd.rpd",
    "nsys.nsys_sqlite",
    "nsys.nsys_parquetdir",
    "hipprof.hipprof_db",
    "rocprof.rocprof_v1_db",
    "perfetto.perfetto",
    "rocprof.rocprofv3_csv",
    "rocprof.rocprofv3_json",
    "rocprof.rocprof_v1_csv",
    "rocprof.rocprof_v1_json",
    "rocprof.rocprofv2_csv",
    "rocprof.kernel_stats_csv",
    "hipprof.hipprof_json",
    "rpd.rpd_json",
    "nsys.nsys_csv",
    "xla.xplane",
    "ascend.ascend_csv",
    "plain.plain_table",
    "ingested",
)
_HOME = {file.rpartition(".")[2]: file for file in FILES}
NAMES: tuple[str, ...] = tuple(_HOME)
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
    reader: Reader = import_module(f"trace_budget.readers.{_HOME[name]}").READER
    return reader
