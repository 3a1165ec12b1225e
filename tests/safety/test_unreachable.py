"""Paths that cannot even be looked at (a closed folder above, a name too long, a name that is no text): one line."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from formats.answers import SAMPLES, said

TRACE = SAMPLES / "kineto/same_run.json"
DATABASE = SAMPLES / "rocpd/same_run.db"
LONG = "N" * 300
# root passes every closed door unless it gives up these
MORTAL = ("setpriv", "--bounding-set=-dac_override,-dac_read_search")


@pytest.fixture
def closed(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "closed"
    (folder / "inside").mkdir(parents=True)
    shutil.copyfile(TRACE, folder / "inside/t.json")
    folder.chmod(0)
    yield folder
    folder.chmod(0o700)


def as_mortal(*arguments: object) -> subprocess.CompletedProcess[str]:
    if os.geteuid() == 0 and shutil.which(MORTAL[0]) is None:
        pytest.skip("root, and no setpriv")
    command = [*(MORTAL if os.geteuid() == 0 else ()), sys.executable, "-m", "trace_budget", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("command", ["kernels", "check", "steps"])
def test_a_trace_below_a_closed_folder(closed: Path, command: str) -> None:
    done = as_mortal(command, closed / "inside/t.json")
    expected = f"trace-budget: {closed}/inside/t.json: cannot be opened (found Permission denied)\n"
    assert (done.returncode, done.stdout, done.stderr) == (3, "", expected)


@pytest.mark.parametrize(("command", "name"), [("kernels", "x.json"), ("kernels", "in/x.json"), ("ingest", "tables")])
def test_an_answer_below_a_closed_folder(closed: Path, command: str, name: str) -> None:
    done = as_mortal(command, TRACE, "-o", closed / name)
    expected = f"trace-budget: {closed}/{name}: cannot write: no permission to write here. Give another path.\n"
    assert (done.returncode, done.stdout, done.stderr) == (5, "", expected)


@pytest.mark.parametrize("command", [("kernels",), ("check",), ("ingest", "-o", "out")])
def test_a_trace_whose_name_is_too_long(tmp_path: Path, command: tuple[str, ...]) -> None:
    answer = said(*command, str(tmp_path / LONG))
    assert (answer.code, answer.line) == (
        3,
        f"trace-budget: {tmp_path / LONG}: cannot be opened (found File name too long)",
    )


@pytest.mark.parametrize(("command", "suffix"), [("kernels", ".json"), ("ingest", "")])
def test_an_answer_whose_name_is_too_long(tmp_path: Path, command: str, suffix: str) -> None:
    answer = said(command, str(TRACE), "-o", str(tmp_path / f"{LONG}{suffix}"))
    assert answer.code == 5
    assert answer.line.endswith("cannot write: the file name is too long. Give a shorter one.")


@pytest.mark.parametrize("source", [TRACE, DATABASE, SAMPLES / "rocprofv3_csv/same_run_kernel_trace.csv"])
@pytest.mark.parametrize("length", [251, 252, 255])
def test_the_longest_names_are_read(tmp_path: Path, source: Path, length: int) -> None:
    path = tmp_path / source.name.rjust(length, "n")
    shutil.copyfile(source, path)
    assert said("kernels", str(path), "--format", "json").code == 0


def test_a_name_that_is_no_text_is_kept_with_replacements(tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"bad\xffname.json")
    shutil.copyfile(TRACE, path)
    assert said("ingest", str(path), "-o", str(tmp_path / "out")).code == 0
    (facts,) = (tmp_path / "out").glob("trace=bad_name-*/trace.parquet")
    assert pl.read_parquet(facts, hive_partitioning=False)["source"].to_list() == [f"{tmp_path}/bad?name.json"]
    assert said("kernels", str(facts.parent), "--format", "json").code == 0


def test_a_batch_below_a_closed_folder_and_over_a_name_too_long(closed: Path, tmp_path: Path) -> None:
    asked = ("-o", tmp_path / "out", "--kernel", "x", "--saving-us", "1")
    for place in (closed / "inside", tmp_path / LONG):
        done = as_mortal("batch", place, *asked)
        expected = f"trace-budget: {place}: no such file or folder, or a folder above is closed\n"
        assert (done.returncode, done.stdout, done.stderr) == (3, "", expected)


@pytest.mark.parametrize("command", ["kernels", "check", "threshold", "steps", "report", "ingest"])
def test_a_file_nobody_may_read(tmp_path: Path, command: str) -> None:
    path = Path(shutil.copy(TRACE, tmp_path / "t.json"))
    path.chmod(0)
    done = as_mortal(command, path, *(("-o", tmp_path / "out.html") if command in ("report", "ingest") else ()))
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr == f"trace-budget: {path}: cannot be opened (found Permission denied)\n"


def test_check_goes_on_past_a_file_nobody_may_read(tmp_path: Path) -> None:
    path = Path(shutil.copy(TRACE, tmp_path / "t.json"))
    path.chmod(0)
    done = as_mortal("check", path, DATABASE)
    assert done.returncode == 3
    assert f"{DATABASE}: good" in " ".join(done.stdout.split()) or "usable" in done.stdout


def test_a_batch_goes_on_past_a_closed_folder_and_looks_again_once_it_is_open(closed: Path, tmp_path: Path) -> None:
    (tmp_path / "open").mkdir()
    shutil.copyfile(DATABASE, tmp_path / "open/t.db")
    out = tmp_path / "out"
    asked = ("batch", tmp_path, "-o", out, "--kernel", "paged_attention", "--saving-us", "1", "--engine", "here", "-q")
    rows = out / "table=failures"
    done = as_mortal(*asked)
    assert done.returncode == 3
    assert f"{tmp_path.name}/closed: a folder that cannot be listed, with all traces in it" in done.stderr
    assert pl.read_parquet(rows)["code"].to_list() == ["unreachable"]
    assert pl.read_parquet(out / "table=runs").height == 1
    closed.chmod(0o700)
    assert as_mortal(*asked).returncode == 0
    assert not list(rows.rglob("*.parquet"))
    assert pl.read_parquet(out / "table=runs").height == 2


def test_a_check_of_a_name_that_is_no_text(tmp_path: Path) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/b\xffad.json"))
    shutil.copyfile(TRACE, path)
    done = subprocess.run([sys.executable, "-m", "trace_budget", "check", path], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"/b?ad" in done.stdout


def test_a_wrong_option_names_the_help_of_its_command() -> None:
    assert said("threshold", "x", "--position", "1").line.endswith("See `trace-budget threshold --help`.")
    assert said("nonsense").line.endswith("See `trace-budget --help`.")
