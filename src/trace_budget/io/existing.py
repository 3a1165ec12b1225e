"""Whether something is there, asked so that a closed folder above or a name too long for any file is a plain no.

`Path.is_file` and `Path.is_dir` raise then, up to Python 3.13; who opens the file next says why it cannot be read.
"""

from __future__ import annotations

import os
from pathlib import Path


def is_file(path: Path) -> bool:
    """Whether a regular file can be seen at `path`."""
    return os.path.isfile(path)  # noqa: PTH113


def is_folder(path: Path) -> bool:
    """Whether a folder can be seen at `path`."""
    return os.path.isdir(path)  # noqa: PTH112
