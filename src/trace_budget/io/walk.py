"""Every file below a folder that could hold a trace: regular files, and folders of Parquet tables as one."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from trace_budget.errors import InputError
from trace_budget.io.parquet_folder import table_names

_DATASET = ("table=",)


def data_below(place: Path, leave_out: str = "", closed: list[Path] | None = None) -> Iterator[Path]:
    """Files and table folders below `place`, folder by folder; what lies in the folder `leave_out` is passed over.

    So are hidden files, pipes, dangling links, and the folders of a dataset. InputError for what cannot be listed;
    folders below `place` go to `closed` instead, where that is given.
    """

    def unlisted(error: OSError) -> None:
        if closed is None or Path(error.filename) == place:
            reason = error.strerror or str(error)
            raise InputError("cannot be listed", where=str(error.filename), found=reason) from error
        closed.append(Path(error.filename))

    out = os.path.realpath(leave_out) if leave_out else ""
    for folder, names, files in os.walk(place, onerror=unlisted):
        whole = [name for name in names if table_names(Path(folder) / name)]
        names[:] = sorted(n for n in names if n not in whole and wanted(n) and os.path.realpath(Path(folder, n)) != out)
        for name in (*whole, *files):
            path = Path(folder) / name
            if wanted(name) and _is_data(path):
                yield path


def wanted(name: str) -> bool:
    """Whether a file or folder of this name may hold a trace: it is neither hidden nor part of a dataset."""
    return not name.startswith((".", *_DATASET))


def _is_data(path: Path) -> bool:
    """A regular file or a folder of tables: pipes, sockets and dangling links hold no trace."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return stat.S_ISREG(mode) or stat.S_ISDIR(mode)
