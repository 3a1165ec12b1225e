"""Chrome traces of XLA: the same run as the XSpace beside it, doubles with noise, TPU ops, the writer's limit."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from sample_traces.make import run_description as described

import same_run as run
from trace_budget import api
from trace_budget.errors import InputError
from trace_budget.readers.xla import xla_json
from trace_budget.schema.trace import Trace

SAMPLE = run.SAMPLES / "xla_json" / "same_run.trace.json"


def document() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(SAMPLE.read_text(encoding="utf-8"))
    return found


def opened(folder: Path, content: Any) -> Trace:
    path = folder / "t.trace.json.gz"
    path.write_bytes(gzip.compress(json.dumps(content).encode()))
    return api.open_trace(path)


def test_the_same_as_the_xspace_beside_it() -> None:
    trace, space = api.open_trace(SAMPLE), api.open_trace(run.SAMPLES / "xplane/same_run.xplane.pb")
    times = [pl.col(name) - described.T0_NS for name in ("start_ns", "end_ns")]
    same = [name for name in space.gpu_ops.columns if name not in ("start_ns", "end_ns")]
    assert trace.gpu_ops.select(same).rows() == space.gpu_ops.select(same).rows()
    assert trace.gpu_ops.select("start_ns", "end_ns").rows() == space.gpu_ops.select(times).rows()
    calls = ["kind", "name", "start_ns", "end_ns", "correlation", "tid"]
    assert trace.calls.select(calls).rows() == space.calls.with_columns(times).select(calls).rows()
    assert trace.markers.select("name", "device").rows() == space.markers.select("name", "device").rows()
    assert (trace.resolution_ns, trace.dispatch_gap_in_duration) == (1, False)


def test_digits_beyond_the_double_are_no_time(tmp_path: Path) -> None:
    """0.1 + 0.2 is 0.30000000000000004, and 4.999 may be printed 4.9989999999999997: both are meant to the ps."""
    content = document()
    span = next(e for e in content["traceEvents"] if e.get("name") == described.HEAD_KERNEL.name)
    span["ts"], span["dur"] = 1234.9989999999998, 4.9989999999999997
    rows = opened(tmp_path, content).gpu_ops.sort("start_ns").select("start_ns", "end_ns").rows()
    assert (1_234_999, 1_239_998) in rows


def test_what_jax_makes_of_it_for_perfetto(tmp_path: Path) -> None:
    """Loaded and written again by Python, without the metadata."""
    content = document()
    del content["metadata"]
    assert run.kernel_rows(opened(tmp_path, content)) == run.expected_kernels(-described.T0_NS)


def test_a_device_without_streams_shows_its_ops(tmp_path: Path) -> None:
    text = SAMPLE.read_text(encoding="utf-8").replace("/device:GPU:0", "/device:TPU:3").replace("Stream #7", "Modules")
    (tmp_path / "t.json").write_text(text, encoding="utf-8")
    trace = api.open_trace(tmp_path / "t.json")
    assert run.kernel_rows(trace) == run.expected_kernels(-described.T0_NS)
    assert trace.gpu_ops["device"].unique().to_list() == [3]


def test_the_long_name_is_the_kernel(tmp_path: Path) -> None:
    content = document()
    for event in content["traceEvents"]:
        if event.get("name") == "silu_and_mul_kernel":
            event["name"], event["args"]["long_name"] = "fusion.3", "%fusion.3 = bf16[8] fusion(bf16[8] %x)"
    names = opened(tmp_path, content).gpu_ops["name"].cast(pl.String)
    assert names.filter(names.str.starts_with("%fusion.3")).len() == described.LAYERS * described.STEPS


def test_absolute_times_are_as_coarse_as_their_doubles(tmp_path: Path) -> None:
    content = document()
    for event in content["traceEvents"]:
        if "ts" in event:
            event["ts"] += described.T0_NS / 1_000
    trace = opened(tmp_path, content)
    assert trace.resolution_ns == 250
    starts = trace.gpu_ops.filter(pl.col("kind") == "kernel")["start_ns"].to_list()
    assert all(abs(found - start) <= 250 for found, (_, start, _) in zip(starts, run.expected_kernels(), strict=True))


def test_a_file_of_as_many_events_as_the_writer_keeps_is_incomplete(monkeypatch: pytest.MonkeyPatch) -> None:
    spans = sum(event.get("ph") == "X" for event in document()["traceEvents"])
    monkeypatch.setattr(xla_json, "_MOST_EVENTS", (spans,))
    trace = api.open_trace(SAMPLE, cache=False)
    assert not trace.complete
    assert [caveat.code for caveat in trace.caveats if "writer keeps" in caveat.text] == ["partial_file"]


def test_a_host_alone_has_no_device_work(tmp_path: Path) -> None:
    text = SAMPLE.read_text(encoding="utf-8").replace("/device:GPU:0", "/host:metadata")
    (tmp_path / "t.json").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match="no device work"):
        api.open_trace(tmp_path / "t.json")
