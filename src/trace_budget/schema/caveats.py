"""Caveats every reader shares: one code and one wording for the same trouble, whatever the format."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from trace_budget.schema.kernel_names import UNNAMED
from trace_budget.schema.trace import Caveat

MOST_NAMED = 4
# the difference of two times below it fits in 64 bits
LATEST_NS = 1 << 62


def of_several(given: Sequence[tuple[str, Sequence[Caveat]]]) -> tuple[Caveat, ...]:
    """The caveats of several things by name, each once; what is not the same for all says of which it is."""
    told: dict[Caveat, list[str]] = {}
    for name, caveats in given:
        for caveat in dict.fromkeys(caveats):
            told.setdefault(caveat, []).append(name)
    return tuple(
        caveat if len(names) == len(given) else replace(caveat, text=f"{_listed(names)}: {caveat.text}")
        for caveat, names in told.items()
    )


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more


def usable_times(ops: pl.DataFrame, earliest_ns: int = 1) -> tuple[pl.DataFrame, tuple[Caveat, ...]]:
    """Null what cannot be a time in start_ns and end_ns (ns, Int64), with caveats; nothing is clamped or invented.

    A start is unknown, and its end with it, when it is absent, before `earliest_ns` (1; 0 for clocks that start with
    the recording) or from 2^62 on (the year 2116); so is an end that is absent, before its start or from 2^62 on.
    An end equal to its start stays: a call that took less than the clock shows.
    """
    start, end = pl.col("start_ns"), pl.col("end_ns")
    known = ops.with_columns(pl.when((start >= earliest_ns) & (start < LATEST_NS)).then(start).alias("start_ns"))
    mended = known.with_columns(pl.when((end >= start) & (end < LATEST_NS)).then(end).alias("end_ns"))
    return mended, (*_no_start(mended), *_no_end(mended), *_no_length(mended))


def _example(rows: pl.DataFrame) -> str:
    return str(rows["name"][0]) if rows.height and "name" in rows.columns else ""


def _no_start(ops: pl.DataFrame) -> tuple[Caveat, ...]:
    rows = ops.filter(pl.col("start_ns").is_null())
    text = "operations without a usable start time: they count as calls and are left out of every time"
    return (Caveat("bad_start", text, rows.height, "warning", _example(rows)),) if rows.height else ()


def _no_end(ops: pl.DataFrame) -> tuple[Caveat, ...]:
    rows = ops.filter(pl.col("start_ns").is_not_null() & pl.col("end_ns").is_null())
    text = "operations that end before they start, or never: they count as calls and are left out of every time"
    return (Caveat("bad_duration", text, rows.height, "warning", _example(rows)),) if rows.height else ()


def _no_length(ops: pl.DataFrame) -> tuple[Caveat, ...]:
    rows = ops.filter(pl.col("start_ns") == pl.col("end_ns"))
    text = "operations of length 0: they count as calls and add no time"
    return (Caveat("zero_duration", text, rows.height, "note", _example(rows)),) if rows.height else ()


def duplicates(dropped: int) -> tuple[Caveat, ...]:
    """Executions that the file lists twice."""
    text = "rows that list an execution a second time (same name and times) were dropped"
    return (Caveat("duplicate_rows_dropped", text, dropped),) if dropped else ()


def orphan_ops(ops: pl.DataFrame, calls: pl.DataFrame) -> tuple[Caveat, ...]:
    """Device work whose launching call is not in the file, or that the file cannot link to any call."""
    if not calls.height:
        return (no_calls(),)
    if ops["correlation"].null_count() == ops.height and ops["launch_id"].null_count() == ops.height:
        text = "the file holds API calls, but does not say which of them launched which operation"
        return (Caveat("launches_unknown", text, ops.height),)
    rows = ops.filter(pl.col("launch_id").is_null())
    text = "device operations were launched by calls outside the recording: they belong to no step"
    return (Caveat("orphan_ops", text, rows.height, "note", _example(rows)),) if rows.height else ()


def no_calls() -> Caveat:
    """The file holds device work only."""
    text = "the file holds no API calls: graph launches and host-side steps cannot be told from it"
    return Caveat("no_calls", text)


def several_processes(count: int) -> tuple[Caveat, ...]:
    """Work of more than one process in one file: their sums are not one rank's."""
    text = "processes share this file: their work is kept apart by pid, and sums over all of them are not one rank's"
    return (Caveat("several_processes", text, count, "warning"),) if count > 1 else ()


