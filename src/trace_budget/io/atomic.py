"""Safe writing: never over an existing file unless asked to, and never half a file.

The data goes to a private temporary file in the same folder, which takes the final name only when it is complete.
"""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from trace_budget.errors import OutputError

ADVICE_EXISTS = "Give --force to overwrite it, or another name."
_REASONS = {
    errno.ENOENT: ("the folder does not exist", "Create it first."),
    errno.ENOTDIR: ("a part of the path is not a folder", "Give another path."),
    errno.EISDIR: ("is a folder", "Give a file name."),
    errno.EACCES: ("no permission to write here", "Give another path."),
    errno.EPERM: ("no permission to write here", "Give another path."),
    errno.EROFS: ("the file system is read-only", "Give another path."),
    errno.ENOSPC: ("the disk is full", "Free some space, or give another path."),
    errno.EDQUOT: ("the disk quota is used up", "Free some space, or give another path."),
    errno.EFBIG: ("the file would be larger than allowed here", "Give another path."),
    errno.EBADF: ("it is closed", "Let it go to a terminal, a file or a pipe."),
    errno.ENAMETOOLONG: ("the file name is too long", "Give a shorter one."),
}


def output_error(where: Path | str, error: OSError) -> OutputError:
    """The one-line error for an operating system error met while writing to `where`."""
    reason, advice = _REASONS.get(error.errno or 0, (error.strerror or str(error), "Give another path."))
    return OutputError(f"cannot write: {reason}", where=str(where), advice=advice)


def refuse_existing(path: Path, *, overwrite: bool) -> None:
    """Raise OutputError before any work when `path` cannot become the output.

    It exists, is a folder, has no parent, or cannot even be looked at: a closed folder above, a name too long.
    """
    try:
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, "")
        if not path.parent.is_dir():
            raise OSError(errno.ENOTDIR if path.parent.exists() else errno.ENOENT, "")
        taken = path.exists() and not _is_device(path)
    except OSError as error:
        raise output_error(path, error) from error
    if taken and not overwrite:
        raise _exists(path)


@contextmanager
def new_file(path: Path, *, overwrite: bool = False) -> Iterator[BinaryIO]:
    """A file to write to that becomes `path` when the block ends well, and vanishes when it does not.

    Devices and pipes are written to directly. Raises OutputError: exists, folder missing, read-only, disk full.
    """
    refuse_existing(path, overwrite=overwrite)
    try:
        if _is_device(path):
            with path.open("wb") as device:
                yield device
        else:
            with _renamed_at_end(Path(os.path.realpath(path)), overwrite) as file:
                yield file
    except FileExistsError as error:
        raise _exists(path) from error
    except BrokenPipeError:
        raise
    except OSError as error:
        raise output_error(path, error) from error


def write_bytes(path: Path, data: bytes, *, overwrite: bool = False) -> None:
    """Write `data` to `path` as a whole or not at all; raises OutputError as `new_file` does."""
    with new_file(path, overwrite=overwrite) as file:
        file.write(data)


@contextmanager
def _renamed_at_end(target: Path, overwrite: bool) -> Iterator[BinaryIO]:
    descriptor, name = tempfile.mkstemp(prefix=".trace-budget-", suffix=".part", dir=target.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fchmod(descriptor, _mode_of(target))
            os.fsync(descriptor)
        _take_name(name, target, overwrite)
    finally:
        with suppress(FileNotFoundError):
            Path(name).unlink()


def _take_name(name: str, target: Path, overwrite: bool) -> None:
    """Give the finished file its name; without `overwrite` a link, which fails if the name was taken meanwhile."""
    if overwrite:
        Path(name).replace(target)
        return
    try:
        os.link(name, target)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links
        refuse_existing(target, overwrite=False)
        Path(name).replace(target)


def _mode_of(target: Path) -> int:
    """The permissions of the file that is replaced, else those any new file gets here."""
    with suppress(OSError):
        return stat.S_IMODE(target.stat().st_mode)
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def _is_device(path: Path) -> bool:
    return path.exists() and not path.is_file() and not path.is_dir()


def _exists(path: Path) -> OutputError:
    return OutputError("already exists, left as it is", where=str(path), advice=ADVICE_EXISTS)
