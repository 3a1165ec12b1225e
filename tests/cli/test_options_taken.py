"""Every option that a command shows is taken into account: what its structs hold is read by who answers."""

from __future__ import annotations

import ast
import inspect
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gpu_simulator import random_program, simulate, to_kineto
from gpu_simulator.edited import heaviest
from trace_budget import questions
from trace_budget.cli import _command
from trace_budget.cli._signature import Field, Group, signature_of
from trace_budget.schema.option import Given, Option

Run = Callable[..., Any]
ONE = ("--kernel", "KERNEL", "--saving-us", "1")
COSTS = ("--overhead-us", "0.1", "--per-step-us", "0.1", "--extra-bytes", "9", "--bandwidth-gbps", "900")
BENCH = ("--bench", "bench.csv", "--bench-old", "old", "--bench-new", "new")
HERE = ("--engine", "here")
MANY = ("--kernel", "glob:*", "--all-matches", "--free")
LARGE = ("--kernel", "KERNEL", "--saving-us", "9999", "--baseline-us", "9999", "--clip", "--calls", "1", "--force")
FUSED = ("--replace", "KERNEL", "--new-us", "1")
# Runs that together need every option of a command; a command without an entry is run on the trace alone.
RUNS: dict[str, list[tuple[str, ...]]] = {
    "project": [
        ("TRACE", *ONE, *COSTS),
        ("TRACE", "--kernel", "KERNEL", *BENCH),
        ("TRACE", *FUSED),
        ("TRACE", *MANY),
        ("TRACE", *LARGE),
    ],
    "report": [
        ("TRACE", "-o", "a.html", *ONE, *COSTS),
        ("TRACE", "-o", "b.html", "--kernel", "KERNEL", *BENCH),
        ("TRACE", "-o", "c.html", *MANY),
        ("TRACE", "-o", "d.html", *LARGE),
    ],
    "timeline": [
        ("TRACE", "-o", "a.json", *ONE),
        ("TRACE", "-o", "b.json", "--kernel", "KERNEL", *BENCH),
        ("TRACE", "-o", "c.json", *MANY),
        ("TRACE", "-o", "d.json", *LARGE),
    ],
    "rank": [("TRACE", "set.toml")],
    "compare": [("TRACE", "TRACE", *ONE, *COSTS), ("TRACE", "TRACE", *FUSED), ("TRACE", "TRACE", *MANY)],
    "check": [("TRACE",)],
    "estimate": [("--saving-us", "3", "--calls", "48", "--token-ms", "44")],
    "batch": [
        ("TRACE", "-o", "out", *HERE, *ONE, *COSTS),
        ("TRACE", "-o", "many", *HERE, *MANY),
        ("TRACE", "-o", "large", *HERE, *LARGE),
    ],
    "ingest": [("TRACE", "-o", "out")],
    **{name: [()] for name in ("formats", "schema", "explain", "doctor")},
}
# Frames that read every field whatever the question: they copy, compare and check.
BOOKKEEPING = {"stated", "savings", "__post_init__", "__hash__", "__eq__", "__repr__", "over", "is_stated", "_identity"}


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> set[tuple[str, str]]:
    """(struct, field) of every field that is read while a command runs."""
    found: set[tuple[str, str]] = set()

    def watched(struct: Any) -> Any:
        kind = type(struct)

        def read(self: Any, name: str) -> Any:
            frame = sys._getframe(1)
            if frame.f_globals.get("__name__") != "dataclasses" and frame.f_code.co_name not in BOOKKEEPING:
                found.add((kind.__name__, name))
            return object.__getattribute__(self, name)

        watching = type(kind.__name__, (kind,), {"__slots__": (), "__getattribute__": read})
        return watching(**{name: getattr(struct, name) for name in kind.__dataclass_fields__})

    plain, over = _command._struct, Given.over

    def struct(group: Group, values: dict[str, Any]) -> Any:
        made = plain(group, values)
        return made if isinstance(made, Given) else watched(made)

    monkeypatch.setattr(_command, "_struct", struct)
    monkeypatch.setattr(Given, "over", lambda self, usual: watched(over(self, usual)))
    return found


@pytest.fixture
def words(tmp_path: Path) -> dict[str, str]:
    """The files that the runs name, and the kernel that they replace."""
    program = random_program("linear_graph", 3)
    to_kineto(simulate(program), tmp_path / "trace.json.gz")
    name = heaviest(program)[0]
    row = f'[[candidate]]\nid = "one"\nmatch = {{ kernel = "{name}" }}\nsaving_us = 1.0\n'
    (tmp_path / "set.toml").write_text(f'schema = "trace-budget/candidates/1"\n{row}')
    (tmp_path / "bench.csv").write_text("name,us\nold,5\nnew,4\n")
    return {"TRACE": "trace.json.gz", "KERNEL": name}


@pytest.mark.parametrize("name", questions.NAMES)
def test_every_field_of_a_struct_that_is_shown_is_read(
    run: Run, seen: set[tuple[str, str]], words: dict[str, str], name: str
) -> None:
    for arguments in RUNS.get(name, [("TRACE",)]):
        result = run(name, *(words.get(word, word) for word in arguments))
        assert result.code == 0, result.err
    signature = signature_of(questions.command(name))
    groups = [each for each in signature.parameters.values() if isinstance(each, Group)]
    groups += [_command.READING] if _command._reads(signature) else []
    shown = {(group.kind.__name__, each.name) for group in groups for each in group.fields}
    assert sorted(shown - seen) == []


@pytest.mark.parametrize("name", questions.NAMES)
def test_every_option_of_its_own_stands_in_the_body(name: str) -> None:
    function = questions.command(name)
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(function))).body
    assert isinstance(tree, ast.FunctionDef)
    used = {node.id for part in tree.body for node in ast.walk(part) if isinstance(node, ast.Name)}
    own = {key for key, each in signature_of(function).parameters.items() if isinstance(each, Field | Group)}
    assert sorted(own - used) == []


def test_reserved_options_are_not_shown() -> None:
    every = [each for name in questions.NAMES for each in _command.fields_of(signature_of(questions.command(name)))]
    assert [each.name for each in every if isinstance(each.info, Option) and each.info.reserved] == []
