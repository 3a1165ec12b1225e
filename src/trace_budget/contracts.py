"""What a reader and a renderer promise: the two sockets where new formats and outputs plug in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from trace_budget.schema.options import ReadOptions as ReadOptions
from trace_budget.schema.report import Report
from trace_budget.schema.trace import Trace

PACKINGS = (".gz", ".zst")


@dataclass(frozen=True, slots=True)
class Head:
    """The first bytes of an input, already decompressed: all a reader may look at to recognise its format.

    `compression` is none, gzip, zstd or zip; `names` holds the table names of an SQLite file, else it is empty.
    """

    path: Path
    data: bytes
    compression: str
    size_bytes: int
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FileNames:
    """What names of files say about a format, as regular expressions; case is ignored.

    `main`: kernel traces that other files accompany, `companions`: those files, `always`: such of them as a process
    writes that ran no kernel; `sums`: files that hold sums all the same; `output`: words behind the name of the run.
    `page_of` says whether two names of runs are of one run although they differ.
    """

    main: str = ""
    companions: str = ""
    always: str = ""
    sums: str = ""
    output: str = ""
    page_of: Callable[[str, str], bool] | None = None


@dataclass(frozen=True, slots=True)
class Reader:
    """One format. `recognises` must decide by content, never by name; `read` ends with the schema check.

    `cannot_tell` lists the questions this format leaves open, `recognised_by` says in words what `recognises` looks at.
    `suffixes` are without those of PACKINGS; nothing but traces has those of them that `own_suffixes` repeats.
    `writers`: the profilers that write it, each with the place of this output among its outputs (0 says most).
    `work_table` begins the name of the table whose rows are device work; `late_rank` says that the rank may stand
    behind the events.
    """

    name: str
    title: str
    recognised_by: str
    cannot_tell: str
    recognises: Callable[[Head], bool]
    read: Callable[[Path, ReadOptions], Trace]
    suffixes: tuple[str, ...] = ()
    own_suffixes: tuple[str, ...] = ()
    timeline: bool = True
    writers: Mapping[str, int] = field(default_factory=dict, hash=False)
    names: FileNames = FileNames()
    work_table: str = ""
    late_rank: bool = False


@dataclass(frozen=True, slots=True)
class Renderer:
    """One output. `render` returns the bytes to write; `binary` outputs are refused on a terminal."""

    name: str
    suffixes: tuple[str, ...]
    render: Callable[[Report], bytes]
    binary: bool = False
