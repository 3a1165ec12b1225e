"""doctor: versions come from the installed packages themselves."""

import json
import platform
from collections.abc import Callable
from typing import Any

import polars as pl
import pytest
import typer

from trace_budget._version import VERSION
from trace_budget.projection.replay import native
from trace_budget.readers.kineto import scan


def test_versions_are_the_installed_ones(run: Callable[..., Any]) -> None:
    document = json.loads(run("doctor", "--format", "json").out)
    assert document["version"] == VERSION
    rows = document["rows"]
    found = {row["item"]: row["found"] for row in rows}
    assert found["python"] == platform.python_version()
    assert found["polars"] == pl.__version__
    assert found["typer"] == typer.__version__
    assert {"msgspec", "numpy", "pandas", "pyarrow", "rich", "isal", "zstandard", "trace_processor"} <= set(found)
    assert not {"pytest", "mypy", "ruff"} & set(found)
    assert not {"sphinx", "furo", "myst-parser"} & set(found)
    assert len(rows) == len(found)


def test_what_is_optional_says_which_extra_brings_it(run: Callable[..., Any]) -> None:
    notes = {row["item"]: row["note"] for row in json.loads(run("doctor", "--format", "json").out)["rows"]}
    assert notes["polars"] == "needed"
    assert notes["isal"] == "extra: fast"
    assert notes["zstandard"] == "extra: zstd"


@pytest.mark.parametrize("off", ["", "1"])
@pytest.mark.parametrize(
    ("item", "built", "other"),
    [("kineto engine", scan.built_library, "msgspec"), ("replay engine", native.built_library, "python")],
)
def test_the_parts_in_c(
    run: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
    item: str,
    built: Callable[[], object | None],
    other: str,
    off: str,
) -> None:
    monkeypatch.setenv("TRACE_BUDGET_NO_ACCELERATOR", off)
    rows = json.loads(run("doctor", "--format", "json").out)["rows"]
    (found,) = (row["found"] for row in rows if row["item"] == item)
    assert found == ("c" if built() and not off else other)


@pytest.mark.parametrize(("set_to", "shown"), [(None, "250 x its size, at most 68.7 GB"), ("1000000", "1.0 MB")])
def test_the_limit_on_compressed_input(
    run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, set_to: str | None, shown: str
) -> None:
    monkeypatch.delenv("TRACE_BUDGET_INFLATE_LIMIT", raising=False)
    if set_to:
        monkeypatch.setenv("TRACE_BUDGET_INFLATE_LIMIT", set_to)
    rows = json.loads(run("doctor", "--format", "json").out)["rows"]
    (row,) = [row for row in rows if row["item"] == "inflate limit"]
    assert (row["found"], row["note"]) == (shown, "of compressed files; TRACE_BUDGET_INFLATE_LIMIT sets bytes")
