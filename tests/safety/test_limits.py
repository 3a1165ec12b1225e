"""Inputs made to cost far more than they weigh: refused by the limit's name, in a process of bounded memory."""

from __future__ import annotations

import gzip
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from formats.answers import SAMPLES
from kineto_texts import document, kernel

MEMORY_BYTES = 1 << 30
EVENT = document([kernel("k", 1, 2)])


def refused(path: Path, **environment: str) -> str:
    """The one line with which `kernels` refuses a file, in a process that may use a gigabyte of data."""
    command = [sys.executable, "-m", "trace_budget", "kernels", str(path)]
    limit = (MEMORY_BYTES, MEMORY_BYTES)
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env={"PATH": "/usr/bin:/bin", "TRACE_BUDGET_CACHE": "off", "POLARS_MAX_THREADS": "2", **environment},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, limit),
    )
    assert (done.returncode, done.stdout) == (3, "")
    (line,) = done.stderr.splitlines()
    return line


def test_a_bomb_names_the_limit_and_how_to_lift_it(tmp_path: Path) -> None:
    path = tmp_path / "t.db.gz"
    path.write_bytes(gzip.compress((SAMPLES / "rpd/same_run.rpd").read_bytes() + bytes(300 << 20)))
    line = refused(path)
    assert "inflates too far" in line
    assert "set TRACE_BUDGET_INFLATE_LIMIT to the bytes it may grow to" in line


def test_an_override_that_is_no_number_is_told(tmp_path: Path) -> None:
    path = tmp_path / "t.json.gz"
    path.write_bytes(gzip.compress(EVENT))
    assert "TRACE_BUDGET_INFLATE_LIMIT is not a size" in refused(path, TRACE_BUDGET_INFLATE_LIMIT="much")


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("deep.json", EVENT[:-2] + b', {"ph": "X", "args": ' + b"[" * 2_000_000, "nested too deep"),
        ("string.json", EVENT[:-2] + b', {"ph": "X", "name": "' + b"k" * (200 << 20), "too long"),
        ("line.csv", b"Index,KernelName,BeginNs,EndNs\n" + b"1" * (200 << 20), "a line does not end"),
    ],
    ids=["nesting", "string", "line"],
)
def test_nesting_strings_and_lines_have_limits(tmp_path: Path, name: str, data: bytes, words: str) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    assert words in refused(path)
