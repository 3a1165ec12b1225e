"""What tells one input from another: a digest over all that is read of it."""

from __future__ import annotations

import hashlib
from pathlib import Path

from trace_budget.files.inflate import CHUNK_BYTES
from trace_budget.files.parquet_folder import table_names
from trace_budget.files.there import is_file
from trace_budget.readers.ranks import COMPANION, MAIN


def digest_of(path: Path) -> str:
    """32 hexadecimal digits over the content of a file with its pending changes, or of the tables of a folder."""
    digest = hashlib.sha256()  # the one that processors have instructions for: twice as fast as any other here
    if names := table_names(path):
        parts = [path / f"{name}.parquet" for name in names]
    else:
        wal = path.with_name(path.name + "-wal")
        parts = [path, *([wal] if is_file(wal) else [])]
        digest.update(beside(path))
    for part in parts:
        digest.update(part.name.encode() if names else b"")
        with part.open("rb") as file:
            while chunk := file.read(CHUNK_BYTES):
                digest.update(chunk)
    return digest.hexdigest()[:32]


def beside(path: Path) -> bytes:
    """Names and sizes of the files that are read together with a kernel trace in CSV; nothing for other files."""
    if not MAIN.search(path.name):
        return b""
    sizes = [
        f"{file.name} {file.stat().st_size}" for file in sorted(path.parent.iterdir()) if COMPANION.search(file.name)
    ]
    return "; ".join(sizes).encode()
