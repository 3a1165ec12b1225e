"""An ingested trace: the canonical tables as Parquet, written by `trace-budget ingest`; nothing is parsed twice.

Read: gpu_ops, calls, markers, syncs and the facts of the trace, as they were, with the caveats of the first reading.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

from trace_budget.contracts import Head, Reader, ReadOptions
from trace_budget.errors import InputError
from trace_budget.io import parquet_file
from trace_budget.io.parquet_folder import MAGIC, only_trace, table_names
from trace_budget.schema.caveats import LATEST_NS
from trace_budget.schema.check import SchemaViolationError, checked
from trace_budget.schema.ingested import INGESTED_VERSION, NEEDED, SUMS, from_frames
from trace_budget.schema.trace import Trace

_AGAIN = "Ingest the trace again."


def _recognises(head: Head) -> bool:
    return head.data.startswith(MAGIC) and set(head.names) >= NEEDED


def _read(path: Path, options: ReadOptions) -> Trace:
    del options
    folder = only_trace(path)
    wanted = [name for name in table_names(folder) if name in NEEDED or name == SUMS]
    frames = {name: _frame(folder / f"{name}.parquet") for name in wanted}
    if not set(frames) >= NEEDED:
        missing = ", ".join(sorted(NEEDED - set(frames)))
        raise InputError("not a whole ingested trace", where=str(path), expected=f"also {missing}", advice=_AGAIN)
    try:
        for name, frame in frames.items():
            _refuse_impossible_times(folder / f"{name}.parquet", frame)
        return checked(from_frames(str(path), frames))
    except (SchemaViolationError, pl.exceptions.PolarsError, KeyError, TypeError) as error:
        found = str(error).splitlines()[0]
        raise InputError("not an ingested trace as declared", where=str(path), found=found, advice=_AGAIN) from None


def _refuse_impossible_times(file: Path, frame: pl.DataFrame) -> None:
    for name in frame.columns:
        if name.endswith("_ns") and (frame[name].cast(pl.Float64).abs() >= LATEST_NS).any():
            message = f"holds a time that cannot be in column {name}"
            raise InputError(message, where=str(file), expected="times before the year 2116", advice=_AGAIN)


def _frame(file: Path) -> pl.DataFrame:
    version = parquet_file.facts(file).get("trace_budget.ingested")
    if version == str(INGESTED_VERSION):
        return parquet_file.read(file)
    expected, found = f"version {INGESTED_VERSION}", f"version {ascii(version)[1:-1]}" if version else "no version"
    raise InputError("tables of another version", where=str(file), expected=expected, found=found, advice=_AGAIN)


READER = Reader(
    name="ingested",
    title="Trace ingested by trace-budget (a folder)",
    recognised_by=f"a folder with {', '.join(f'{name}.parquet' for name in sorted(NEEDED))}",
    cannot_tell="what the format it was ingested from cannot tell",
    recognises=_recognises,
    read=_read,
)
