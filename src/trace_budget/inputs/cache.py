"""Large traces read before, kept as tables: a second look at the same content does not parse it again.

Keyed by all bytes of the file, its name, the options, and the readers themselves; bounded in size, the longest unused
goes first; safe to delete at any time. Whatever goes wrong here is a miss, never an error and never another trace.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import stat
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path

from trace_budget._version import VERSION
from trace_budget.contracts import Reader, ReadOptions
from trace_budget.inputs.digest import beside, digest_of
from trace_budget.inputs.same_run import is_companion
from trace_budget.schema.trace import Trace

FOLDER_VARIABLE = "TRACE_BUDGET_CACHE"
OFF = "off"
SMALLEST_BYTES = 1 << 20
MOST_BYTES = 2 << 30
MOST_SEEN = 10_000
_SETTLED_NS = 2_000_000_000
_STALE_SECONDS = 3_600
_ENGINE, _SUMS = "engine.txt", "sums.json"
_SETTINGS = ("TRACE_BUDGET_INFLATE_LIMIT", "TRACE_BUDGET_NO_ACCELERATOR")

Stamp = list[int]


def cache_folder() -> Path | None:
    """Where traces are kept: $TRACE_BUDGET_CACHE, else the user's cache folder; None when that variable says `off`."""
    named = os.environ.get(FOLDER_VARIABLE)
    if named and named.lower() == OFF:
        return None
    if named:
        return Path(named)
    with suppress(RuntimeError):  # a user without a home, as in containers
        return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "trace-budget"
    return None


def read_cached(reader: Reader, path: Path, options: ReadOptions) -> Trace:
    """What `reader.read` gives, from the cache when this content was read before. Raises what the reader raises."""
    home = cache_folder()
    stamp: Stamp | None = None
    with suppress(Exception):
        alone = not beside(path) and not is_companion(path.name)  # else content elsewhere is read as well
        stamp = _stamp(path) if home is not None and alone and _usable(home) else None
    if home is None or stamp is None:
        return reader.read(path, options)
    with suppress(Exception):
        digest = _digest_of_known(home, path, stamp)
        if digest is not None and (trace := _kept(_entry(home, digest, reader, path, options), path)):
            return trace
    with ThreadPoolExecutor(1) as side:
        hashed = side.submit(digest_of, path)
        trace = reader.read(path, options)
    with suppress(Exception):
        if stamp == _stamp(path):
            _keep(home, _entry(home, hashed.result(), reader, path, options), trace)
            _remember(home, path, stamp, hashed.result())
    return trace


def held_bytes(home: Path) -> int:
    """The size of all that is kept."""
    return sum(size for _, size, _ in _entries(home))


def _stamp(path: Path) -> Stamp | None:
    """What changes whenever a file changes; None for what is too small to be kept, and for what is no plain file."""
    try:
        status = path.stat()
    except OSError:
        return None
    pending = any(os.path.lexists(f"{path}-{part}") for part in ("wal", "journal"))
    if not stat.S_ISREG(status.st_mode) or status.st_size < SMALLEST_BYTES or pending:
        return None
    return [status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns]


def _usable(home: Path) -> bool:
    """Whether the folder is there, or can be made, and nobody else can put anything into it."""
    rooms = (home, home / "traces", home / "seen")
    try:
        for room in rooms:
            room.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = [room.stat() for room in rooms]
    except OSError:
        return False
    return all(each.st_uid == os.getuid() and not each.st_mode & 0o022 for each in status)


