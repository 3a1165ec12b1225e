"""hipprof timelines: JSON and HTML, exact ns as text, one index for a whole graph launch."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from sample_traces.make import hipprof_text

import same_run as run
from trace_budget.contracts import ReadOptions
from trace_budget.errors import InputError
from trace_budget.inputs.detect import detect
from trace_budget.schema.trace import Trace

SAMPLES = run.SAMPLES / "hipprof_json"


def read(path: Path) -> Trace:
    reader = detect(path)
    assert reader.name == "hipprof_json"
    return reader.read(path, ReadOptions())


def codes(trace: Trace) -> dict[str, int]:
    return {caveat.code: caveat.count for caveat in trace.caveats}


def events() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(hipprof_text.timeline_json(run.RUN))["traceEvents"]
    return found


def written(tmp_path: Path, found: list[dict[str, Any]], name: str = "a.json") -> Path:
    path = tmp_path / name
    path.write_text(json.dumps({"traceEvents": found}))
    return path


@pytest.mark.parametrize("name", ["same_run.json", "same_run.html"])
def test_everything_the_run_holds(name: str) -> None:
    trace = read(SAMPLES / name)
    assert set(trace.gpu_ops.select("device", "stream", "queue", "pid").rows()) == {(0, 2, 2, 4242)}
    copies = trace.gpu_ops.filter(pl.col("kind") == "memcpy")
    assert set(copies.select("name", "bytes").rows()) == {("CopyHostToDevice", 8_192)}
    assert run.launch_starts_of_copies(trace) == [c.start_ns for c in run.RUN.calls if c.kind == "memcpy"]
    assert set(trace.calls.select("pid", "tid").rows()) == {(4242, 4243)}
    assert (trace.vendor, trace.dispatch_gap_in_duration) == ("Hygon", True)
    assert trace.caveats == ()


def test_the_page_may_be_compressed_and_large(tmp_path: Path) -> None:
    page = (SAMPLES / "same_run.html").read_text().replace("<script>", "<script>\n" + "// viewer\n" * 300_000, 1)
    path = tmp_path / "big.html.gz"
    path.write_bytes(gzip.compress(page.encode()))
    assert run.kernel_rows(read(path)) == run.expected_kernels()


def test_a_page_without_a_trace_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "empty.html"
    path.write_text("<!DOCTYPE html><title>DTK://tracing</title><script>str = '';</script>")
    with pytest.raises(InputError, match="without a trace"):
        read(path)


def test_fills_and_unknown_copies(tmp_path: Path) -> None:
    found = events()
    copies = [event for event in found if event.get("cat") == "HIPCOPY"]
    copies[0]["tid"], copies[1]["tid"] = "SET", "P2P"
    rows = read(written(tmp_path, found)).gpu_ops.filter(pl.col("kind") != "kernel").select("kind", "name").rows()
    assert rows == [("memset", "Memset"), ("memcpy", "hipMemcpyAsync"), ("memcpy", "CopyHostToDevice")]


def test_spans_without_exact_times_are_placed_by_the_others(tmp_path: Path) -> None:
    found = events()
    for event in found:
        if event.get("cat") == "HIPTX":
            del event["args"]
    trace = read(written(tmp_path, found))
    assert run.marker_rows(trace) == run.expected_markers()


def test_two_processes_with_equal_indexes(tmp_path: Path) -> None:
    found, other = events(), events()
    for event in other:
        event["pid"] += 10
        if event["ph"] == "M":
            event["args"]["name"] = event["args"]["name"].replace("4242", "4343")
        elif "procId" in event.get("args", {}):
            event["args"]["procId"] = 4343
    trace = read(written(tmp_path, [*found, *other]))
    owned = trace.gpu_ops.join(trace.calls, on="launch_id", how="inner")
    assert owned.height == 132
    assert (owned["pid"] == owned["pid_right"]).all()
    assert codes(trace) == {"several_processes": 2}


def test_unescaped_quotes_in_call_arguments(tmp_path: Path) -> None:
    text = hipprof_text.timeline_json(run.RUN).replace('"args":"stream=0x7"', '"args":"f<"x">(int), stream=0x7"')
    path = tmp_path / "quotes.json"
    path.write_text(text)
    trace = read(path)
    assert run.call_rows(trace) == run.expected_calls()
    assert codes(trace) == {"damaged_lines_repaired": 9}


def test_bytes_that_are_not_utf8(tmp_path: Path) -> None:
    data = hipprof_text.timeline_json(run.RUN).encode().replace(b"rms_norm_kernel", b"rms_\xff_kernel")
    path = tmp_path / "bytes.json"
    path.write_bytes(data)
    names = [name for name, _, _ in run.kernel_rows(read(path))]
    assert names.count("rms_\ufffd_kernel") == 12


def test_a_segment_that_was_cut_is_partial(tmp_path: Path) -> None:
    text = hipprof_text.timeline_json(run.RUN)
    path = tmp_path / "cut.json"
    path.write_text(text[: text.index('"cat":"HIPTX"') - 400])
    trace = read(path)
    assert not trace.complete
    assert set(run.kernel_rows(trace)) < set(run.expected_kernels())
    assert len(run.kernel_rows(trace)) > 55


def test_host_events_alone_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="none of category HIPOPS"):
        read(written(tmp_path, [event for event in events() if event.get("cat") == "HIP"]))
