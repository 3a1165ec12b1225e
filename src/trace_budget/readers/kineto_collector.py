"""Takes the events of a Kineto trace segment by segment and keeps the rows that matter, one frame per table."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from trace_budget.readers.kineto_events import CallArgs, Decoded, OpArgs, SyncArgs, sorted_out
from trace_budget.readers.kineto_numbers import Ids
from trace_budget.readers.kineto_rows import Rows


@dataclass(frozen=True, slots=True)
class Frames:
    """The rows as recorded: name, kind, ts_ns, dur_ns, pid, tid and arguments; pids that are texts are synthetic."""

    ops: pl.DataFrame
    calls: pl.DataFrame
    markers: pl.DataFrame
    syncs: pl.DataFrame


class Collector:
    """Grows by segments; `events` counts all elements of the list, whether kept or not."""

    def __init__(self) -> None:
        self.events = 0
        self._ids = Ids()
        self._ops = Rows(self._ids, OpArgs)
        self._calls = Rows(self._ids, CallArgs)
        self._markers = Rows(self._ids)
        self._syncs = Rows(self._ids, SyncArgs)

    def add(self, objects: list[Decoded]) -> None:
        """Take the events of one segment."""
        self.events += len(objects)
        kept = sorted_out(objects)
        self._ops.add(kept["ops"])
        self._calls.add(kept["calls"])
        self._markers.add(kept["markers"])
        self._syncs.add(kept["syncs"])

    def frames(self) -> Frames:
        """Everything kept so far."""
        return Frames(self._ops.frame(), self._calls.frame(), self._markers.frame(), self._syncs.frame())

    @property
    def lost_numbers(self) -> int:
        """Ids and sizes that are beyond 64-bit integers (known after `frames`)."""
        return self._ids.lost + self._ops.lost + self._calls.lost + self._syncs.lost

    @property
    def unreadable_arguments(self) -> int:
        """Kept events whose arguments are no JSON object."""
        return self._ops.unreadable + self._calls.unreadable + self._syncs.unreadable

    @property
    def dispatch_kinds(self) -> bool:
        """Whether device work names its dispatch kind, which only ROCm backends write."""
        return self._ops.kinds_seen

    @property
    def pid_texts(self) -> dict[int, str]:
        """What the synthetic process ids stand for."""
        return self._ids.texts
