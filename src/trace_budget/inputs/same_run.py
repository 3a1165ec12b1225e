"""One run in several files: which beside each other hold the same run, which says most, which are read together."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Protocol

from trace_budget import readers
from trace_budget.contracts import PACKINGS, Reader

_SUMS = 100  # places behind every output with a timeline


class TraceFile(Protocol):
    """A trace file and what reads it."""

    @property
    def path(self) -> Path:
        """Where it lies."""

    @property
    def reader(self) -> Reader:
        """Its format."""


def stem_of_run(path: Path) -> tuple[Path, str]:
    """Folder, and name without what names the output: `42_results.db` and `42_kernel_trace.csv` are of run `42`."""
    return path.parent, _output().sub("", path.name).removesuffix("results")


@cache
def _output() -> re.Pattern[str]:
    """What stands behind the name of a run in the names of its outputs."""
    endings = (*readers.suffixes(), *PACKINGS)
    words = dict.fromkeys(re.escape(part) for ending in endings for part in ending.split(".") if part)
    return re.compile(rf"(?:[_.](?:{readers.named('output').pattern}|{'|'.join(words)}))*$")


def telling_more(one: TraceFile, found: Sequence[TraceFile]) -> TraceFile | None:
    """Another output of the same run by the same profiler that says more than this one, if there is any."""
    beside = [other for other in found if other is not one and _of_one_run(other, one)]
    mine = _places(one)
    better = [
        (place, other)
        for other in beside
        for profiler, place in _places(other).items()
        if place < mine.get(profiler, place)
    ]
    return min(better, key=lambda each: each[0])[1] if better else None


def _places(one: TraceFile) -> dict[str, int]:
    """The place of an output among those of each profiler that writes it; sums say least."""
    sums = _SUMS if one.reader.names.sums and re.search(one.reader.names.sums, one.path.name) else 0
    return {profiler: place + sums for profiler, place in one.reader.writers.items()}


def _of_one_run(more: TraceFile, less: TraceFile) -> bool:
    """Whether names say so: alike without what names the output, or as a reader knows them to be of one run."""
    (folder, stem), (beside, other) = stem_of_run(more.path), stem_of_run(less.path)
    page_of = more.reader.names.page_of
    if folder != beside or page_of is None or not more.reader.writers.keys() & less.reader.writers.keys():
        return (folder, stem) == (beside, other)
    return page_of(stem, other)


def is_kernel_trace(name: str) -> bool:
    """Whether a file is named as a kernel trace that is read together with files beside it."""
    return _named("main", name) is not None


def is_companion(name: str) -> bool:
    """Whether a file is named as one that is read together with a kernel trace."""
    return _named("companions", name) is not None


def accompanies(name: str, beside: Iterable[str]) -> bool | None:
    """Whether a file belongs to a kernel trace among the names beside it; None when that trace should be there.

    What it shares with its kernel trace is all of its name before the words that say what it holds.
    """
    found = _named("companions", name)
    if not found:
        return False
    prefixes = {_run(other[: main.start()]) for other in beside if (main := _named("main", other))}
    if _run(name[: found.start()]) in prefixes:
        return True
    return (True if _named("always", name) else None) if prefixes else False


def _named(what: str, name: str) -> re.Match[str] | None:
    """Where a name matches what readers state; only tables in CSV have companions: readers are imported for these."""
    return readers.named(what).search(name) if ".csv" in name.lower() else None


def _run(prefix: str) -> str:
    return prefix.rstrip("_.").removesuffix("results").rstrip("_.")
