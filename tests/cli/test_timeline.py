"""The command `timeline`: both formats, what it refuses, and nothing on stdout."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gpu_simulator import random_program, simulate, to_kineto
from gpu_simulator.edited import heaviest

Run = Callable[..., Any]


@pytest.fixture
def trace(tmp_path: Path) -> tuple[Path, str]:
    program = random_program("linear_graph", 3)
    to_kineto(simulate(program), tmp_path / "trace.json.gz")
    return tmp_path / "trace.json.gz", heaviest(program)[0]


def test_it_writes_both_formats_and_says_what(run: Run, trace: tuple[Path, str], tmp_path: Path) -> None:
    path, name = trace
    for out in ("a.json", "a.pftrace", "a.perfetto-trace"):
        done = run("timeline", path, "--kernel", name, "--saving-us", "1", "-o", out)
        assert (done.code, done.out) == (0, b"")
        assert done.line.startswith(f"Wrote {out}: ")
        assert " us measured, " in done.line
    assert {event["ph"] for event in json.loads((tmp_path / "a.json").read_text())["traceEvents"]} == set("MXsfC")
    assert (tmp_path / "a.pftrace").read_bytes() == (tmp_path / "a.perfetto-trace").read_bytes()


def test_times_of_a_benchmark_file_are_taken(run: Run, trace: tuple[Path, str], tmp_path: Path) -> None:
    path, name = trace
    (tmp_path / "bench.csv").write_text("name,us\nold,5\nnew,4\n")
    bench = ("--bench", "bench.csv", "--bench-old", "old", "--bench-new", "new")
    assert run("timeline", path, "--kernel", name, *bench, "-o", "file.json").code == 0
    run("timeline", path, "--kernel", name, "--new-us", "4", "--baseline-us", "5", "-o", "typed.json")
    file, typed = (json.loads((tmp_path / f"{each}.json").read_text()) for each in ("file", "typed"))
    assert file == typed


def test_quiet_says_nothing(run: Run, trace: tuple[Path, str]) -> None:
    path, name = trace
    done = run("timeline", path, "--kernel", name, "--saving-us", "1", "-o", "a.json", "-q")
    assert (done.code, done.out, done.err) == (0, b"", "")


def test_a_candidate_file_is_drawn_as_a_whole(run: Run, trace: tuple[Path, str], tmp_path: Path) -> None:
    path, name = trace
    row = f'[[candidate]]\nid = "one"\nmatch = {{ kernel = "{name}" }}\nsaving_us = 1.0\n'
    (tmp_path / "set.toml").write_text(f'schema = "trace-budget/candidates/1"\n{row}')
    assert run("timeline", path, "set.toml", "-o", "set.json").code == 0
    run("timeline", path, "--kernel", name, "--saving-us", "1", "-o", "one.json")
    set_, one = (json.loads((tmp_path / f"{n}.json").read_text())["traceEvents"] for n in ("set", "one"))
    assert [e for e in set_ if e["ph"] == "X"] == [e for e in one if e["ph"] == "X"]


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        ("--kernel k --saving-us 1 -o a.html", 2, "ends in none of"),
        ("-o a.json", 2, "nothing to project"),
        ("--kernel k -o a.json", 2, "nothing to project"),
        ("set.toml --kernel k --saving-us 1 -o a.json", 2, "one candidate or a file of them"),
        ("--kernel k --saving-us 1 -o missing/a.json", 5, "the folder does not exist"),
        ("--kernel no_such_kernel --saving-us 1 -o a.json", 4, "no kernel of the counted steps matches"),
    ],
)
def test_what_cannot_be_drawn_is_refused(
    run: Run, trace: tuple[Path, str], tmp_path: Path, options: str, code: int, words: str
) -> None:
    done = run("timeline", trace[0], *options.split())
    assert (done.code, words in done.err) == (code, True)
    assert not (tmp_path / "a.json").exists()


@pytest.mark.parametrize(
    ("option", "code", "words"),
    [
        (("--hit-rate", "0"), 2, "timeline draws one request that runs the new kernel"),
        (("--per-step-us", "3"), 2, "timeline draws one request that runs the new kernel"),
        (("--calls", "999"), 4, "another number of calls per step"),
    ],
)
def test_what_no_step_shows_is_refused(
    run: Run, trace: tuple[Path, str], tmp_path: Path, option: tuple[str, str], code: int, words: str
) -> None:
    done = run("timeline", trace[0], "--kernel", trace[1], "--free", *option, "-o", "a.json")
    assert (done.code, words in done.line) == (code, True)
    assert not (tmp_path / "a.json").exists()


def test_a_saving_larger_than_the_kernel_is_refused(run: Run, trace: tuple[Path, str]) -> None:
    path, name = trace
    done = run("timeline", path, "--kernel", name, "--saving-us", "9999", "-o", "a.json")
    assert done.code == 2
    assert "cannot be drawn" in done.line


def test_an_existing_file_is_left_alone(run: Run, trace: tuple[Path, str], tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("mine")
    done = run("timeline", trace[0], "--kernel", trace[1], "--saving-us", "1", "-o", "a.json")
    assert (done.code, (tmp_path / "a.json").read_text()) == (5, "mine")
    assert run("timeline", trace[0], "--kernel", trace[1], "--saving-us", "1", "-o", "a.json", "--force").code == 0
