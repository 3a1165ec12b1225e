"""doctor: versions come from the installed packages themselves."""

import json
import platform
from collections.abc import Callable
from typing import Any

import polars as pl
import typer


def test_versions_are_the_installed_ones(run: Callable[..., Any]) -> None:
    rows = json.loads(run("doctor", "--format", "json").out)["rows"]
    found = {row["item"]: row["found"] for row in rows}
    assert found["python"] == platform.python_version()
    assert found["polars"] == pl.__version__
    assert found["typer"] == typer.__version__
    assert {"msgspec", "numpy", "pandas", "pyarrow", "rich", "isal", "zstandard", "trace_processor"} <= set(found)
    assert not {"pytest", "mypy", "ruff"} & set(found)
