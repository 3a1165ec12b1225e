"""RPD as JSON: whole microseconds, and calls found through flows, against the database of the same run."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from sample_traces.make import rpd_text

import same_run as run
from shared_traces import SHARED, needs_shared
from trace_budget.contracts import ReadOptions
from trace_budget.errors import InputError
from trace_budget.inputs.detect import detect
from trace_budget.schema.trace import Trace

REAL = SHARED / "rpd"


def read(path: Path, name: str = "rpd_json") -> Trace:
    reader = detect(path)
    assert reader.name == name
    return reader.read(path, ReadOptions())


def codes(trace: Trace) -> dict[str, int]:
    return {caveat.code: caveat.count for caveat in trace.caveats}


def test_everything_the_run_holds() -> None:
    trace = read(run.SAMPLES / "rpd_json" / "same_run.json")
    assert set(trace.gpu_ops.select("device", "queue", "pid").rows()) == {(2, 2, 4242)}
    assert codes(trace) == {"coarse_times": 66}
    assert trace.resolution_ns == 1_000
    starts = [c.start_ns // 1_000 * 1_000 for c in run.RUN.calls if c.kind == "memcpy"]
    assert run.launch_starts_of_copies(trace) == starts


def test_times_are_exact_beyond_the_grid_of_floats() -> None:
    first = read(run.SAMPLES / "rpd_json" / "same_run.json").gpu_ops["start_ns"][0]
    assert first == run.RUN.ops[0].start_ns // 1_000 * 1_000
    assert first > 1 << 53


def test_an_object_around_the_list(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('{"traceEvents": ' + rpd_text.timeline_json(run.RUN) + "}")
    assert read(path).gpu_ops.height == 66


def test_barriers_are_no_work_and_short_kernels_are_warned_of(tmp_path: Path) -> None:
    text = rpd_text.timeline_json(run.RUN)
    spans = ',{"pid":"2","tid":"0","name":"","ts":"5","dur":"1","ph":"X","args":{"desc":"Barrier"}}\n'
    spans += ',{"pid":"2","tid":"0","name":"tiny","ts":"7","dur":"0","ph":"X","args":{"desc":"KernelExecution"}}\n'
    path = tmp_path / "a.json"
    path.write_text(text.replace("]\n", spans + "]\n"))
    trace = read(path)
    assert trace.gpu_ops.height == 67
    caveat = next(c for c in trace.caveats if c.code == "coarse_times")
    assert (caveat.severity, "1 operations last none" in caveat.text) == ("warning", True)
    assert codes(trace)["orphan_ops"] == 1


def test_calls_that_touch_are_told_apart(tmp_path: Path) -> None:
    """Two launches in neighbouring microseconds: the flow leaves at the end of its call, or where the work starts."""
    calls = [(10, 2), (12, 3), (15, 1)]
    # work starts at once inside call 2; after call 1 and call 3
    flows = [(1, 12, 30), (2, 13, 13), (3, 16, 50)]
    text = '[ {}\n,{"name":"process_name","ph":"M","pid":"0","args":{"name":"GPU0"}}\n'
    host, device = '"pid":"5","tid":"6"', '"pid":"0","tid":"1"'
    for start, length in calls:
        text += f',{{{host},"name":"hipLaunchKernel","ts":"{start}","dur":"{length}","ph":"X"}}\n'
    for number, leaves, starts in flows:
        kernel = '"ph":"X","args":{"desc":"KernelExecution"}'
        text += f',{{{device},"name":"k{number}","ts":"{starts}","dur":"4",{kernel}}}\n'
        text += f',{{{host},"cat":"api_op","ts":"{leaves}","id":"{number}","ph":"s"}}\n'
        text += f',{{{device},"cat":"api_op","ts":"{starts}","id":"{number}","ph":"f"}}\n'
    path = tmp_path / "a.json"
    path.write_text(text + "]")
    trace = read(path)
    owners = trace.gpu_ops.select(pl.col("name").cast(pl.String), "launch_id").rows()
    assert sorted(owners) == [("k1", 0), ("k2", 1), ("k3", 2)]


def test_no_kernels_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('[ {}\n,{"name":"process_name","ph":"M","pid":"0","args":{"name":"GPU0"}}\n]')
    with pytest.raises(InputError, match="none of a kernel"):
        read(path)


@needs_shared
def test_a_real_file_against_the_json_module() -> None:
    events = json.loads((REAL / "matmul.json").read_text())
    work = [e for e in events if e.get("ph") == "X" and e["pid"] == "2"]
    expected = sorted((int(e["ts"]) * 1_000, (int(e["ts"]) + int(e["dur"])) * 1_000, e["name"]) for e in work)
    trace = read(REAL / "matmul.json")
    assert sorted(trace.gpu_ops.select("start_ns", "end_ns", "name").rows()) == expected
    kinds = dict(trace.gpu_ops.group_by("kind").len().rows())
    assert kinds == {"kernel": 29, "memcpy": 55, "memset": 1}


@needs_shared
def test_a_real_file_has_the_launches_its_database_has() -> None:
    def owners(trace: Trace) -> pl.DataFrame:
        calls = trace.calls.select("launch_id", call=pl.col("name").cast(pl.String), at=pl.col("start_ns") // 1_000)
        ops = trace.gpu_ops.with_columns(pl.col("name", "kind").cast(pl.String), pl.col("start_ns") // 1_000)
        joined = ops.join(calls, on="launch_id", how="left", maintain_order="left")
        return joined.select("kind", "name", "start_ns", "device", "queue", "pid", "call", "at")

    assert owners(read(REAL / "matmul.json")).equals(owners(read(REAL / "matmul.rpd", "rpd")))
