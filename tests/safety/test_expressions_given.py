"""Regular expressions that would backtrack without end, wherever a user can give one: the command ends."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from formats.answers import SAMPLES

LETTERS = "a" * 60
ENDLESS = {"linear": "(?P<model>(a+)+)$", "beyond linear": "(?P<model>(?=a)(a+)+)$"}


def answer(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "trace_budget", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=100)


@pytest.fixture
def named_to_backtrack(tmp_path: Path) -> Path:
    """A trace whose path, annotations and kernels are the letter a over and over, and something else at last."""
    data = (SAMPLES / "kineto/same_run.json").read_bytes()
    for text in (b"execute_context_0(0)_generation_1(1)", b"rms_norm_kernel"):
        data = data.replace(text, f"{LETTERS}!".encode())
    path = tmp_path / f"{LETTERS}!" / f"{LETTERS}!.json"
    path.parent.mkdir()
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("kind", ENDLESS)
def test_every_option_with_an_expression_ends(named_to_backtrack: Path, kind: str, tmp_path: Path) -> None:
    pattern, trace = ENDLESS[kind], str(named_to_backtrack)
    by_kernel = answer("project", trace, "--kernel", f"re:{pattern}", "--free")
    by_step = answer("steps", trace, "--step-pattern", pattern)
    by_path = answer(
        "batch",
        str(named_to_backtrack.parent.parent),
        "-o",
        str(tmp_path / "out"),
        "--name-pattern",
        pattern,
        "-j",
        "1",
    )
    if kind == "linear":
        assert [done.returncode for done in (by_kernel, by_step, by_path)] == [4, 0, 0]
        return
    for done in (by_kernel, by_step, by_path):
        assert done.returncode == 2
        assert "takes too long" in done.stderr
        assert len(done.stderr.splitlines()) == 1
