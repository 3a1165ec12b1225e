"""Ctrl-C and SIGTERM while a command writes: exit 130 or 143, not a word, no half-written file and no temporary one."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from safety.tree import files_below

SAMPLES = Path(__file__).resolve().parents[2] / "sample_traces"
TRACE = SAMPLES / "kineto" / "same_run.json"
SAVING = ("--kernel", "paged_attention", "--saving-us", "3")
# makes bytes sure as slowly as a busy disk; a write that is under way may end before the command does
SLOW_DISK = """
import os, sys, time
whole = os.fsync
def slow(descriptor):
    print("ready", flush=True)
    time.sleep(2)
    whole(descriptor)
os.fsync = slow
from trace_budget.__main__ import main
sys.exit(main(sys.argv[1:]))
"""
COMMANDS = {
    "project": ("project", TRACE, *SAVING, "-o", "answer.json"),
    "project over an old answer": ("project", TRACE, *SAVING, "-o", "old.json", "--force"),
    "kernels": ("kernels", TRACE, "-o", "kernels.parquet"),
    "report": ("report", TRACE, *SAVING, "-o", "page.html"),
    "plot": ("project", TRACE, *SAVING, "--plot", "curve.svg"),
    "timeline": ("timeline", TRACE, *SAVING, "-o", "steps.pftrace"),
    "ingest": ("ingest", TRACE, "-o", "tables"),
    "batch": ("batch", SAMPLES / "kineto", *SAVING, "--engine", "here", "-q", "-o", "dataset"),
}


def slowly(*arguments: object) -> list[str]:
    return [sys.executable, "-c", SLOW_DISK, *map(str, arguments)]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["int", "term"])
@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_that_is_stopped_while_it_writes(tmp_path: Path, name: str, number: int, code: int) -> None:
    work, scratch = tmp_path / "work", tmp_path / "scratch"
    work.mkdir()
    scratch.mkdir()
    (work / "old.json").write_text("old")
    environment = os.environ | {"TMPDIR": str(scratch), "TRACE_BUDGET_CACHE": "off"}
    with subprocess.Popen(
        slowly(*COMMANDS[name]),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=work,
        env=environment,
    ) as running:
        assert running.stdout is not None
        assert "ready\n" in iter(running.stdout.readline, "")
        running.send_signal(number)
        _, err = running.communicate(timeout=120)
    assert (running.returncode, err) == (code, "")
    left = {path: data for path, data in files_below(work).items() if not path.startswith("dataset/table=")}
    assert left == {"old.json": b"old"}
    for finished in (work / "dataset").glob("table=*/**/*.parquet"):
        assert pl.read_parquet(finished, hive_partitioning=False).height
    assert list(scratch.iterdir()) == []


def test_a_stopped_batch_goes_on_where_it_was(tmp_path: Path) -> None:
    """The run after a killed one ends in the same dataset as one that was never stopped."""
    whole, halted = tmp_path / "whole", tmp_path / "halted"
    asked = [str(word) for word in COMMANDS["batch"][:-1]]
    command = [sys.executable, "-m", "trace_budget", *asked]
    assert subprocess.run([*command, str(whole)], check=False, capture_output=True).returncode == 0
    for number in (signal.SIGKILL, signal.SIGTERM):
        with subprocess.Popen(
            slowly(*asked, halted), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        ) as running:
            assert running.stdout is not None
            assert "ready\n" in iter(running.stdout.readline, "")
            running.send_signal(number)
            running.communicate(timeout=120)
    assert subprocess.run([*command, str(halted)], check=False, capture_output=True).returncode == 0
    tables = {path: data for path, data in files_below(whole).items() if path.startswith("table=")}
    assert tables
    assert {path: data for path, data in files_below(halted).items() if path.startswith("table=")} == tables
