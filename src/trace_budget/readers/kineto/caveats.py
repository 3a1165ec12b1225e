"""What a user must know about a Kineto trace before trusting its figures."""

from __future__ import annotations

import polars as pl

from trace_budget.io.json.document import Fields
from trace_budget.io.json.segment import Damage
from trace_budget.readers.kineto.merged import OneRank
from trace_budget.readers.kineto.tables import Tables
from trace_budget.schema import caveats as shared
from trace_budget.schema.trace import Caveat

_SIDECAR_EVENTS = 1_000
_SIDECAR_KERNELS = 16


def file_caveats(ended: bool, fields: Fields, damage: Damage, plain_damage: str) -> tuple[Caveat, ...]:
    """Cut, damaged, or followed by another document."""
    found: list[Caveat] = []
    reason = plain_damage or ("" if ended and fields.closed else "the JSON ends early")
    if reason:
        found.append(shared.partial_file(reason))
    first = "" if damage.first_offset is None else f"first at byte {damage.first_offset} of the plain text"
    if damage.repaired:
        text = "damaged events (quotes, line breaks, escapes, bare NaN, commas) were mended"
        found.append(Caveat("damaged_events_repaired", text, damage.repaired, "note", first))
    if damage.dropped:
        text = "damaged events could not be read and were dropped: calls and sums may be too low"
        found.append(Caveat("damaged_events_dropped", text, damage.dropped, "warning", first))
    found += shared.broken_keys(damage.broken_keys)
    if fields.more:
        found.append(shared.several_documents())
    if fields.damaged and not fields.more:
        found.append(shared.damaged_metadata())
    return tuple(found)


def content_caveats(tables: Tables, events: int, integer_us: bool) -> tuple[Caveat, ...]:
    """No device work, a capture sidecar, whole microseconds, orphans, several processes."""
    ops, calls = tables.gpu_ops, tables.calls
    kernels = ops.filter(pl.col("kind") == "kernel")
    if not kernels.height:
        return (_no_gpu_ops(events),)
    found: list[Caveat] = []
    if _is_sidecar(tables, kernels.height, events):
        text = "a record of graph capture, not of a workload: do not project from it"
        found.append(Caveat("capture_sidecar", text, kernels.height, "warning"))
    if integer_us:
        text = "kernel times are whole microseconds: each may be off by 1 us, short ones by half and more"
        found.append(Caveat("integer_us_resolution", text, kernels.height, "warning"))
    launches = calls.filter(pl.col("kind").cast(pl.String).is_in(["launch", "graph_launch"]))
    return (
        *found,
        *shared.nameless(ops),
        *shared.orphan_ops(ops, calls),
        *shared.several_processes(launches["pid"].n_unique()),
    )


def merged_caveats(one: OneRank) -> tuple[Caveat, ...]:
    """Several ranks in one file, of which one was read."""
    if not one.labels:
        return ()
    text = f"ranks are merged in this file: only {one.label or 'the unlabelled one'} was read"
    return (Caveat("merged_ranks", text, len(one.labels), "warning", ", ".join(one.labels)),)


def rank_caveats(recorded: int | None, named: int | None) -> tuple[Caveat, ...]:
    """A file name and a trace that disagree on the rank."""
    if recorded is None or named is None or recorded == named:
        return ()
    text = "the file name tells another rank than the trace itself, which was believed"
    return (Caveat("rank_mismatch", text, 1, "warning", f"name: {named}, trace: {recorded}"),)


def element_caveats(strangers: int) -> tuple[Caveat, ...]:
    """Elements of the list of events that are no JSON objects, as lists of further events."""
    text = "elements of the list of events are no events: what they hold was not read, calls and sums may be too low"
    return (Caveat("not_events", text, strangers, "warning"),) if strangers else ()


def number_caveats(lost: int, unreadable: int) -> tuple[Caveat, ...]:
    """Ids beyond 64 bits and arguments that are no object."""
    text = "events whose arguments are no object: stream, device and launch are unknown"
    odd = (Caveat("unreadable_arguments", text, unreadable, "warning"),) if unreadable else ()
    return (*shared.numbers_out_of_range(lost), *odd)


def _no_gpu_ops(events: int) -> Caveat:
    text = (
        f"no GPU kernel among {events} events: is this the capture side, a CPU-only rank, or a profile without"
        " ProfilerActivity.CUDA?"
    )
    return Caveat("no_gpu_ops", text, 1, "error")


def _is_sidecar(tables: Tables, kernels: int, events: int) -> bool:
    """Thousands of events of which a handful are kernels, and a capture that names itself."""
    if kernels > _SIDECAR_KERNELS or events < _SIDECAR_EVENTS:
        return False
    captures = tables.markers["name"].cast(pl.String).str.starts_with("capture_").any()
    return bool(captures or tables.calls["name"].cast(pl.String).str.contains("StreamBeginCapture").any())
