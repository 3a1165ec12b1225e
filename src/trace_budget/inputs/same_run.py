"""One run in several outputs: which files beside each other hold the same run, and which of them tells most."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from trace_budget.contracts import Reader

_SUMS = 100  # places behind every output with a timeline
_OUTPUT = re.compile(
    r"(?:[_.](?:results|kernel|hiptrace|kernel_trace|kernel_stats|domain_stats|stats|stream|hipkernel|cuda_gpu_trace|"
    r"cuda_gpu_kern_sum|parquetdir|pqtdir|csv|json|html|db|sqlite|rpd|pftrace|gz|zst))*$"
)


# hipprof: one database, and pages or segments of one process beside it; older releases name both by the process
_SEGMENT = re.compile(r"(?:_stream|_copy)?(?:_\d+)?$")
_OLD_NAMES = re.compile(r"^(?:hip-prof-|result_)(?=\d+)")


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
    beside = [other for other in found if other is not one and _of_one_run(other, one)]
    mine = _places(one)
    better = [
        (place, other)
        for other in beside
        for profiler, place in _places(other).items()
        if place < mine.get(profiler, place)
    ]
    return min(better, key=lambda each: each[0])[1] if better else None


def _places(one: Output) -> dict[str, int]:
    """The place of an output among those of each profiler that writes it; sums tell least."""
    sums = _SUMS if one.reader.sums_named and re.search(one.reader.sums_named, one.path.name) else 0
    return {profiler: place + sums for profiler, place in one.reader.writers.items()}


def _of_one_run(more: Output, less: Output) -> bool:
    """Whether names say so: alike without what tells the output, or the database of hipprof and a page of it."""
    (folder, stem), (beside, other) = stem_of_run(more.path), stem_of_run(less.path)
    if folder != beside or more.reader.name != "hipprof_db" or "hipprof" not in less.reader.writers:
        return (folder, stem) == (beside, other)
    base, page = _OLD_NAMES.sub("", stem), _OLD_NAMES.sub("", other)
    return base in (page, _SEGMENT.sub("", page))
