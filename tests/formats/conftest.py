"""Every sample is read once per test process: the commands are what is tested here, the readers are elsewhere."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from trace_budget import api
from trace_budget.schema.trace import Trace


@pytest.fixture(scope="session", autouse=True)
def _read_once() -> Iterator[None]:
    open_trace, all_ranks = cache(api.open_trace), api.open_traces

    def open_traces(path: Path, *options: object, **named: object) -> list[Trace]:
        if path.is_dir():
            return all_ranks(path, *options, **named)  # type: ignore[arg-type]
        return [open_trace(path, *options, **named)]

    patch = pytest.MonkeyPatch()
    patch.setattr(api, "open_trace", open_trace)
    patch.setattr(api, "open_traces", open_traces)
    yield
    patch.undo()
