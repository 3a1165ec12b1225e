"""The cache of large traces: the same trace as without it, and a miss whenever there is any doubt."""

from __future__ import annotations

import multiprocessing
import os
import shutil
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path

import polars as pl
import pytest

import trace_budget as tb
from trace_budget import api
from trace_budget.contracts import Reader, ReadOptions
from trace_budget.inputs import cache
from trace_budget.inputs.detect import detect
from trace_budget.schema.trace import Trace

SAMPLES = Path(__file__).parents[2] / "sample_traces"
FILES = (
    "kineto/gdn_decode_gfx936.json.gz",
    "broken/kineto_truncated.json.gz",
    "rocpd/same_run.db",
    "nsys_sqlite/same_run.sqlite",
    "hipprof_json/same_run.html",
    "kernel_stats_csv/rocprofv3_kernel_stats.csv",
    "rocprof_v1_csv/same_run.csv",
)
OPTIONS = ReadOptions(cache=True)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A cache of its own, in which traces of any size and age are kept."""
    folder = tmp_path / "home"
    monkeypatch.setenv(cache.FOLDER_VARIABLE, str(folder))
    monkeypatch.setattr(cache, "SMALLEST_BYTES", 1)
    monkeypatch.setattr(cache, "_SETTLED_NS", -(10**12))
    yield folder
    assert not list(folder.glob("traces/.*")), "a half-written entry was left"


def unreadable(reader: Reader) -> Reader:
    """The same format, from a reader that fails when it is asked to read."""

    def read(path: Path, options: ReadOptions) -> Trace:
        raise AssertionError(f"{path} was parsed again with {options}")

    return replace(reader, read=read)


def assert_same(one: Trace, other: Trace) -> None:
    for field in fields(Trace):
        left, right = getattr(one, field.name), getattr(other, field.name)
        if isinstance(left, pl.DataFrame):
            assert left.schema.names() == right.schema.names()
            assert left.equals(right), field.name
        else:
            assert left == right, field.name


def entries(home: Path) -> list[Path]:
    return sorted((home / "traces").glob("*"))


def copy_of(name: str, folder: Path) -> Path:
    return Path(shutil.copy(SAMPLES / name, folder))


@pytest.mark.parametrize("name", FILES)
def test_the_second_look_gives_the_same_trace_and_parses_nothing(name: str, tmp_path: Path) -> None:
    path = copy_of(name, tmp_path)
    reader = detect(path)
    first = cache.read_cached(reader, path, OPTIONS)
    assert_same(first, reader.read(path, OPTIONS))
    assert_same(cache.read_cached(unreadable(reader), path, OPTIONS), first)


def test_analyses_say_the_same_with_and_without(tmp_path: Path) -> None:
    path = copy_of(FILES[0], tmp_path)
    told = [tb.kernels(api.open_trace(path, cache=kept)).document for kept in (False, True, True)]
    assert told[0] == told[1] == told[2]


def test_a_touched_or_moved_file_is_known_by_its_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = copy_of(FILES[0], tmp_path)
    reader = detect(path)
    cache.read_cached(reader, path, OPTIONS)
    os.utime(path, (1, 1))
    assert cache.read_cached(unreadable(reader), path, OPTIONS).path == str(path)
    (tmp_path / "elsewhere").mkdir()
    moved = path.rename(tmp_path / "elsewhere" / path.name)
    assert cache.read_cached(unreadable(reader), moved, OPTIONS).path == str(moved)
    monkeypatch.setattr(cache, "_SETTLED_NS", 10**15)
    assert cache.read_cached(unreadable(reader), moved, OPTIONS).path == str(moved)


def test_a_changed_file_of_the_same_size_and_time_is_read_again(tmp_path: Path) -> None:
    path = copy_of("kineto/same_run.json", tmp_path)
    reader, times = detect(path), path.stat()
    before = cache.read_cached(reader, path, OPTIONS)
    text = path.read_bytes()
    name = before.gpu_ops["name"].cast(pl.String)[0].encode()
    path.write_bytes(text.replace(name, name[:-1] + b"~"))
    os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
    after = cache.read_cached(reader, path, OPTIONS)
    assert path.stat().st_size == times.st_size
    assert after.gpu_ops["name"].cast(pl.String)[0].endswith("~")
    assert_same(after, reader.read(path, OPTIONS))


@pytest.mark.parametrize("change", ["rank", "name", "readers"])
def test_what_a_trace_depends_on_beside_its_content_is_part_of_the_key(
    change: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = copy_of(FILES[0], tmp_path)
    reader = detect(path)
    cache.read_cached(reader, path, OPTIONS)
    options = replace(OPTIONS, rank=7) if change == "rank" else OPTIONS
    if change == "name":
        path = path.rename(tmp_path / "x-rank5.json.gz")
    if change == "readers":
        monkeypatch.setattr(cache, "_readers", lambda: "a newer version")
    with pytest.raises(AssertionError, match="parsed again"):
        cache.read_cached(unreadable(reader), path, options)
    assert_same(cache.read_cached(reader, path, options), reader.read(path, options))


@pytest.mark.parametrize("part", ["gpu_ops.parquet", "trace.parquet", "engine.txt"])
@pytest.mark.parametrize("damage", ["cut", "gone", "garbage"])
def test_a_damaged_entry_is_a_miss_and_heals(part: str, damage: str, tmp_path: Path, home: Path) -> None:
    path = copy_of(FILES[0], tmp_path)
    reader = detect(path)
    first = cache.read_cached(reader, path, OPTIONS)
    file = entries(home)[0] / part
    data = file.read_bytes()
    file.unlink()
    if damage != "gone":
        file.write_bytes(data[: len(data) // 2] if damage == "cut" and part != "engine.txt" else b"\xff" * len(data))
    assert_same(cache.read_cached(reader, path, OPTIONS), first)
    assert_same(cache.read_cached(unreadable(reader), path, OPTIONS), first)


def test_nothing_is_kept_when_it_is_off_too_small_or_open_to_others(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = copy_of(FILES[0], tmp_path)
    api.open_trace(path)
    assert not home.exists()
    home.mkdir()
    home.chmod(0o777)
    api.open_trace(path, cache=True)
    assert not any((home / "traces").glob("*"))
    home.chmod(0o700)
    monkeypatch.setattr(cache, "SMALLEST_BYTES", path.stat().st_size + 1)
    api.open_trace(path, cache=True)
    assert not entries(home)
    monkeypatch.setenv(cache.FOLDER_VARIABLE, cache.OFF)
    assert cache.cache_folder() is None
    monkeypatch.setenv(cache.FOLDER_VARIABLE, str(path / "below" / "a file"))
    monkeypatch.setattr(cache, "SMALLEST_BYTES", 1)
    assert api.open_trace(path, cache=True).gpu_ops.height


def test_the_folder_is_the_users_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(cache.FOLDER_VARIABLE)
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert cache.cache_folder() == Path("/somewhere/trace-budget")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert cache.cache_folder() == Path.home() / ".cache" / "trace-budget"


def test_files_read_together_with_others_and_folders_are_not_kept(home: Path) -> None:
    beside = next((SAMPLES / "rocprofv3_csv").rglob("*_kernel_trace.csv"))
    api.open_trace(beside, cache=True)
    api.open_trace(SAMPLES / "nsys_parquetdir" / "same_run", cache=True)
    assert not entries(home)


def test_it_stays_within_its_size_and_drops_the_longest_unused(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [copy_of(name, tmp_path) for name in FILES[:3]]
    for age, path in enumerate(paths[:2]):
        api.open_trace(path, cache=True)
        os.utime(max(entries(home), key=lambda entry: entry.stat().st_mtime), (age + 1, age + 1))
    oldest = min(entries(home), key=lambda entry: entry.stat().st_mtime)
    monkeypatch.setattr(cache, "MOST_BYTES", cache.held_bytes(home))
    api.open_trace(paths[2], cache=True)
    assert oldest not in entries(home)
    assert cache.held_bytes(home) <= cache.MOST_BYTES
    monkeypatch.setattr(cache, "MOST_BYTES", 1)
    newest = max(entries(home), key=lambda entry: entry.stat().st_mtime)
    cache._trim(home, newest)
    assert entries(home) == [newest]


def test_what_a_killed_run_left_is_removed_when_it_is_old(tmp_path: Path, home: Path) -> None:
    old, young = home / "traces" / ".old.part", home / "traces" / ".young.part"
    for folder in (old, young):
        folder.mkdir(parents=True)
    os.utime(old, (1, 1))
    api.open_trace(copy_of(FILES[0], tmp_path), cache=True)
    assert not old.exists()
    assert young.exists()
    young.rmdir()


def test_notes_of_files_seen_are_bounded(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "MOST_SEEN", 3)
    seen = home / "seen"
    seen.mkdir(parents=True)
    for number, name in enumerate(("a", "b", "c", "d", ".half.part")):
        (seen / name).write_text("{}")
        os.utime(seen / name, (number + 1, number + 1))
    (seen / ".fresh.part").write_text("")
    (home / "traces").mkdir()
    cache._trim(home, home)
    assert sorted(note.name for note in seen.iterdir()) == [".fresh.part", "d"]


def _read_often(path: str, folder: str) -> int:
    os.environ[cache.FOLDER_VARIABLE] = folder
    cache.SMALLEST_BYTES = 1
    cache.MOST_BYTES = 1
    return sum(api.open_trace(path, cache=True).gpu_ops.height for _ in range(5))


def test_processes_that_read_write_and_drop_at_once_all_get_their_trace(tmp_path: Path, home: Path) -> None:
    paths = [str(copy_of(name, tmp_path)) for name in (FILES[0], FILES[2])] * 2
    expected = [5 * api.open_trace(path).gpu_ops.height for path in paths]
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        assert pool.starmap(_read_often, [(path, str(home)) for path in paths]) == expected


def test_a_file_that_changes_while_it_is_read_is_not_kept(tmp_path: Path, home: Path) -> None:
    path = copy_of(FILES[0], tmp_path)
    reader = detect(path)

    def slow(place: Path, options: ReadOptions) -> Trace:
        trace = reader.read(place, options)
        with place.open("ab") as file:
            file.write(b" ")
        return trace

    cache.read_cached(replace(reader, read=slow), path, OPTIONS)
    assert not entries(home)


@pytest.mark.parametrize("suffix", ["-wal", "-journal"])
def test_a_database_with_pending_changes_is_not_kept_nor_found(suffix: str, tmp_path: Path, home: Path) -> None:
    path = copy_of("nsys_sqlite/same_run.sqlite", tmp_path)
    path.with_name(path.name + suffix).write_bytes(b"")
    api.open_trace(path, cache=True)
    assert not entries(home)


def test_entries_that_changed_places_are_misses(tmp_path: Path, home: Path) -> None:
    paths = [copy_of(name, tmp_path) for name in (FILES[0], FILES[2])]
    fresh = [api.open_trace(path, cache=True) for path in paths]
    one, other = entries(home)
    one.rename(home / "traces" / "aside")
    other.rename(one)
    (home / "traces" / "aside").rename(other)
    for path, trace in zip(paths, fresh, strict=True):
        assert_same(api.open_trace(path, cache=True), trace)


@pytest.mark.parametrize("table", ["gpu_ops", "calls", "markers"])
def test_one_changed_bit_is_a_miss(table: str, tmp_path: Path, home: Path) -> None:
    path = copy_of(FILES[0], tmp_path)
    fresh = api.open_trace(path, cache=True)
    (entry,) = entries(home)
    file = entry / f"{table}.parquet"
    data = bytearray(file.read_bytes())
    data[len(data) // 3] ^= 4
    file.write_bytes(data)
    assert_same(api.open_trace(path, cache=True), fresh)


@pytest.mark.parametrize("name", ["TRACE_BUDGET_INFLATE_LIMIT", "TRACE_BUDGET_NO_ACCELERATOR"])
def test_limits_and_engines_are_part_of_the_key(
    name: str, tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = copy_of(FILES[0], tmp_path)
    api.open_trace(path, cache=True)
    monkeypatch.setenv(name, "100000000")
    api.open_trace(path, cache=True)
    assert len(entries(home)) == 2


def test_a_user_without_a_home_has_no_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless(path: Path) -> Path:
        raise RuntimeError(path)

    monkeypatch.delenv(cache.FOLDER_VARIABLE)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "expanduser", homeless)
    assert cache.cache_folder() is None
    assert api.open_trace(copy_of(FILES[0], tmp_path), cache=True).gpu_ops.height


def test_notes_nested_without_end_and_closed_folders_are_misses(tmp_path: Path, home: Path) -> None:
    path = copy_of(FILES[0], tmp_path)
    fresh = api.open_trace(path, cache=True)
    for note in (home / "seen").iterdir():
        note.write_text("[" * 200_000)
    assert_same(api.open_trace(path, cache=True), fresh)