def _digest_of_known(home: Path, path: Path, stamp: Stamp) -> str | None:
    """The digest of a file seen before; None when no trace of its size is kept, so that hashing would show nothing."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        seen = json.loads(_memo(home, path).read_text(encoding="utf-8"))
        if seen["stamp"] == stamp:
            return str(seen["digest"])
    if any((home / "traces").glob(f"{stamp[2]}-*")):
        with suppress(OSError):
            return digest_of(path)
    return None


def _remember(home: Path, path: Path, stamp: Stamp, digest: str) -> None:
    """Note the digest of a file, unless it changed so recently that its times would not show a further change."""
    if time.time_ns() - max(stamp[3:]) > _SETTLED_NS:
        fresh = home / "seen" / f".{os.getpid()}-{time.monotonic_ns()}.part"
        fresh.write_text(json.dumps({"stamp": stamp, "digest": digest}), encoding="utf-8")
        fresh.replace(_memo(home, path))


def _memo(home: Path, path: Path) -> Path:
    return home / "seen" / hashlib.blake2b(os.fsencode(path.resolve()), digest_size=16).hexdigest()


def _entry(home: Path, digest: str, reader: Reader, path: Path, options: ReadOptions) -> Path:
    settings = [os.environ.get(name) for name in _SETTINGS]
    asked = f"{reader.name}\n{path.name}\n{options.rank}\n{options.trace_processor}\n{settings}\n{_readers()}\n{digest}"
    key = hashlib.blake2b(asked.encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()
    return home / "traces" / f"{path.stat().st_size}-{key}"


@cache
def _readers() -> str:
    """The version, and the state of the source files a trace is made by: a changed reader must not find old traces."""
    rooms = (Path(__file__).parents[1] / room for room in ("inputs", "io", "readers", "schema"))
    files = sorted(file for room in rooms for file in room.rglob("*.*") if file.is_file())
    return ";".join([VERSION, *(f"{f.name} {f.stat().st_size} {f.stat().st_mtime_ns}" for f in files)])


def _kept(entry: Path, path: Path) -> Trace | None:
    """The trace of an entry; one that cannot be read is removed."""
    if not entry.is_dir():
        return None
    from trace_budget.readers.ingested import READER

    try:
        if (
            _sums(entry.name, {f.name: f.read_bytes() for f in entry.iterdir() if f.name != _SUMS})
            != (entry / _SUMS).read_bytes()
        ):
            raise ValueError(entry)
        trace = READER.read(entry, ReadOptions())
        engine = (entry / _ENGINE).read_text(encoding="utf-8") or None
        os.utime(entry)
    except Exception:  # noqa: BLE001  (a cache that cannot be read must not cost the answer)
        shutil.rmtree(entry, ignore_errors=True)
        return None
    return replace(trace, path=str(path), engine=engine)


def _sums(entry: str, files: Mapping[str, bytes]) -> bytes:
    """What shows that an entry is whole and where it was put: its name and a digest of each of its files."""
    sums = {name: hashlib.sha256(data).hexdigest() for name, data in sorted(files.items())}
    return json.dumps({"entry": entry, "files": sums}).encode()


def _keep(home: Path, entry: Path, trace: Trace) -> None:
    from trace_budget.io.new_folder import write_folder
    from trace_budget.schema.ingested import to_files

    if not entry.exists():
        files = to_files(trace) | {_ENGINE: (trace.engine or "").encode()}
        write_folder(entry, {**files, _SUMS: _sums(entry.name, files)})
    _trim(home, entry)


def _trim(home: Path, newest: Path) -> None:
    """Remove what is longest unused until the rest is small enough, and what killed runs left half-written."""
    entries = sorted(_entries(home))
    held = sum(size for _, size, _ in entries)
    for used, size, entry in entries:
        left_over = entry.name.startswith(".") and time.time() - used > _STALE_SECONDS
        if left_over or (held > MOST_BYTES and entry != newest):
            shutil.rmtree(entry, ignore_errors=True)
            held -= size
    _trim_seen(home)


def _trim_seen(home: Path) -> None:
    """Remove the oldest notes when there are too many, and those that killed runs left half-written."""
    with suppress(OSError):
        notes = sorted((note.stat().st_mtime, note) for note in (home / "seen").iterdir())
        for place, (noted, note) in enumerate(reversed(notes)):
            if place >= MOST_SEEN or (note.name.startswith(".") and time.time() - noted > _STALE_SECONDS):
                note.unlink(missing_ok=True)


def _entries(home: Path) -> list[tuple[float, int, Path]]:
    """When each entry was last used, its size, and its folder."""
    found: list[tuple[float, int, Path]] = []
    with suppress(OSError):
        for entry in (home / "traces").iterdir():
            with suppress(OSError):
                size = sum(file.stat().st_size for file in entry.iterdir())
                found.append((entry.stat().st_mtime, size, entry))
    return found
