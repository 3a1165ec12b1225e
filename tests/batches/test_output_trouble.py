"""A dataset that cannot be written: exit 5 in one line, and everything that was there is still there."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from batches.datasets import OPTIONS, content, finished
from trace_budget.io.store import LocalStore

TRIAL = ["unshare", "-rm", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]
MOUNTS = shutil.which("unshare") is not None and subprocess.run(TRIAL, capture_output=True, check=False).returncode == 0
needs_mounts = pytest.mark.skipif(not MOUNTS, reason="this system lets nobody mount a file system of his own")


def small_folder(few: Path, tmp_path: Path, count: int) -> Path:
    """A folder of the first traces of the few."""
    folder = tmp_path / f"first{count}"
    folder.mkdir()
    for number, path in enumerate(sorted(few.glob("*_bs*/*/*.json*"))[:count]):
        (folder / f"{number}-{path.name}").write_bytes(path.read_bytes())
    return folder


def shell(script: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    words = [str(word) for word in (sys.executable, *arguments)]
    command = ["unshare", "-rm", "bash", "-c", script, "bash", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_folder_that_cannot_be_made(few: Path) -> None:
    code, err = finished(few, Path("/proc/self/out"), "-j", "1")
    assert code == 5
    assert err.count("\n") == 1
    assert "cannot write" in err


def test_files_that_may_not_grow_leave_the_earlier_results(few: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert finished(small_folder(few, tmp_path, 2), out, "-j", "1")[0] == 0
    before = content(out)
    assert before
    script = 'ulimit -f 1; exec "$0" -m trace_budget batch "$@"'
    command = ["bash", "-c", script, sys.executable, str(few), "-o", str(out), *OPTIONS, "-q", "-j", "1"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 5
    assert (
        done.stderr
        == f"trace-budget: {out}: cannot write: the file would be larger than allowed here. Give another path.\n"
    )
    assert content(out) == before


def test_a_damaged_file_of_the_dataset_is_named(few: Path, tmp_path: Path) -> None:
    folder, out = small_folder(few, tmp_path, 2), tmp_path / "out"
    assert finished(folder, out, "-j", "1")[0] == 0
    damaged = sorted(out.glob("table=projections/**/*.parquet"))[1]
    before = content(out)
    damaged.write_bytes(damaged.read_bytes()[:-20])
    code, err = finished(folder, out, "-j", "1")
    assert code == 3
    assert err.startswith(f"trace-budget: {damaged}: cannot be read (found ")
    assert err.endswith("Remove the files of this name in all tables: the next run does its trace again.\n")
    assert err.count("\n") == 1
    for each in out.rglob(damaged.name):
        each.unlink()
    assert finished(folder, out, "-j", "1")[0] == 0
    assert content(out) == before


@needs_mounts
def test_a_full_disk_leaves_the_earlier_results(few: Path, tmp_path: Path) -> None:
    first, out, kept = small_folder(few, tmp_path, 1), tmp_path / "out", tmp_path / "kept"
    out.mkdir()
    script = """mount -t tmpfs -o size=160k tmpfs "$4"
    "$1" -m trace_budget batch "$2" -o "$4" --kernel paged_attention --saving-us 2 -q -j 1 >/dev/null || exit 100
    cp -r "$4" "$5-before"
    "$1" -m trace_budget batch "$3" -o "$4" --kernel paged_attention --saving-us 2 -q -j 1 >/dev/null
    code=$?; cp -r "$4" "$5-after"; exit $code"""
    done = shell(script, first, few, out, kept)
    assert done.returncode == 5, done.stderr
    assert "the disk is full" in done.stderr
    assert done.stderr.count("\n") == 1
    before, after = content(Path(f"{kept}-before")), content(Path(f"{kept}-after"))
    assert before
    assert before.items() <= after.items()


@needs_mounts
def test_a_dataset_that_became_read_only_can_be_read_but_not_added_to(few: Path, tmp_path: Path) -> None:
    first, out = small_folder(few, tmp_path, 1), tmp_path / "out"
    assert finished(first, out, "-j", "1")[0] == 0
    before = content(out)
    script = """mount --bind "$4" "$4" && mount -o remount,ro,bind "$4" || exit 100
    "$1" -m trace_budget batch "$2" -o "$4" --kernel paged_attention --saving-us 2 -q -j 1 >/dev/null || exit 101
    exec "$1" -m trace_budget batch "$3" -o "$4" --kernel paged_attention --saving-us 2 -q -j 1 >/dev/null"""
    done = shell(script, first, few, out)
    assert done.returncode == 5, done.stderr
    assert "the file system is read-only" in done.stderr
    assert content(out) == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_permission(few: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir(mode=0o500)
    code, err = finished(few, out, "-j", "1")
    assert (code, "no permission" in err) == (5, True)


def test_files_of_a_dataset_may_be_read_by_others(tmp_path: Path) -> None:
    mask = os.umask(0o022)
    try:
        LocalStore(str(tmp_path)).put([("table=runs/a.parquet", b"x")])
    finally:
        os.umask(mask)
    assert (tmp_path / "table=runs" / "a.parquet").stat().st_mode & 0o777 == 0o644
