"""One run in several outputs: which files beside each other hold the same run, and which of them tells most."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from trace_budget.contracts import Reader

# per profiler, from the output that tells most to the one that tells least
PROFILERS = (
    ("rocpd", "rocprofv3_json", "rocprofv3_csv", "perfetto", "kernel_stats_csv"),
    ("rpd", "rpd_json"),
    ("rocprof_v1_db", "rocprof_v1_json", "rocprof_v1_csv", "kernel_stats_csv"),
    ("hipprof_db", "hipprof_json", "perfetto", "kernel_stats_csv"),
    ("nsys_sqlite", "nsys_parquetdir", "nsys_csv", "nsys sums"),
)
_NSYS_SUMS = re.compile("kern_?sum")
_OUTPUT = re.compile(
    r"(?:[_.](?:results|kernel_trace|kernel_stats|domain_stats|stats|stream|hipkernel|cuda_gpu_trace|cuda_gpu_kern_sum|"
    r"parquetdir|pqtdir|csv|json|html|db|sqlite|rpd|pftrace|gz|zst))*$"
)


class Output(Protocol):
    """A trace file and what reads it."""

    @property
    def path(self) -> Path:
        """Where it lies."""

    @property
    def reader(self) -> Reader:
        """Its format."""


def stem_of_run(path: Path) -> tuple[Path, str]:
    """Folder, and name without what tells the output: `42_results.db` and `42_kernel_trace.csv` are of run `42`."""
    return path.parent, _OUTPUT.sub("", path.name).removesuffix("results")


def telling_more(one: Output, found: Sequence[Output]) -> Output | None:
    """Another output of the same run by the same profiler that tells more than this one, if there is any."""
    beside = {_kind(o): o for o in found if o is not one and stem_of_run(o.path) == stem_of_run(one.path)}
    kind = _kind(one)
    better = (name for kinds in PROFILERS if kind in kinds for name in kinds[: kinds.index(kind)])
    return next((beside[name] for name in better if name in beside), None)


def _kind(one: Output) -> str:
    """The format; sums of `nsys stats` apart, which its reader reads too."""
    return "nsys sums" if one.reader.name == "nsys_csv" and _NSYS_SUMS.search(one.path.name) else one.reader.name
