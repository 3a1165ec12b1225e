"""The command `compare`: options, the gate, what it refuses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cli.fakes import FakeApi
from gpu_simulator import random_program, simulate, to_kineto
from gpu_simulator.edited import edited, heaviest

Run = Callable[..., Any]


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path, str]:
    program = random_program("linear_graph", 3)
    name, _ = heaviest(program)
    after = edited(program, lambda k: replace(k, work_ns=k.work_ns // 2) if k.name == name else k)
    paths = tmp_path / "before.json", tmp_path / "after.json.gz"
    for run, path in zip((simulate(program), simulate(after)), paths, strict=True):
        to_kineto(run, path)
    return *paths, name


def test_it_answers_on_files_and_keeps_the_gate(run: Run, pair: tuple[Path, Path, str]) -> None:
    before, after, name = pair
    done = run("compare", before, after, "--kernel", name, "--fail-below", "1")
    assert done.code == 0
    assert b"realised: kernel time fell by" in done.out
    missed = run("compare", before, after, "--kernel", name, "--fail-below", "50")
    assert missed.code == 10
    assert missed.out == done.out
    assert "at least 50 %" in missed.line


def test_the_other_way_round_is_a_regression(run: Run, pair: tuple[Path, Path, str]) -> None:
    before, after, _ = pair
    done = run("compare", after, before)
    assert b"regressed: kernel time rose by" in done.out


def test_what_is_asked_reaches_the_core(run: Run, api: FakeApi) -> None:
    options = "--kernel gdn --new-kernel hip --saving-us 3 --baseline-us 20 --noise-pct 0.5 --phase decode --basis step"
    assert run("compare", "a.json", "b.json", *options.split()).code == 0
    asked, scope, basis = (api.asked["compare"][name] for name in ("asked", "scope", "basis"))
    (candidate,) = asked.candidates
    assert (candidate.selection.kernel, asked.new_kernel, asked.noise_pct) == ("gdn", "hip", 0.5)
    assert (candidate.change.saving_us, candidate.change.baseline_us, asked.stated) == (3.0, 20.0, True)
    assert (scope.phase, basis) == ("decode", "step")


def test_nothing_asked_means_all_differences(run: Run, api: FakeApi) -> None:
    assert run("compare", "a.json", "b.json").code == 0
    asked, basis = api.asked["compare"]["asked"], api.asked["compare"]["basis"]
    assert (asked.candidates, asked.stated, basis) == ((), False, "auto")


def test_a_sequence_without_its_new_time_is_only_followed(run: Run, api: FakeApi) -> None:
    assert run("compare", "a.json", "b.json", "--replace", "norm, quant").code == 0
    asked = api.asked["compare"]["asked"]
    assert (asked.candidates[0].sequence.patterns, asked.stated) == (("norm", "quant"), False)


def test_a_candidate_file_gives_all_its_candidates(run: Run, api: FakeApi, tmp_path: Path) -> None:
    rows = "".join(f'[[candidate]]\nid = "{n}"\nmatch = {{ kernel = "{n}" }}\nsaving_us = 2.0\n' for n in "ab")
    (tmp_path / "set.toml").write_text(f'schema = "trace-budget/candidates/1"\n{rows}')
    assert run("compare", "a.json", "b.json", "--candidates", "set.toml").code == 0
    asked = api.asked["compare"]["asked"]
    assert ([c.id for c in asked.candidates], asked.stated) == (["a", "b"], True)
    refused = run("compare", "a.json", "b.json", "--candidates", "set.toml", "--kernel", "a")
    assert (refused.code, "not both" in refused.line) == (2, True)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("--saving-us 3", "a saving needs --kernel"),
        ("--position 3", "--position needs --kernel"),
        ("--kernel a --saving-us 3 --speedup 2", "exactly one saving"),
        ("--kernel a --overhead-us 3", "exactly one saving"),
        ("--basis window", "not one of"),
    ],
)
def test_what_makes_no_sense_is_refused_before_reading(run: Run, options: str, words: str) -> None:
    done = run("compare", "a.json", "b.json", *options.split())
    assert done.code == 2
    assert words in done.err


def test_a_kernel_that_is_not_there_ends_with_4(run: Run, pair: tuple[Path, Path, str]) -> None:
    before, after, _ = pair
    done = run("compare", before, after, "--kernel", "no_such_kernel")
    assert done.code == 4
    assert "no kernel of the counted steps matches" in done.line
