"""One file = one format, in the folder of its family; each file's READER says what it recognises and reads.

`OF_JSON` and `OTHERS` are the explicit lists: adding a format is one new file and one word here. A format has the name
of its file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from importlib import import_module

from trace_budget.contracts import Head, Reader

OF_JSON: tuple[str, ...] = (
    "kineto.kineto",
    "rocprof.rocprofv3_json",
    "rocprof.rocprof_v1_json",
    "hipprof.hipprof_json",
    "rpd.rpd_json",
    "xla.xla_json",
    "ascend.ascend_json",
)
OTHERS: tuple[str, ...] = (
    "rocprof.rocpd",
    "rpd.rpd",
    "nsys.nsys_sqlite",
    "nsys.nsys_parquetdir",
    "hipprof.hipprof_db",
    "rocprof.rocprof_v1_db",
    "perfetto.perfetto",
    "rocprof.rocprofv3_csv",
    "rocprof.rocprof_v1_csv",
    "rocprof.rocprofv2_csv",
    "rocprof.kernel_stats_csv",
    "nsys.nsys_csv",
    "xla.xplane",
    "ascend.ascend_csv",
    "plain.plain_table",
    "ingested",
)
FILES = (*OF_JSON, *OTHERS)
_HOME = {file.rpartition(".")[2]: file for file in FILES}
NAMES: tuple[str, ...] = tuple(_HOME)
_OPENS_JSON = re.compile(rb"\A(?:\xef\xbb\xbf)?\s*[{\[]")


def recognising(head: Head) -> list[Reader]:
    """The readers that recognise an input.

    JSON is shown to the readers of JSON first, and to the others only when none of these knows it: importing all
    readers takes longer than reading a small trace.
    """
    known = _of(NAMES[: len(OF_JSON)], head) if _OPENS_JSON.match(head.data) else []
    return known or _of(NAMES, head)


def _of(names: Iterable[str], head: Head) -> list[Reader]:
    return [reader for name in names if (reader := load(name)).recognises(head)]


def load(name: str) -> Reader:
    """The reader of one format; its module is imported only now."""
    reader: Reader = import_module(f"trace_budget.readers.{_HOME[name]}").READER
    return reader


def every() -> Iterator[Reader]:
    """All readers; their modules are imported."""
    return map(load, NAMES)


def suffixes(*, own: bool = False) -> tuple[str, ...]:
    """The suffixes of all formats, or those that nothing but traces have."""
    found = (suffix for reader in every() for suffix in (reader.own_suffixes if own else reader.suffixes))
    return tuple(dict.fromkeys(found))


@cache
def named(what: str) -> re.Pattern[str]:
    """What matches the names that readers state as `what`, a field of FileNames."""
    patterns = [str(pattern) for reader in every() if (pattern := getattr(reader.names, what))]
    return re.compile("|".join(patterns), re.IGNORECASE)
