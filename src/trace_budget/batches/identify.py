"""First look at a source in a worker: is it a trace, what is the digest of its content, which rank of which job."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from trace_budget import readers
from trace_budget.batches.local_copy import fetched
from trace_budget.batches.sources import MEMBER, Source
from trace_budget.batches.unforeseen import ENDS, unforeseen
from trace_budget.contracts import PACKINGS, Head
from trace_budget.errors import InputError
from trace_budget.inputs.detect import description, head_of
from trace_budget.inputs.digest import digest_of
from trace_budget.inputs.unreadable import OWN_SUFFIXES, refuse_known, refuse_named
from trace_budget.io.archive import is_archive, members
from trace_budget.io.parquet_folder import table_names
from trace_budget.io.probe import PROBE_BYTES, probe
from trace_budget.io.sqlite import MAGIC
from trace_budget.io.store import file_system, is_url, reading_from
from trace_budget.io.temp import NoRoomError, error_when_full, scratch_folder
from trace_budget.readers.rank_names import job_facts, rank_in

_TELLING = r"trace|profile|(?:^|[-_.])(?:rank|TP)[-_]?\d"


@dataclass(frozen=True, slots=True)
class Identity:
    """What a first look says: `digest` is None when the content could not be read, `refusal` why it is no good."""

    source: Source
    digest: str | None
    rank: int | None = None
    world_size: int | None = None
    refusal: str = ""
    code: str = "unreadable_input"

    @property
    def trace_id(self) -> str | None:
        """The key of the trace: its content and the rank its name gives, which the content may not."""
        if self.digest is None:
            return None
        named = rank_in(self.source.name)
        return hashlib.blake2b(f"{self.digest} {named}".encode(), digest_size=16).hexdigest()


def identify(source: Source) -> tuple[Identity, ...]:
    """The traces in a source: one, several in an archive, none when it is something else."""
    try:
        return _identified(source)
    except ENDS:
        raise
    except BaseException as error:  # noqa: BLE001  (a bug met by one file must not cost the others)
        code, reason = unforeseen(error, source.relative)
        return (Identity(source, None, refusal=reason, code=code),)


def _identified(source: Source) -> tuple[Identity, ...]:
    if source.closed:
        refusal = f"{source.relative}: a folder that cannot be listed, with all traces in it"
        return (Identity(source, None, refusal=refusal, code="unreachable"),)
    try:
        return tuple(_remote(source) if is_url(source.address) else _looked_at(source, Path(source.address)))
    except (InputError, OSError) as error:
        message = error.line() if isinstance(error, InputError) else f"cannot be read ({error.strerror})"
        reason = f"{source.relative}: {message.removeprefix(f'{source.address}: ')}"
        return (Identity(source, None, refusal=reason, code="unreachable"),) if _maybe(source) else ()


def _telling(source: Source) -> bool:
    """Whether the name says that this ought to be a trace."""
    named = re.search(_TELLING, source.name, re.IGNORECASE)
    return named is not None or _ends(source.name, (*readers.suffixes(own=True), *OWN_SUFFIXES))


def _maybe(source: Source) -> bool:
    """Whether the name says that this could be a trace."""
    return _telling(source) or _ends(source.name, readers.suffixes())


def _ends(name: str, suffixes: Sequence[str]) -> bool:
    """Whether a name ends so, packed or not."""
    lower = name.lower()
    return any(lower.endswith(f"{suffix}{packing}") for suffix in suffixes for packing in ("", *PACKINGS))


def _looked_at(source: Source, path: Path) -> Iterator[Identity]:
    seen = None if table_names(path) else probe_safely(path)
    if seen is not None and is_archive(seen.data, seen.compression):
        yield from _members(source, path)
        return
    found = _judged(source, path)
    if found is not None:
        yield replace(found, digest=digest_of(path))


def probe_safely(path: Path) -> Head | None:
    """The first bytes; None where the tables of a database cannot be read (which says why later)."""
    try:
        seen = probe(path)
    except InputError:
        return None
    return Head(path, seen.data, seen.compression, seen.size_bytes, seen.tables)


def _members(source: Source, path: Path) -> Iterator[Identity]:
    """Every trace in an archive; what was read before damage stays, and of two with one name the later counts."""
    found: list[Identity] = []
    last: dict[str | None, int] = {}
    try:
        for each in members(path):
            last[each.name] = each.index
            relative, size = f"{source.relative}{MEMBER}{each.name}", each.path.stat().st_size
            inside = replace(source, relative=relative, member=each.name, index=each.index, size_bytes=size)
            one = _member(inside, each.path)
            if one is not None:
                found.append(replace(one, digest=digest_of(each.path)))
    except InputError as error:
        code = "unreachable" if isinstance(error, NoRoomError) else "unreadable_input"
        yield Identity(source, digest_of(path), refusal=_placed(error.line(), path, source), code=code)
    for one in found:
        again = f"{one.source.relative}: stands twice in the archive, and the later one counts"
        yield one if last[one.source.member] == one.source.index else replace(one, refusal=again)


def _member(inside: Source, path: Path) -> Identity | None:
    """One member of an archive; archives in archives are refused where they ought to be traces."""
    seen = probe_safely(path)
    if seen is None or not is_archive(seen.data, seen.compression):
        return _judged(inside, path)
    if not _telling(inside):
        return None
    return Identity(inside, None, refusal=f"{inside.relative}: an archive inside an archive")


def _judged(source: Source, path: Path) -> Identity | None:
    """A trace, a refusal of what ought to be one, or None for anything else."""
    try:
        head = head_of(path)
        refuse_known(head)
        if readers.recognising(head):
            rank, world = job_facts(head.data)
            return Identity(source, None, rank if rank is not None else rank_in(source.name), world)
        refuse_named(head)
    except InputError as error:
        return (
            Identity(source, None, rank_in(source.name), refusal=_placed(error.line(), path, source))
            if _maybe(source)
            else None
        )
    if not _telling(source):
        return None
    refusal = f"{source.relative}: no format that can be read (found {description(head)})"
    return Identity(source, None, rank_in(source.name), refusal=refusal)


def _placed(line: str, path: Path, source: Source) -> str:
    """The message with the place people know instead of a temporary path."""
    return line.replace(str(path), source.relative)


def _remote(source: Source) -> Iterator[Identity]:
    """As for a local file, by its first bytes and the checksum of the store; archives are fetched whole."""
    system, path = file_system(source.address)
    with reading_from(source.address):
        first = system.cat_file(path, start=0, end=PROBE_BYTES) if source.size_bytes else b""
    digest = hashlib.blake2b(f"{source.checksum} {source.size_bytes}".encode(), digest_size=16).hexdigest()
    with scratch_folder(source.address) as folder:
        head = folder / source.name
        with error_when_full(source.address):
            head.write_bytes(first)
        if first.startswith(MAGIC):
            yield Identity(source, digest, rank_in(source.name))
            return
        seen = probe_safely(head)
        if seen is not None and is_archive(seen.data, seen.compression):
            with fetched(source.address) as whole:
                yield from _members(source, whole)
            return
        found = _judged(source, head)
    if found is not None:
        yield replace(found, digest=digest)
