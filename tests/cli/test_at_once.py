"""What a person should not have to find out one after the other; and a trace that comes by standard input."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from cli.conftest import Result
from trace_budget.io.stdin_file import searchable

SEED = Path(__file__).parents[2] / "sample_traces" / "kineto" / "gdn_decode_gfx936.json.gz"
Run = Callable[..., Result]


def test_an_ambiguous_kernel_and_a_missing_saving_are_said_together(run: Run) -> None:
    done = run("project", SEED, "--kernel", "gdn_")
    assert done.code == 2
    assert ("saving is needed" in done.line, "several kernels" in done.line) == (True, True)
    assert [line.split()[1] for line in done.err.splitlines()[1:]] == ["gdn_out_proj", "gdn_fused"]
    assert "saving is needed" in run("project", SEED, "--kernel", "gdn_fused").line


def piped(monkeypatch: pytest.MonkeyPatch, data: bytes, terminal: bool = False) -> None:
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(data), isatty=lambda: terminal))


def test_a_trace_by_standard_input_is_the_same(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    piped(monkeypatch, SEED.read_bytes())
    asked = ("--kernel", "gdn_fused", "--saving-us", "3.228", "--format", "json")
    told, direct = (json.loads(run("project", path, *asked).out) for path in ("-", SEED))
    assert told["trace"]["path"] == "-"
    assert {**told, "trace": None} == {**direct, "trace": None}


@pytest.mark.parametrize(("data", "terminal"), [(b"", False), (b"{}", True)])
def test_nothing_by_standard_input_is_named(
    run: Run, monkeypatch: pytest.MonkeyPatch, data: bytes, terminal: bool
) -> None:
    piped(monkeypatch, data, terminal)
    done = run("kernels", "-")
    assert (done.code, "nothing comes by standard input" in done.line) == (3, True)


def test_the_copy_is_gone_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    piped(monkeypatch, b"text")
    with searchable("-") as copy:
        assert Path(copy).read_bytes() == b"text"
    assert not Path(copy).exists()
    with searchable("a.json") as path:
        assert path == "a.json"
