"""Takes the events of a Kineto trace segment by segment and keeps the rows that matter, one frame per table."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from msgspec import Struct

from trace_budget.readers.kineto.events import TABLE_OF, CallArgs, Decoded, NoArgs, OpArgs, SyncArgs, sorted_out
from trace_budget.readers.kineto.numbers import Ids
from trace_budget.readers.kineto.rows import Rows
from trace_budget.readers.kineto.scan import COLUMNS, KINDS, Scanned

_KIND = COLUMNS.index("kind")
_TABLES: dict[str, type[Struct]] = {"ops": OpArgs, "calls": CallArgs, "markers": NoArgs, "syncs": SyncArgs}
_TABLE_OF_KIND = np.array([list(_TABLES).index(TABLE_OF[kind]) for kind in KINDS])


@dataclass(frozen=True, slots=True)
class Frames:
    """The rows as recorded: name, kind, ts_ns, dur_ns, pid, tid and arguments; pids that are texts are synthetic."""

    ops: pl.DataFrame
    calls: pl.DataFrame
    markers: pl.DataFrame
    syncs: pl.DataFrame


class Collector:
    """Grows by segments; `events` counts all elements of the list, whether kept or not, `strangers` those no events.

    `engine` says what read them: `c` when the scanner took any segment, else `msgspec`.
    """

    def __init__(self) -> None:
        self.events = 0
        self.strangers = 0
        self.engine = "msgspec"
        self._ids = Ids()
        self._tables = {table: Rows(self._ids, args) for table, args in _TABLES.items()}

    def add(self, objects: list[Decoded] | Scanned) -> None:
        """Take the events of one segment."""
        if isinstance(objects, Scanned):
            self._add_scanned(objects)
            return
        self.events += len(objects)
        kept, strangers = sorted_out(objects)
        self.strangers += strangers
        for table, rows in self._tables.items():
            rows.add(kept[table])

    def _add_scanned(self, found: Scanned) -> None:
        """Rows the scanner made, among them those of the events it left; exactly as if all had come as objects."""
        self.events += found.elements
        self.engine = "c"
        kept, strangers = sorted_out(found.odd)
        self.strangers += strangers
        places = _TABLE_OF_KIND[found.rows[:, _KIND]]
        for place, (table, rows) in enumerate(self._tables.items()):
            rows.add_scanned(found.rows[places == place], found.texts, kept[table], found.odd_ordinals)
        self._tables["ops"].kinds_seen |= found.kinds_seen

    def frames(self) -> Frames:
        """Everything kept so far."""
        return Frames(**{table: rows.frame() for table, rows in self._tables.items()})

    @property
    def lost_numbers(self) -> int:
        """Ids and sizes that are beyond 64-bit integers (known after `frames`)."""
        return self._ids.lost + sum(rows.lost for rows in self._tables.values())

    @property
    def unreadable_arguments(self) -> int:
        """Kept events whose arguments are no JSON object."""
        return sum(rows.unreadable for rows in self._tables.values())

    @property
    def dispatch_kinds(self) -> bool:
        """Whether device work names its dispatch kind, which only ROCm backends write."""
        return self._tables["ops"].kinds_seen

    @property
    def pid_texts(self) -> dict[int, str]:
        """What the synthetic process ids stand for."""
        return self._ids.texts
