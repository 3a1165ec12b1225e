"""The help of each command: two screens, what is used most first, and all of it where it is asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from trace_budget import cli, questions
from trace_budget.cli._command import fields_of
from trace_budget.cli._signature import signature_of
from trace_budget.schema.option import Option

Run = Callable[..., Any]
TWO_SCREENS = 48


def flags_of(name: str) -> list[str]:
    """The long spelling of each option."""
    fields = fields_of(signature_of(cli.command(name)))
    return [each.info.flags[0].split("/")[0] for each in fields if isinstance(each.info, Option)]


@pytest.mark.parametrize("name", cli.NAMES)
def test_help_fits_two_screens_and_names_every_option(run: Run, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    result = run(name, "--help")
    lines = result.out.decode().splitlines()
    assert (result.code, result.err) == (0, "")
    assert len(lines) <= TWO_SCREENS
    assert max(map(len, lines)) <= 80
    words = result.out.decode().replace(",", " ").split()
    assert [flag for flag in flags_of(name) if flag not in words] == []
    examples = " ".join(" ".join(lines[lines.index("Examples:") + 1 :]).split())
    assert examples == " ".join(" ".join(questions.examples(name)).split())


def test_what_is_used_most_stands_first(run: Run) -> None:
    lines = run("project", "--help").out.decode().splitlines()
    explained = [line.split()[0].strip(",") for line in lines if line.startswith("  -")]
    assert explained[:2] == ["-k", "-s"]
    assert len(explained) == 8
    needed = run("report", "--help").out.decode().splitlines()
    assert next(line for line in needed if line.startswith("  -")).startswith("  -o, --output")


def test_all_of_it_is_explained_where_asked(run: Run) -> None:
    result = run("project", "--help-all")
    text = result.out.decode()
    assert result.code == 0
    assert all(flag in text for flag in flags_of("project"))
    assert "Only calls with this grid, as recorded." in text
    assert "Only calls with this grid" not in run("project", "--help").out.decode()
    assert run("kernels", "--", "--help-all").code != 0  # a file of that name, which is not there
