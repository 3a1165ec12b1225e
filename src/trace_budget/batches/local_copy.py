"""A source as a local file, for as long as it is read: itself, a private copy, or a member of an archive."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from trace_budget.batches.sources import Source
from trace_budget.io.archive import member
from trace_budget.io.store import file_system, is_url, reading_from
from trace_budget.io.temp import error_when_full, scratch_folder


@contextmanager
def local_copy(source: Source) -> Iterator[Path]:
    """The local file of a source; copies vanish afterwards. Raises InputError when it cannot be fetched or unpacked."""
    with ExitStack() as stack:
        path = stack.enter_context(fetched(source.address)) if is_url(source.address) else Path(source.address)
        yield path if source.member is None else stack.enter_context(member(path, source.member, source.index))


@contextmanager
def fetched(address: str) -> Iterator[Path]:
    """A private copy of a remote file under its own name."""
    system, path = file_system(address)
    with scratch_folder(address) as folder:
        copy = folder / Path(path).name
        with (
            reading_from(address),
            error_when_full(address),
            system.open(path, "rb") as remote,
            copy.open("wb") as target,
        ):
            shutil.copyfileobj(remote, target, 1 << 20)
        yield copy
