"""What nobody foresaw costs one file: a row with its cause, whichever step met it, and no second try unasked."""

from __future__ import annotations

from pathlib import Path

import pytest

from batches.datasets import QUESTION
from batches.variants import longer
from trace_budget.batches import identify, work
from trace_budget.batches.run import Workers, batch

HERE = Workers("here")


class Panic(BaseException):
    """As extension modules raise it: past Exception."""


@pytest.fixture
def folder(few: Path, tmp_path: Path) -> Path:
    folder = tmp_path / "in"
    folder.mkdir()
    for number in range(3):
        (folder / f"{number}.trace.json.gz").write_bytes(longer(few, 1.0 + number))
    return folder


def failing(monkeypatch: pytest.MonkeyPatch, module: object, name: str, error: BaseException) -> None:
    """Have a function fail for the file called 1.trace.json.gz."""
    whole = getattr(module, name)

    def sometimes(*arguments: object, **named: object) -> object:
        if any("1.trace" in str(argument) for argument in arguments):
            raise error
        return whole(*arguments, **named)

    monkeypatch.setattr(module, name, sometimes)


@pytest.mark.parametrize(
    ("error", "code", "reason"),
    [
        (UnicodeEncodeError("utf-8", "x\udcff", 1, 2, "surrogates not allowed"), "bug", "UnicodeEncodeError: 'utf-8'"),
        (Panic("index out of bounds"), "bug", "Panic: index out of bounds"),
        (MemoryError(), "worker_died", "does not fit into the memory of a worker"),
        (RuntimeError("can't start new thread"), "worker_died", "does not fit into the memory of a worker"),
    ],
)
@pytest.mark.parametrize(("module", "name"), [(identify, "probe_safely"), (work, "local_copy")])
def test_it_is_a_row_with_its_cause(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    module: object, name: str, error: BaseException, code: str, reason: str,
) -> None:  # fmt: skip
    with monkeypatch.context() as patched:
        failing(patched, module, name, error)
        done = batch(folder, tmp_path / "out", QUESTION, HERE)
        (row,) = done.table("failures").to_dicts()
        assert (row["path"], row["outcome"], row["code"]) == ("in/1.trace.json.gz", "failed", code)
        assert reason in row["reason"]
        assert done.table("runs").height == 2
        again = batch(folder, tmp_path / "out", QUESTION, HERE)
        settled = code == "bug" and module is work
        assert again.resumed == (3 if settled else 2)
    whole = batch(folder, tmp_path / "out", QUESTION, HERE, retry_failed=True)
    assert whole.table("runs").height == 3
    assert whole.table("failures").height == 0
