"""What lies in a folder."""

from __future__ import annotations

from pathlib import Path


def files_below(folder: Path) -> dict[str, bytes]:
    """Every file by its path relative to the folder."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
