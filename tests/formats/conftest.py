"""Every sample is read once per test process: the commands are what is tested here, the readers are elsewhere.

What a test writes itself is read each time it is opened: it may write something else under the same name.
"""

from functools import cache
from pathlib import Path

import pytest

import same_run as run
from trace_budget import api
from trace_budget.schema.trace import Trace

_read, _all_ranks = api.open_trace, api.open_traces
_read_once = cache(_read)


def _open_trace(path: str | Path, *options: object, **named: object) -> Trace:
    opened = _read_once if Path(path).is_relative_to(run.SAMPLES) else _read
    return opened(path, *options, **named)  # type: ignore[arg-type]


def _open_traces(path: Path, *options: object, **named: object) -> list[Trace]:
    if path.is_dir():
        return _all_ranks(path, *options, **named)  # type: ignore[arg-type]
    return [_open_trace(path, *options, **named)]


@pytest.fixture(autouse=True)
def _samples_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api, "open_trace", _open_trace)
    monkeypatch.setattr(api, "open_traces", _open_traces)
