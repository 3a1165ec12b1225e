"""A folder as input: which files in it are traces, which of them are ranks of one job, and which to leave out.

Output folders of rocprofv3 (`<host>/<pid>_*.csv`, `*_results.db`, …) and of other profilers, `profile/` folders of vLLM
and SGLang with one file per rank. Nothing is summed over files, and what is left out is reported.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from trace_budget import readers
from trace_budget.contracts import Head, Reader
from trace_budget.errors import InputError
from trace_budget.inputs.detect import head_of
from trace_budget.inputs.same_run import accompanies, telling_more
from trace_budget.inputs.unreadable import refuse_known, refuse_named
from trace_budget.io import existing
from trace_budget.io.inflate import CHUNK_BYTES, PlainStream
from trace_budget.io.parquet_folder import only_trace, table_names
from trace_budget.io.probe import PROBE_BYTES
from trace_budget.io.sqlite import opened
from trace_budget.io.walk import data_below
from trace_budget.readers.rank_names import PlacedTrace, job_facts, job_labels, rank_in
from trace_budget.readers.sum_names import other_domain
from trace_budget.schema.trace import Caveat

MOST_FILES = 4_096
SHOWN = 4
_NO_WORKLOAD = (
    (re.compile("graph_capture"), "names of a graph capture, no workload (layers --capture reads it)"),
    (re.compile("async_llm"), "the frontend process of an engine, no device work"),
    (re.compile(r"counter_collection|^pmc_"), "performance counters: kernels ran one by one"),
)
_MERGED = re.compile(r"^merged-")
_EARLY_STAGE = re.compile(r"-(?:EXTEND|PREFILL)(?=[-.])", re.IGNORECASE)
LOST = "its kernel trace is not here"


@dataclass(frozen=True, slots=True)
class FolderTrace:
    """One trace in a folder and, where they are known before it is read, its rank and the ranks of its job."""

    path: Path
    reader: Reader
    rank: int | None
    world_size: int | None


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A file that is no input of its own, and why."""

    path: Path
    reason: str


@dataclass(frozen=True, slots=True)
class Folder:
    """What a folder holds: `jobs` are its traces, those that are ranks of one job together, by rank."""

    path: Path
    jobs: tuple[tuple[FolderTrace, ...], ...]
    left_out: tuple[LeftOut, ...]


def is_folder(path: Path) -> bool:
    """Whether a path is a folder of traces; a folder of tables that is one trace is not."""
    return existing.is_folder(path) and not table_names(only_trace(path))


def look_into(path: Path, format: str | None = None) -> Folder:  # noqa: A002  (the word users know)
    """The traces in a folder and below; with `format` only those of that format.

    Raises InputError when it cannot be listed, holds too many files, or no trace.
    """
    files = sorted(data_below(path))
    if len(files) > MOST_FILES:
        advice = "Name a folder further down, or take them all with `trace-budget batch`."
        raise InputError("holds too many files", where=str(path), found=f"{len(files)}", advice=advice)
    seen = [found for file in files if (found := _seen(file, format)) is not None]
    members, left_out = _sorted_out([one for one in seen if isinstance(one, FolderTrace)])
    left_out = [*(one for one in seen if isinstance(one, LeftOut)), *left_out]
    if not members:
        raise InputError("holds no trace", where=str(path), found=_nothing(len(files), left_out, path))
    return Folder(path, _jobs(members, path), tuple(sorted(left_out, key=lambda one: one.path)))


def chosen(path: Path, format: str | None, rank: int | None) -> tuple[tuple[FolderTrace, ...], tuple[Caveat, ...]]:  # noqa: A002
    """The ranks of the one job in a folder, the one asked for (else the lowest) first, and what was left out.

    Raises InputError when the folder holds several jobs or unrelated traces, or lacks the rank asked for.
    """
    folder = look_into(path, format)
    job, left_out = _one_job(folder)
    known = [one.rank for one in job]
    if rank is not None and len(job) > 1 and rank not in known:
        raise InputError("no such rank", where=str(path), expected=f"--rank with one of {known}", found=f"{rank}")
    first = next((one for one in job if one.rank == rank), job[0])
    caveats: list[Caveat] = []
    if len(job) > 1:
        of = f" of {job[0].world_size}" if job[0].world_size else ""
        text = (
            f"the folder holds {len(job)}{of} ranks of one job: figures are of rank {first.rank} (--rank picks another)"
        )
        caveats.append(Caveat("several_ranks", text, len(job)))
    lost = [one.path.name for one in left_out if one.reason == LOST]
    if lost:
        text = f"the kernel traces these files belong to are not in the folder: {shown(lost)}"
        caveats.append(Caveat("kernel_trace_missing", text, len(lost), "warning"))
    if left_out:
        named = [f"{one.path.relative_to(path)} ({one.reason})" for one in left_out]
        caveats.append(Caveat("files_left_out", f"files of the folder left out: {shown(named)}", len(named)))
    return (first, *(one for one in job if one is not first)), tuple(caveats)


