"""Where traces may lie: every file below the folders given, local or remote, before its content is looked at."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from trace_budget.errors import InputError
from trace_budget.io.existing import is_file, is_folder
from trace_budget.io.parquet_folder import table_names
from trace_budget.io.store import file_system, is_url, reading_from
from trace_budget.io.walk import data_below, wanted

MEMBER = "!/"


@dataclass(frozen=True, slots=True)
class Source:
    """One file (or a folder that is one trace, or one member of an archive).

    `address` is a local path or URL; `relative` starts with the name of the folder given, with `!/` before a member;
    `checksum` is what a remote store says about the content; `index` the member's number in its archive. `closed`
    stands for a whole folder that cannot be listed.
    """

    address: str
    relative: str
    size_bytes: int
    member: str | None = None
    checksum: str | None = None
    index: int | None = None
    closed: bool = False

    @property
    def folder(self) -> str:
        """Where it lies: folder or archive."""
        return self.relative.rpartition("/")[0]

    @property
    def name(self) -> str:
        """Its bare name."""
        return self.relative.rpartition("/")[2]


def find_sources(places: Sequence[str], leave_out: str) -> list[Source]:
    """Every file below the places, each once, in order of its path; `leave_out` is the dataset itself.

    Hidden files and the folders of a dataset are passed over. Raises InputError for a place that cannot be listed;
    folders below it that cannot are sources too.
    """
    found: dict[str, Source] = {}
    for place in places:
        for source in _remote(place) if is_url(place) else _local(Path(place), leave_out):
            found.setdefault(_identity(source.address), source)
    return sorted(found.values(), key=lambda source: (source.relative, source.address))


def _identity(address: str) -> str:
    return address if is_url(address) else os.path.realpath(address)


def _local(place: Path, leave_out: str) -> Iterator[Source]:
    if not (is_file(place) or is_folder(place)):
        raise InputError("no such file or folder, or a folder above is closed", where=str(place))
    if is_file(place) or table_names(place):
        yield Source(str(place), place.name, _size(place))
        return
    top = place.resolve().name
    closed: list[Path] = []
    for path in data_below(place, leave_out, closed):
        yield Source(str(path), f"{top}/{path.relative_to(place).as_posix()}", _size(path))
    for path in closed:
        yield Source(str(path), f"{top}/{path.relative_to(place).as_posix()}", 0, closed=True)


def _size(path: Path) -> int:
    if path.is_dir():
        return sum((path / f"{name}.parquet").stat().st_size for name in table_names(path))
    return path.stat().st_size


def _remote(place: str) -> Iterator[Source]:
    system, root = file_system(place)
    with reading_from(place):
        system.invalidate_cache()
        found = system.find(root, detail=True)
    if not found:
        raise InputError("no such file or folder", where=place)
    for path, facts in found.items():
        inside = PurePosixPath(path).relative_to(PurePosixPath(root).parent).as_posix()
        if all(wanted(part) for part in inside.split("/")):
            address = str(system.unstrip_protocol(path))
            yield Source(address, inside, int(facts.get("size") or 0), checksum=str(system.checksum(path)))
