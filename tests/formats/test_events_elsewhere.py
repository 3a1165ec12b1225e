"""Kineto JSON with events in more than one list, or processes with odd numbers: nothing goes without a word."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from formats.answers import SAMPLES
from trace_budget import api
from trace_budget.schema.trace import Trace

SAMPLE = SAMPLES / "kineto/same_run.json"


def kernels(trace: Trace) -> int:
    return int((trace.gpu_ops["kind"] == "kernel").sum())


@pytest.mark.parametrize("key", ["traceEvents", "moreEvents"])
@pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
def test_a_second_list_of_events_is_told(tmp_path: Path, key: str, share: float) -> None:
    document = json.loads(SAMPLE.read_text(encoding="utf-8"))
    events = document.pop("traceEvents")
    middle = int(len(events) * share)
    first, second = (json.dumps(part) for part in (events[:middle], events[middle:]))
    around = json.dumps(document)[:-1]
    path = tmp_path / "two.json"
    path.write_text(f'{around}, "traceEvents": {first}, "{key}": {second}}}', encoding="utf-8")
    trace = api.open_trace(path)
    assert kernels(trace) == sum(event.get("cat") == "kernel" for event in events[:middle])
    assert not trace.complete
    assert "several_documents" in {caveat.code for caveat in trace.caveats}


@pytest.mark.parametrize("pid", [0.5, 1e30, 1e19, "rank1 0"])
def test_one_odd_process_costs_no_other_its_kernels(tmp_path: Path, pid: Any) -> None:
    document = json.loads(SAMPLE.read_text(encoding="utf-8"))
    found = [event for event in document["traceEvents"] if event.get("cat") == "kernel"]
    found[5]["pid"] = pid
    path = tmp_path / "odd.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    trace = api.open_trace(path)
    assert kernels(trace) == len(found) - 1
    assert {caveat.code: caveat.count for caveat in trace.caveats}["merged_ranks"] == 2