def _one_job(folder: Folder) -> tuple[tuple[FolderTrace, ...], list[LeftOut]]:
    """The job that is meant: a timeline before sums, a decode stage before others; InputError when several remain."""
    jobs, left_out = list(folder.jobs), list(folder.left_out)
    for fits, reason in (
        (lambda job: job[0].reader.timeline, "sums per kernel, no timeline"),
        (lambda job: not _EARLY_STAGE.search(job[0].path.name), "the prefill stage of an engine"),
    ):
        fitting = [job for job in jobs if fits(job)]
        if fitting and len(fitting) < len(jobs):
            left_out += [LeftOut(one.path, reason) for job in jobs if job not in fitting for one in job]
            jobs = fitting
    if len(jobs) > 1:
        named = [f"{job[0].path.relative_to(folder.path)} ({job[0].reader.name})" for job in jobs]
        advice = (
            "Name one of them (ranks of one job: one as TRACE, the others with --with-rank), or take them all with"
            " `trace-budget batch`."
        )
        found = f"{len(jobs)}: {shown(named)}"
        raise InputError("holds several traces", where=str(folder.path), expected="one job", found=found, advice=advice)
    return jobs[0], left_out


def _seen(file: Path, format: str | None) -> FolderTrace | LeftOut | None:  # noqa: A002
    """A trace, a file that is known to be none, or None for anything else."""
    try:
        head = head_of(file)
        refuse_known(head)
        claiming = readers.recognising(head)
        if format is not None:
            claiming = [reader for reader in claiming if reader.name == format]
        if not claiming:
            refuse_named(head)
            return None
    except InputError as error:
        return LeftOut(file, error.message)
    if len(claiming) > 1:
        return LeftOut(file, f"could be read as {', '.join(reader.name for reader in claiming)} (--from names one)")
    if (reason := _no_input(head, claiming[0])) is not None:
        return LeftOut(file, reason)
    rank, world_size = job_facts(head.data)
    return FolderTrace(file, claiming[0], rank if rank is not None else rank_in(file.name), world_size)


def _no_input(head: Head, reader: Reader) -> str | None:
    """Why a file of a known format is no workload of its own, else None."""
    name = head.path.name
    for pattern, reason in _NO_WORKLOAD:
        if pattern.search(name):
            return reason
    domain = other_domain(name) if reader.names.sums or not reader.timeline else None
    if domain is not None:
        return f"sums of {domain}, not of kernels"
    if reader.suffixes == (".csv",) and len(head.data) < PROBE_BYTES and _lines(head) < 2:
        return "a header without rows"
    return None


def _lines(head: Head) -> int:
    return sum(1 for line in head.data.splitlines() if line.strip())


def _sorted_out(found: list[FolderTrace]) -> tuple[list[FolderTrace], list[LeftOut]]:
    """Of a run written several times the output that says most; of several processes those that ran something."""
    kept, left_out = [], []
    beside: dict[Path, list[str]] = {}
    for one in found:
        beside.setdefault(one.path.parent, []).append(one.path.name)
    for one in found:
        better, companion = telling_more(one, found), accompanies(one.path.name, beside[one.path.parent])
        if companion is not False:
            left_out.append(LeftOut(one.path, "accompanies the kernel trace beside it" if companion else LOST))
        elif better is not None:
            left_out.append(LeftOut(one.path, f"the same run as {better.path.name}, which tells more"))
        elif _MERGED.search(one.path.name) and len(found) > 1:
            left_out.append(LeftOut(one.path, "ranks merged into one file that lie here one by one"))
        else:
            kept.append(one)
    if len(kept) < 2:
        return kept, left_out
    idle = [one for one in kept if one.rank is None and not _ran_something(one)]
    if len(idle) == len(kept):
        return kept, left_out
    left_out += [LeftOut(one.path, "no kernel dispatches") for one in kept if one in idle]
    return [_with_late_rank(one) for one in kept if one not in idle], left_out


def _ran_something(one: FolderTrace) -> bool:
    """Whether a database holds device work, as far as a look at one row says."""
    prefix = one.reader.work_table
    if not prefix:
        return True
    try:
        with opened(one.path) as database:
            return database.filled(prefix)
    except InputError:
        return True


def _with_late_rank(one: FolderTrace) -> FolderTrace:
    """Look for the job's description behind the events, where older profilers wrote it."""
    if one.rank is not None or not one.reader.late_rank:
        return one
    last = b""
    with PlainStream(one.path) as plain:
        while chunk := plain.read(CHUNK_BYTES):
            last = (last + chunk)[-PROBE_BYTES:]
    rank, world_size = job_facts(last)
    return FolderTrace(one.path, one.reader, rank, world_size)


def _jobs(members: list[FolderTrace], path: Path) -> tuple[tuple[FolderTrace, ...], ...]:
    placed = [
        PlacedTrace(one.path.parent.relative_to(path).as_posix(), one.path.name, one.rank, one.world_size)
        for one in members
    ]
    jobs: dict[str, list[FolderTrace]] = {}
    for label, one in zip(job_labels(placed), members, strict=True):
        jobs.setdefault(label, []).append(one)
    return tuple(tuple(sorted(job, key=lambda one: one.rank or 0)) for job in jobs.values())


def _nothing(files: int, left_out: list[LeftOut], path: Path) -> str:
    named = [f"{one.path.relative_to(path)}: {one.reason}" for one in left_out]
    return f"{files} files" + (f"; {shown(named)}" if named else "")


def shown(texts: list[str]) -> str:
    """The first few of many."""
    return "; ".join(ascii(text)[1:-1] for text in texts[:SHOWN]) + ("; …" if len(texts) > SHOWN else "")
