"""A folder that appears whole or not at all: written under another name beside, then renamed."""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from trace_budget.errors import OutputError
from trace_budget.files.write import ADVICE_EXISTS, output_error


def write_folder(path: Path, files: Mapping[str, bytes], *, overwrite: bool = False) -> None:
    """Write a folder of files; its parents are created. Raises OutputError: exists, read-only, disk full."""
    if path.exists() and not overwrite:
        raise OutputError("already exists, left as it is", where=str(path), advice=ADVICE_EXISTS)
    fresh = path.parent / f".{path.name}-{uuid.uuid4().hex}.part"
    try:
        fresh.mkdir(parents=True)
        for name, data in files.items():
            _write(fresh / name, data)
        _take_name(fresh, path)
    except OSError as error:
        raise output_error(path, error) from error
    finally:
        with suppress(OSError):
            shutil.rmtree(fresh)


def _write(file: Path, data: bytes) -> None:
    with file.open("wb") as target:
        target.write(data)
        target.flush()
        os.fsync(target.fileno())


def _take_name(fresh: Path, path: Path) -> None:
    """A folder cannot be renamed over one that holds files: the old one steps aside and goes last."""
    old = path.parent / f".{path.name}-{uuid.uuid4().hex}.old"
    with suppress(FileNotFoundError):
        path.rename(old)
    fresh.rename(path)
    with suppress(OSError):
        shutil.rmtree(old)
