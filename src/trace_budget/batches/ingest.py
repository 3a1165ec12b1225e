"""Traces as folders of canonical tables: `OUT/trace=NAME/` for each, so that all of them can be queried at once."""

from __future__ import annotations

import re
from pathlib import Path

from trace_budget.errors import OutputError
from trace_budget.inputs.digest import digest_of
from trace_budget.io.new_folder import write_folder
from trace_budget.io.parquet_folder import only_trace
from trace_budget.schema.ingested import to_files
from trace_budget.schema.trace import Trace

_UNFIT = re.compile(r"[^A-Za-z0-9._-]+")
_ENDINGS = re.compile(r"(?:\.(?:gz|zst|json|csv|db|sqlite|rpd|pftrace|html|trace|pt))+$", re.IGNORECASE)
_DIGITS = 8
_LONGEST_STEM = 200  # names of files end at 255 bytes


def ingest(trace: Trace, out: Path | str, overwrite: bool = False, rank: int | None = None) -> tuple[Path, bool]:
    """Write the tables of a trace into its own folder below `out`; the folder, and whether it was written now.

    The name holds the trace's file name and a digest of its content, and `rank` where it was given, not read: the
    same trace is written once. Raises OutputError when it cannot be written.
    """
    source = Path(trace.path)
    stem = _UNFIT.sub("_", _ENDINGS.sub("", source.name))[:_LONGEST_STEM] or "trace"
    suffix = "" if rank is None else f"-rank{rank}"
    folder = Path(out) / f"trace={stem}-{digest_of(only_trace(source))[:_DIGITS]}{suffix}"
    if folder.is_dir() and not overwrite:
        return folder, False
    try:
        write_folder(folder, to_files(trace), overwrite=overwrite)
    except OutputError:
        if overwrite or not folder.is_dir():
            raise
        return folder, False  # another run wrote it meanwhile
    return folder, True
