"""Every sample is read once per test process: the commands are what is tested here, the readers are elsewhere."""

from functools import cache
from pathlib import Path

import pytest

from trace_budget import api
from trace_budget.schema.trace import Trace

_open_trace, _all_ranks = cache(api.open_trace), api.open_traces


def _open_traces(path: Path, *options: object, **named: object) -> list[Trace]:
    if path.is_dir():
        return _all_ranks(path, *options, **named)  # type: ignore[arg-type]
    return [_open_trace(path, *options, **named)]


@pytest.fixture(autouse=True)
def _read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api, "open_trace", _open_trace)
    monkeypatch.setattr(api, "open_traces", _open_traces)
