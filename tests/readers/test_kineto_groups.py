"""Process groups of collectives, read alike with and without the scanner."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from trace_budget import api


def event(name: str, at: float, **args: object) -> dict[str, object]:
    return {
        **{"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": at, "dur": 5},
        "args": {"device": 0, "stream": 7, "correlation": int(at), **args},
    }


@pytest.mark.parametrize("switched_off", [False, True])
def test_the_group_of_a_collective_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, switched_off: bool) -> None:
    if switched_off:
        monkeypatch.setenv("TRACE_BUDGET_NO_ACCELERATOR", "1")
    group = {"Process Group Name": "3", "Process Group Ranks": "[0, 2]", "Group size": 2}
    events = [
        event("gemm", 10),
        event("ncclDevKernel_AllReduce", 20, **group),
        event("ncclDevKernel_SendRecv", 30, **group, **{"Src Rank": 0, "Dst Rank": 2}),
        event("ncclDevKernel_Broadcast", 40, **{"Process Group Name": None, "Src Rank": 1}),
    ]
    path = tmp_path / "trace.json"
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    ops = api.open_trace(path).gpu_ops
    assert ops["group"].to_list() == [None, "3 [0, 2]", "3 [0, 2] 0>2", None]
    assert ops["group_size"].to_list() == [None, 2, 2, None]
