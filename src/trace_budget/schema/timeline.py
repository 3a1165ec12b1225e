"""Drawing: steps in time as tracks of slices, with flows between them and counters; what timeline files hold."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

NOTES = ("op_id", "layer", "position", "step", "earlier_ns", "shorter_ns", "was_ns", "held_by")


@dataclass(frozen=True, slots=True, repr=False)
class Drawing:
    """All times in integer ns from the begin of the picture; slices of one track never overlap.

    `processes`: group titles, in order. `tracks`: track (number), process (place in `processes`), name.
    `slices`: slice (number), track, name, categories (comma-separated), start_ns, duration_ns, and what is said about
    each (NOTES; null: not said), sorted by track and start. `flows`: from_slice, to_slice. `counters`: process, name,
    time_ns, value, in order of time.
    """

    processes: tuple[str, ...]
    tracks: pl.DataFrame
    slices: pl.DataFrame
    flows: pl.DataFrame
    counters: pl.DataFrame

    def __repr__(self) -> str:
        return f"<Drawing of {self.slices.height:,} slices on {self.tracks.height} tracks: {', '.join(self.processes)}>"

    def ends_ns(self) -> list[int]:
        """When the last slice of each process ends; 0 for one without."""
        placed = self.slices.join(self.tracks.select("track", "process"), on="track")
        last = placed.group_by("process").agg((pl.col("start_ns") + pl.col("duration_ns")).max().alias("end_ns"))
        ends = dict(last.select("process", "end_ns").rows())
        return [int(ends.get(process, 0)) for process in range(len(self.processes))]
