"""Where answers go: format by option or suffix, files whole and never overwritten, stdout for data only."""

import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from cli.fakes import FakeApi

Run = Callable[..., Any]
pytestmark = pytest.mark.usefixtures("api")


def test_the_table_is_the_default_and_holds_the_caveats(run: Run) -> None:
    result = run("kernels", "t.json")
    assert result.code == 0
    assert result.err == ""
    assert result.out.decode().splitlines()[0] == "the answer"
    assert "warning profiled: a profiled step" in result.out.decode()
    assert b"\x1b" not in result.out


def test_format_option_wins_over_the_suffix(run: Run, tmp_path: Path) -> None:
    assert run("kernels", "t.json", "-o", tmp_path / "a.csv", "--format", "json").code == 0
    assert json.loads((tmp_path / "a.csv").read_text())["schema"] == "trace-budget/verdict/1"


@pytest.mark.parametrize("suffix", [".json", ".csv", ".md", ".txt", ".parquet"])
def test_the_suffix_chooses_and_the_path_is_told(run: Run, tmp_path: Path, suffix: str) -> None:
    result = run("kernels", "t.json", "-o", tmp_path / f"a{suffix}")
    assert result.code == 0
    assert result.out == b""
    assert f"Wrote {tmp_path}/a{suffix}" in result.err
    data = (tmp_path / f"a{suffix}").read_bytes()
    starts = {".json": b"{", ".csv": b"kernel,mean_us", ".md": b"### the", ".txt": b"the answer", ".parquet": b"PAR1"}
    assert data.startswith(starts[suffix])


def test_csv_and_parquet_tell_the_caveats_they_cannot_hold(run: Run) -> None:
    assert run("kernels", "t.json", "--format", "csv").line == "warning: a profiled step"
    assert run("kernels", "t.json", "--format", "json").err == ""
    assert run("kernels", "t.json", "--format", "csv", "-q").err == ""


def test_parquet_on_a_pipe_is_data_only(run: Run, tmp_path: Path) -> None:
    result = run("kernels", "t.json", "--format", "parquet", "-q")
    (tmp_path / "x.parquet").write_bytes(result.out)
    assert pl.read_parquet(tmp_path / "x.parquet")["mean_us"].to_list() == [20.27239]


def test_verbose_says_what_was_read(run: Run) -> None:
    assert run("kernels", "t.json", "-v").line.startswith("Read t.json: kineto, 0 GPU ops, ")


def test_an_existing_output_is_refused_before_the_trace_is_read(run: Run, api: FakeApi, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("precious")
    result = run("kernels", "t.json", "-o", "a.json")
    assert result.code == 5
    assert "a.json: already exists, left as it is. Give --force" in result.line
    assert api.asked == {}
    assert run("kernels", "t.json", "-o", "a.json", "--force", "-q").err == ""
    assert (tmp_path / "a.json").read_text() != "precious"


@pytest.mark.parametrize(("path", "code"), [("a.docx", 2), ("a", 2), ("no/a.json", 5), (".", 5)])
def test_outputs_that_cannot_work_are_refused_first(run: Run, api: FakeApi, path: str, code: int) -> None:
    result = run("kernels", "t.json", "-o", path, *(["--format", "json"] if path == "." else []))
    assert result.code == code
    assert result.line.startswith("trace-budget: ")
    assert api.asked == {}


def on_a_terminal(*arguments: str, **environment: str) -> tuple[int, str]:
    """Run `doctor` with a pseudo terminal of 80 columns as stdout and stderr."""
    main, side = pty.openpty()
    command = [sys.executable, "-m", "trace_budget", "doctor", *arguments]
    clean = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "COLUMNS", "TERM")}
    environment = {**clean, "TERM": "xterm", "COLUMNS": "80", **environment}
    done = subprocess.run(command, stdout=side, stderr=side, env=environment, check=False)
    os.close(side)
    text = b""
    while block := _read(main):
        text += block
    os.close(main)
    return done.returncode, text.decode()


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65536)
    except OSError:  # the other side is closed and all is read
        return b""


def test_a_terminal_gets_colour_unless_it_declines() -> None:
    assert "\x1b[" in on_a_terminal()[1]
    assert "\x1b[" not in on_a_terminal(NO_COLOR="1")[1]
    assert "\x1b[" not in on_a_terminal(TERM="dumb")[1]


def test_binary_is_refused_on_a_terminal() -> None:
    code, text = on_a_terminal("--format", "parquet")
    assert code == 5
    assert text.strip() == (
        "trace-budget: parquet is binary and cannot be shown in a terminal. Give -o FILE, or pipe it."
    )