def advice_for(found: Sequence[Caveat], otherwise: str) -> str:
    """What to do about something that is missing: a damaged file is the likeliest cause, where there is one."""
    partial = next((caveat.text for caveat in found if caveat.code == "partial_file"), "")
    return f"Copy the file again: {partial}." if partial else otherwise


def partial_file(reason: str) -> Caveat:
    """The file was cut or damaged; everything complete before that was read."""
    return Caveat("partial_file", f"the file is incomplete ({reason}): what came before was read", 1, "warning")


def several_documents() -> Caveat:
    """A second list of events, or what damage cut off from the first, was not read."""
    text = "events follow after the end of the first list (several ranks in one file?): only that list was read"
    return Caveat("several_documents", text, 1, "warning")


def damaged_metadata() -> Caveat:
    """Something is wrong outside the list of events."""
    text = "the metadata around the events is damaged: device, rank and absolute times may be unknown"
    return Caveat("damaged_metadata", text, 1, "warning")


def broken_keys(count: int) -> tuple[Caveat, ...]:
    """Keys or categories of events that are no text: what stood under them could not be known."""
    text = "keys or categories hold bytes that are not UTF-8: what they belong to was not read, calls may be too low"
    return (Caveat("damaged_bytes", text, count, "warning"),) if count else ()


def nameless(ops: pl.DataFrame) -> tuple[Caveat, ...]:
    """Kernels of gpu_ops without a name of their own: they are counted, but under no kernel's name."""
    if isinstance(ops["name"].dtype, pl.Enum) and UNNAMED not in ops["name"].dtype.categories:
        return ()
    count = ops.filter((pl.col("kind") == "kernel") & (pl.col("name").cast(pl.String) == UNNAMED)).height
    text = (
        "kernels have no name of their own in the file: they are listed as <unnamed>, may be of many kinds, and nothing"
        " can be projected on them"
    )
    return (Caveat("nameless_kernels", text, count, "warning"),) if count else ()


def numbers_out_of_range(lost: int) -> tuple[Caveat, ...]:
    """Numbers too large for the columns they belong in."""
    text = "ids or sizes beyond 64-bit integers are unknown"
    return (Caveat("numbers_out_of_range", text, lost),) if lost else ()


def damaged_lines(dropped: int, repaired: int, example: str = "") -> tuple[Caveat, ...]:
    """Lines or events that broke the format: mended ones, and ones given up."""
    found: list[Caveat] = []
    if repaired:
        text = "damaged lines or events (unescaped quotes, line breaks in names) were mended"
        found.append(Caveat("damaged_lines_repaired", text, repaired, "note", example if not dropped else ""))
    if dropped:
        text = "damaged lines or events could not be read and were dropped: calls and sums may be too low"
        found.append(Caveat("damaged_lines_dropped", text, dropped, "warning", example))
    return tuple(found)


def usable_sums(rows: pl.DataFrame) -> tuple[pl.DataFrame, tuple[Caveat, ...]]:
    """Sums per kernel that have a total_ns and at least one of calls; a caveat counts the others."""
    known = rows.drop_nulls(["calls", "total_ns"]).filter(pl.col("calls") > 0)
    text = "sums without a usable number of calls or total were left out"
    lost = rows.height - known.height
    return known, ((Caveat("bad_sums", text, lost, "warning"),) if lost else ())


def aggregates_only(extra: str = "") -> Caveat:
    """The input holds sums per kernel name, no executions."""
    text = (
        "the file holds sums per kernel name over the whole process, warm-up and autotuning included: calls and mean"
        " times can be told, but not steps, layers, overlap, idle time, medians or exposed time"
    )
    return Caveat("aggregates_only", text + extra, 1, "warning")
