"""The configuration file: its defaults, what wins over it, and what is refused in it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cli.fakes import FakeApi
from trace_budget.cli._config import load
from trace_budget.errors import UsageError
from trace_budget.schema.options import Policy, TokenInput

Run = Callable[..., Any]
OWN = """target_pct = 2
noise_pct = 0.42
runs = 3
dilution = 0.6
token_ms = 44.0
tokens_per_step = 2.5
step_patterns = ["^iter_(\\\\d+)", "^pass"]
"""
VALUES = {
    **{"target_pct": 2.0, "noise_pct": 0.42, "runs": 3, "dilution": 0.6, "token_ms": 44.0, "tokens_per_step": 2.5},
    "step_patterns": (r"^iter_(\d+)", "^pass"),
}


def test_without_a_file_nothing_is_set(tmp_path: Path) -> None:
    assert load(tmp_path) == {}


def test_own_file_and_pyproject_table_say_the_same(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.trace-budget]\n" + OWN)
    assert load(tmp_path) == VALUES
    (tmp_path / "trace-budget.toml").write_text("target_pct = 5")
    assert load(tmp_path) == {"target_pct": 5.0}


def test_a_pyproject_without_our_table_is_nobodys_business(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.other]\nx = 1")
    assert load(tmp_path) == {}


def test_the_command_line_wins_value_by_value(run: Run, api: FakeApi, tmp_path: Path) -> None:
    (tmp_path / "trace-budget.toml").write_text(OWN)
    assert run("project", "t.json", "--kernel", "k", "--free", "--runs", "9", "--step-pattern", "^x").code == 0
    asked = api.asked["project"]
    assert asked["policy"] == Policy(2.0, 0.42, 9, 0.6)
    assert asked["token"] == TokenInput(2.5, 44.0, "auto")
    assert asked["scope"].step_pattern == r"(?:^iter_(\d+))|(?:^pass)|(?:^x)"
    assert run("estimate", "--saving-us", "3", "--calls", "48").code == 0
    assert list(api.asked["estimate"].values()) == [3.0, 48.0, None, None, 44.0, None, 2.0, 2.5]
    assert run("check", "t.json").code == 0
    assert api.asked["check"]["token_ms"] == 44.0


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("targte_pct = 1", "targte_pct: no such key (expected one of target_pct"),
        ("target_pct = 0", "target_pct: 0 is not above 0"),
        ("target_pct = nan", "target_pct: nan is not a finite number"),
        ('noise_pct = "1"', "noise_pct: '1' is not a number"),
        ("runs = true", "runs: True is not a number"),
        ("runs = 2.5", "runs: 2.5 is not a whole number"),
        ('step_patterns = "x"', "step_patterns: is not a list of regular expressions"),
        ('step_patterns = ["("]', "step_patterns: '(' is not a regular expression"),
        ("target_pct = ", "trace-budget.toml: cannot be read as TOML"),
    ],
)
def test_what_is_wrong_names_file_and_key(run: Run, api: FakeApi, tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "trace-budget.toml").write_text(text)
    result = run("project", "t.json", "--kernel", "k", "--free")
    assert result.code == 2
    assert result.line.startswith("trace-budget: trace-budget.toml: ")
    assert words in result.line
    assert api.asked == {}


def test_a_table_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool]\ntrace-budget = 3")
    with pytest.raises(UsageError, match="is not a table"):
        load(tmp_path)


def test_what_the_file_set_is_named_in_the_answer(run: Run, tmp_path: Path) -> None:
    seed = Path(__file__).parents[2] / "sample_traces" / "kineto" / "gdn_decode_gfx936.json.gz"
    asked = ("project", seed, "-k", "gdn_fused", "-s", "3.228")
    (tmp_path / "trace-budget.toml").write_text('target_pct = 0.2\nstep_patterns = ["^iter"]\n')
    text = " ".join(run(*asked).out.decode().split())
    assert "note configured (x2): trace-budget.toml sets target_pct = 0.2, step_patterns = [" in text
    caveats = json.loads(run(*asked, "--target-pct", "1", "--format", "json").out)["caveats"]
    assert [each["text"] for each in caveats if each["code"] == "configured"] == [
        "trace-budget.toml sets step_patterns = ['^iter']"
    ]
    assert "configured" not in run("formats").out.decode()
    (tmp_path / "trace-budget.toml").unlink()
    (tmp_path / "pyproject.toml").write_text("[tool.trace-budget]\nnoise_pct = 0.4\n")
    assert "pyproject.toml [tool.trace-budget] sets noise_pct = 0.4" in " ".join(run(*asked).out.decode().split())
    (tmp_path / "pyproject.toml").write_text("[project]\n")
    assert "configured" not in run(*asked).out.decode()
