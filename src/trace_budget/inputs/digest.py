"""What distinguishes one input from another: a digest over all that is read of it."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from pathlib import Path

from trace_budget.inputs.same_run import is_companion, is_kernel_trace
from trace_budget.io.existing import is_file
from trace_budget.io.inflate import CHUNK_BYTES
from trace_budget.io.parquet_folder import table_names


def digest_of(path: Path) -> str:
    """32 hexadecimal digits over the content of a file with its pending changes, or of the tables of a folder."""
    digest = hashlib.sha256()  # the one that processors have instructions for: twice as fast as any other here
    if names := table_names(path):
        parts = [path / f"{name}.parquet" for name in names]
    else:
        wal = path.with_name(path.name + "-wal")
        parts = [path, *([wal] if is_file(wal) else [])]
        digest.update(beside(path))
        for companion in _companions(path):
            digest.update(_content(companion, stamp_of(companion)))
    for part in parts:
        digest.update(part.name.encode() if names else b"")
        with part.open("rb") as file:
            while chunk := file.read(CHUNK_BYTES):
                digest.update(chunk)
    return digest.hexdigest()[:32]


def beside(path: Path) -> bytes:
    """Names and sizes of the files that are read together with a kernel trace in CSV; nothing for other files."""
    sizes = [f"{file.name} {file.stat().st_size}" for file in _companions(path)]
    return "; ".join(sizes).encode(errors="surrogateescape")


def _companions(path: Path) -> list[Path]:
    """The files beside a kernel trace in CSV that may be read together with it, by name."""
    if not is_kernel_trace(path.name):
        return []
    return sorted(file for file in path.parent.iterdir() if is_companion(file.name) and is_file(file))


def stamp_of(path: Path) -> tuple[int, ...]:
    """Size, times and number of a file: what differs when it was written again or replaced."""
    status = path.stat()
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino


@lru_cache(maxsize=256)
def _content(path: Path, stamp: tuple[int, ...]) -> bytes:
    """The digest of one companion; kept while its stamp stays, since all kernel traces of a folder share them."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").digest()
