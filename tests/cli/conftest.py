"""Fixtures of the command line tests: a fake api, and a runner that gives exit code, stdout and stderr."""

import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from cli.fakes import FakeApi
from trace_budget.__main__ import main


@dataclass(frozen=True)
class Result:
    code: int
    out: bytes
    err: str

    @property
    def line(self) -> str:
        """The one line on stderr; choices may follow it, indented."""
        line, *choices = self.err.splitlines()
        assert all(choice.startswith("  ") for choice in choices)
        return line


@pytest.fixture(autouse=True)
def _empty_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def api(monkeypatch: pytest.MonkeyPatch) -> FakeApi:
    fake = FakeApi()
    fake.put(monkeypatch)
    return fake


@pytest.fixture
def run(capfdbinary: pytest.CaptureFixture[bytes]) -> Iterator[Callable[..., Result]]:
    before = signal.getsignal(signal.SIGTERM)

    def call(*arguments: object) -> Result:
        code = main([str(argument) for argument in arguments])
        out, err = capfdbinary.readouterr()
        return Result(code, out, err.decode())

    yield call
    signal.signal(signal.SIGTERM, before)
