"""Runs one code block as a reader would, and gives what it printed."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from docs.blocks import Block
from trace_budget.__main__ import main

EXIT_CODE = re.compile(r"#.*\bexit code (\d+)")
SHELL = re.compile(r"[|<>;&$`]|^\w+=")
TIME_LIMIT_S = 120
Printed = Callable[[], str]


class Runner:
    """Runs the blocks of one page, in order, in the current folder; names defined in Python last to its end."""

    def __init__(self, printed: Printed) -> None:
        self._printed = printed
        self._names: dict[str, Any] = {"__name__": "__main__"}

    def run(self, block: Block) -> str:
        """What the block printed on stdout; AssertionError with the place of the block when it fails."""
        self._printed()
        by_language = {"sh": self._shell, "python": self._python, "sql": self._sql}
        return by_language[block.language](block)

    def _shell(self, block: Block) -> str:
        lines = block.text.replace("\\\n", " ").splitlines()
        if any(SHELL.search(_code(line)) or not line.startswith("trace-budget ") for line in lines if line.strip()):
            return _in_bash(block)
        for line in filter(None, lines):
            given = shlex.split(line, comments=True)[1:]
            code = _exit_code(given)
            assert code == _told(line), f"{block.place}: `{line}` ended with {code}"
        return self._printed()

    def _python(self, block: Block) -> str:
        source = "\n" * (block.line - 1) + block.text
        exec(compile(source, str(block.page), "exec", dont_inherit=True), self._names)  # noqa: S102
        return self._printed()

    def _sql(self, block: Block) -> str:
        found = _perfetto_rows(block) if block.marks else _duckdb_rows(block)
        assert found is None or found > 0, f"{block.place}: the query finds nothing"
        return self._printed()


def _exit_code(arguments: list[str]) -> int:
    try:
        return main(arguments)
    except SystemExit as end:
        return int(end.code or 0)


def _code(line: str) -> str:
    return " ".join(word for word in shlex.split(line, comments=True) if not word.startswith(("-", "re:")))


def _told(line: str) -> int:
    """The exit code that the page says, else 0."""
    told = EXIT_CODE.search(line)
    return int(told[1]) if told else 0


def _in_bash(block: Block) -> str:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "PYTHONWARNINGS": "error"}
    command = ["bash", "-euo", "pipefail", "-c", block.text]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=TIME_LIMIT_S, env=environment)
    assert done.returncode == _told(block.text), f"{block.place}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


def _duckdb_rows(block: Block) -> int | None:
    import duckdb

    found = duckdb.connect().sql(block.text)
    return None if found is None else len(found.fetchall())


def _perfetto_rows(block: Block) -> int:
    import polars as pl

    from trace_budget.io.perfetto.trace_processor import session

    names = re.findall(r"\bAS (\w+)|^SELECT (\w+)", block.text)
    columns = {first or second: pl.String for first, second in sorted(names, key=lambda pair: pair[1] == "")}
    with session(Path(block.marks[0])) as opened:
        return opened.query(block.text.rstrip().rstrip(";"), columns).height


def written_as_file(block: Block) -> None:
    """Write the content of a `toml NAME` block where later blocks find it."""
    Path(block.marks[0]).write_text(block.text, encoding="utf-8")


def follows(expected: str, printed: str) -> bool:
    """Whether the lines stand in what was printed, in order; a line `...` stands for any lines."""
    given = [line.rstrip() for line in printed.splitlines()]
    at = 0
    for part in re.split(r"^\.\.\.\n", expected, flags=re.MULTILINE):
        wanted = [line.rstrip() for line in part.splitlines()]
        starts = [start for start in range(at, len(given) - len(wanted) + 1) if given[start:][: len(wanted)] == wanted]
        if not starts:
            return False
        at = starts[0] + len(wanted)
    return True
