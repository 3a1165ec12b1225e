"""A folder that appears whole or not at all: written under another name beside, then renamed."""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
import uuid
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from trace_budget.errors import OutputError
from trace_budget.io.atomic import ADVICE_EXISTS, output_error

_TAKEN = (errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR)
_AT_FDCWD, _RENAME_EXCHANGE = -100, 2


def write_folder(path: Path, files: Mapping[str, bytes], *, overwrite: bool = False) -> None:
    """Write a folder of files; its parents are created. Raises OutputError: exists, read-only, disk full."""
    if path.exists() and not overwrite:
        raise _exists(path)
    fresh = path.parent / f".trace-budget-{uuid.uuid4().hex}.part"  # fits wherever the name itself does
    try:
        fresh.mkdir(parents=True)
        for name, data in files.items():
            _write(fresh / name, data)
        _take_name(fresh, path, overwrite=overwrite)
    except OSError as error:
        raise output_error(path, error) from error
    finally:
        _remove(fresh)


def _write(file: Path, data: bytes) -> None:
    with file.open("wb") as target:
        target.write(data)
        target.flush()
        os.fsync(target.fileno())


def _take_name(fresh: Path, path: Path, *, overwrite: bool) -> None:
    """Give the finished folder its name; what had it before, if that may go, is removed last."""
    if overwrite and _exchanged(fresh, path):
        return
    old = fresh.with_suffix(".old")
    if overwrite:
        with suppress(FileNotFoundError):
            path.rename(old)  # a folder cannot be renamed over one that holds files
    try:
        fresh.rename(path)
    except OSError as error:
        with suppress(OSError):
            old.rename(path)
        if error.errno in _TAKEN and not overwrite:  # it came while this one was written
            raise _exists(path) from error
        raise
    _remove(old)


def _remove(path: Path) -> None:
    """A folder with all in it, or what else is there."""
    with suppress(OSError):
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()


def _exchanged(one: Path, other: Path) -> bool:
    """Whether two folders changed names in one step, so that a kill leaves either; Linux can, most file systems too."""
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        return not libc.renameat2(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE)
    except (AttributeError, OSError):
        return False


def _exists(path: Path) -> OutputError:
    return OutputError("already exists, left as it is", where=str(path), advice=ADVICE_EXISTS)
