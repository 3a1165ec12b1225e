"""Hand-written Kineto events and the rows they must become."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from kineto_texts import LAYOUTS, ORDERS, Digits, annotation, call, codes, document, kernel, names, read_bytes
from trace_budget.schema.trace import Trace

EPOCH = 1_767_189_312_000_000_000


def copy(ts: object, dur: object, correlation: int = 9) -> dict[str, Any]:
    args = {"device": 0, "stream": 20, "correlation": correlation, "bytes": 4096, "memory bandwidth (GB/s)": 1.5}
    return {
        "ph": "X",
        "cat": "gpu_memcpy",
        "name": "Memcpy HtoD",
        "pid": 0,
        "tid": 20,
        "ts": ts,
        "dur": dur,
        "args": args,
    }


def plain(category: str | None, name: str, ts: object = 1, dur: object = 1, **more: object) -> dict[str, Any]:
    event = {"ph": "X", "cat": category, "name": name, "pid": 100, "tid": 100, "ts": ts, "dur": dur, **more}
    return event if category else {key: value for key, value in event.items() if key != "cat"}


def rows(trace: Trace, table: str, *columns: str) -> list[tuple[Any, ...]]:
    found: list[tuple[Any, ...]] = getattr(trace, table).select(columns).rows()
    return found


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_one_step_in_every_layout(tmp_path: Path, layout: str, order: str) -> None:
    events = [
        annotation("step[DECODE bs=1]", Digits("10.001"), Digits("50.5")),
        call("cudaLaunchKernel", Digits("11.250"), Digits("2.001"), correlation=4),
        call("cudaMemcpyAsync", 20, 1, correlation=9),
        kernel("gemm<4>", Digits("30.125"), Digits("5.5"), correlation=4, **{"graph node id": 12}),
        copy(Digits("25.1"), Digits("1.999")),
        plain("cpu_op", "aten::mm"),
        plain("python_function", "module.py(12): forward"),
        plain("python_function", "nn.Module: Layer_3", 12, 2),
        plain("ac2g", "ac2g", ph="f", id=4, bp="e"),
    ]
    meta = {"schemaVersion": 1, "baseTimeNanoseconds": EPOCH, "traceName": "x"}
    trace = read_bytes(tmp_path, document(events, meta, layout, order), 700)
    places = ("device", "stream", "launch_id", "correlation", "graph_node_id", "grid_x", "grid_y", "block_x", "bytes")
    assert rows(trace, "gpu_ops", "op_id", "kind", "name", "start_ns", "end_ns", *places) == [
        (0, "memcpy", "Memcpy HtoD", EPOCH + 25_100, EPOCH + 27_099, 0, 20, 1, 9, None, None, None, None, 4096),
        (1, "kernel", "gemm<4>", EPOCH + 30_125, EPOCH + 35_625, 0, 7, 0, 4, 12, 4, 2, 128, None),
    ]
    assert rows(trace, "calls", "launch_id", "kind", "name", "pid", "tid", "start_ns", "end_ns", "correlation") == [
        (0, "launch", "cudaLaunchKernel", 100, 100, EPOCH + 11_250, EPOCH + 13_251, 4),
        (1, "memcpy", "cudaMemcpyAsync", 100, 100, EPOCH + 20_000, EPOCH + 21_000, 9),
    ]
    assert rows(trace, "markers", "kind", "name", "tid", "start_ns", "end_ns") == [
        ("annotation", "step[DECODE bs=1]", 100, EPOCH + 10_001, EPOCH + 60_501),
        ("module", "nn.Module: Layer_3", 100, EPOCH + 12_000, EPOCH + 14_000),
    ]
    facts = (trace.events, trace.complete, trace.resolution_ns, trace.format, trace.source_bytes)
    assert facts == (9, True, 1, "kineto", Path(trace.path).stat().st_size)
    assert trace.caveats == ()


@pytest.mark.parametrize(
    ("start", "length", "resolution"),
    [("1695835572943623", "9", 1_000), ("1712195495604628.867", "4.5", 1), ("1712195495604628.86", "4.0", 1)],
)
def test_epochs_are_exact_from_the_text(tmp_path: Path, start: str, length: str, resolution: int) -> None:
    trace = read_bytes(tmp_path, document([kernel("k", Digits(start), Digits(length)), call("cudaLaunchKernel", 1, 1)]))
    start_ns = int(start.replace(".", "").ljust(19, "0"))
    length_ns = int(length.split(".", maxsplit=1)[0]) * 1_000 + (500 if length.endswith(".5") else 0)
    assert rows(trace, "gpu_ops", "start_ns", "end_ns") == [(start_ns, start_ns + length_ns)]
    assert trace.resolution_ns == resolution
    assert ("integer_us_resolution" in codes(trace)) == (resolution == 1_000)


def test_numbers_may_be_texts(tmp_path: Path) -> None:
    event = json.loads(json.dumps(kernel("k", "1712195495604628.867", "4.5", stream="7")))
    event["args"] |= {"correlation": "77", "device": "2"}
    trace = read_bytes(tmp_path, document([event, call("cudaLaunchKernel", "5", "1", correlation=77, tid="123")]))
    assert rows(trace, "gpu_ops", "start_ns", "stream", "device", "correlation", "launch_id") == [
        (1712195495604628867, 7, 2, 77, 0)
    ]
    assert trace.calls["tid"].to_list() == [123]


def test_torch_1_8_categories(tmp_path: Path) -> None:
    old = {"ph": "X", "pid": 0, "tid": "stream 7", "ts": 10, "dur": 2, "args": {"device": 0, "correlation": 3}}
    events = [
        {**old, "cat": "Kernel", "name": "k"},
        {**old, "cat": "Memcpy", "name": "Memcpy DtoH", "ts": 20},
        {**old, "cat": "Memset", "name": "Memset", "ts": 30},
        plain("Runtime", "cudaLaunchKernel", 1, 1, args={"correlation": 3}),
        plain("Operator", "aten::add"),
        plain("Operator", "ProfilerStep#2", 0, 100),
    ]
    trace = read_bytes(tmp_path, document(events))
    assert rows(trace, "gpu_ops", "kind", "stream", "launch_id") == [
        ("kernel", 7, 0),
        ("memcpy", 7, 0),
        ("memset", 7, 0),
    ]
    assert rows(trace, "markers", "kind", "name") == [("annotation", "ProfilerStep#2")]


def test_events_without_category(tmp_path: Path) -> None:
    args = {"stream": 7, "device": 0, "correlation": 3}
    events = [
        plain(None, "void gemm<float>()", 10, 2, args=args),
        plain(None, "Memcpy HtoD (Pageable -> Device)", 20, 2, args=args),
        plain(None, "Memset (Device)", 30, 2, args=args),
        plain(None, "Stream Sync", 40, 2, args=args),
        plain(None, "aten::add", 1, 2, pid="CUDA functions", tid=0),
        plain(None, "hipLaunchKernel", 5, 1, args={"correlation": 3}),
        plain(None, "ProfilerStep#4", 0, 90),
        plain(None, "aten::mul"),
        plain(None, "process_name", ph="M", args={"name": "python", "stream": 1, "device": 0}),
        plain(None, "odd", args="text"),
    ]
    trace = read_bytes(tmp_path, b"[" + document(events).split(b"[", 1)[1].rsplit(b"]", 1)[0] + b"]")
    assert rows(trace, "gpu_ops", "kind", "name") == [
        ("kernel", "aten::add"),
        ("kernel", "void gemm<float>()"),
        ("memcpy", "Memcpy HtoD (Pageable -> Device)"),
        ("memset", "Memset (Device)"),
    ]
    assert trace.calls["name"].cast(str).to_list() == ["hipLaunchKernel"]
    assert trace.markers["name"].cast(str).to_list() == ["ProfilerStep#4"]
    assert trace.syncs["kind"].cast(str).to_list() == ["stream_sync"]


def test_graph_replay_kernels_without_shape(tmp_path: Path) -> None:
    replay = [
        plain(
            "kernel",
            f"k{at}",
            100 + at,
            1,
            pid=2,
            tid=0,
            args={"device": 2, "stream": 0, "correlation": 6, "kind": "Dispatch Task"},
        )
        for at in range(3)
    ]
    orphan = kernel("early", 1, 1, correlation=1)
    trace = read_bytes(tmp_path, document([call("hipGraphLaunch", 50, 5, correlation=6), *replay, orphan]))
    assert rows(trace, "gpu_ops", "name", "stream", "launch_id", "grid_x") == [
        ("early", 7, None, 4),
        ("k0", 0, 0, None),
        ("k1", 0, 0, None),
        ("k2", 0, 0, None),
    ]
    assert trace.calls["kind"].cast(str).to_list() == ["graph_launch"]
    assert (trace.vendor, trace.dispatch_gap_in_duration) == ("amd", True)
    assert codes(trace)["orphan_ops"] == 1


def test_synchronisation_rows_are_no_work(tmp_path: Path) -> None:
    wait = {"stream": 20, "device": 0, "correlation": 9, "wait_on_stream": 7, "wait_on_cuda_event_record_corr_id": 5}
    none = {"stream": -1, "device": 0, "correlation": 8, "wait_on_stream": -1, "wait_on_cuda_event_record_corr_id": -1}
    events = [
        plain("cuda_sync", "Stream Wait Event", 1, 0, args=wait),
        plain("cuda_sync", "Event Sync", 2, 3, args=none),
        plain("cuda_sync", "Context Sync", 3, 3, args=none),
        plain("cuda_sync", "cudaEventRecord", 4, 0, args=none),
        plain("kernel", "Stream Sync", 5, 9, pid=0, tid=7, args={"stream": 7, "device": 0, "correlation": 4}),
        kernel("k", 6, 1),
    ]
    trace = read_bytes(tmp_path, document(events))
    assert names(trace) == ["k"]
    assert rows(trace, "syncs", "kind", "start_ns", "end_ns", "stream", "wait_stream", "wait_correlation") == [
        ("stream_wait", 1_000, 1_000, 20, 7, 5),
        ("event_sync", 2_000, 5_000, None, None, None),
        ("context_sync", 3_000, 6_000, None, None, None),
        ("event_record", 4_000, 4_000, None, None, None),
        ("stream_sync", 5_000, 14_000, 7, None, None),
    ]


def test_device_annotations_name_a_device_and_no_thread(tmp_path: Path) -> None:
    events = [annotation("a", 1, 2), plain("gpu_user_annotation", "a", 3, 4, pid=2, tid=7), kernel("k", 1, 1)]
    trace = read_bytes(tmp_path, document(events))
    assert rows(trace, "markers", "kind", "pid", "tid", "device") == [
        ("annotation", 100, 100, None),
        ("gpu_annotation", None, None, 2),
    ]


def test_other_vendors_call_names(tmp_path: Path) -> None:
    for name, category, vendor in (
        ("mcLaunchKernel", "privateuse1_runtime", "metax"),
        ("musaLaunchKernel", "musa_driver", "mthreads"),
        ("cuLaunchKernelEx", "cuda_driver", "nvidia"),
    ):
        launch = plain(category, name, 1, 1, args={"correlation": 1})
        trace = read_bytes(tmp_path, document([launch, kernel("k", 5, 1)]))
        assert (trace.vendor, trace.gpu_ops["launch_id"].to_list()) == (vendor, [0])


def test_zero_timestamps_and_odd_durations(tmp_path: Path) -> None:
    events = [
        kernel("zero", 0, 0),
        kernel("zero", 0, 0),
        kernel("negative", 20, -3),
        {key: value for key, value in kernel("missing", 30, 1).items() if key != "dur"},
        kernel("instant", 40, 0),
        kernel("no_start", None, 5),
        kernel("good", 50, 5),
    ]
    trace = read_bytes(tmp_path, document(events, {"schemaVersion": 1, "baseTimeNanoseconds": 7}))
    assert rows(trace, "gpu_ops", "name", "start_ns", "end_ns") == [
        ("negative", 20_007, None),
        ("missing", 30_007, None),
        ("instant", 40_007, 40_007),
        ("good", 50_007, 55_007),
        ("zero", None, None),
        ("zero", None, None),
        ("no_start", None, None),
    ]
    found = codes(trace)
    assert (found["zero_timestamps"], found["bad_duration"], found["bad_start"]) == (2, 2, 1)
    assert trace.complete


def test_calls_and_annotations_without_times(tmp_path: Path) -> None:
    events = [
        call("cudaLaunchKernel", None, 1, correlation=1),
        call("cudaLaunchKernel", 5, None, correlation=2),
        annotation("open", 1, None),
        annotation("whole", 1, 9),
        kernel("a", 10, 1, correlation=1),
        kernel("b", 12, 1, correlation=2),
    ]
    trace = read_bytes(tmp_path, document(events))
    assert rows(trace, "calls", "start_ns", "end_ns") == [(5_000, 5_000)]
    assert trace.gpu_ops["launch_id"].to_list() == [None, 0]
    assert trace.markers["name"].cast(str).to_list() == ["whole"]
    found = codes(trace)
    assert (found["calls_without_time"], found["annotations_without_time"], found["orphan_ops"]) == (1, 1, 1)


def test_big_ids_stay_exact_and_too_big_ones_are_unknown(tmp_path: Path) -> None:
    big, too_big = 2**53 + 1, 2**64 - 1
    events = [
        kernel("big", 1, 1, correlation=big, stream=big),
        kernel("too_big", 2, 1, correlation=too_big, stream=10**30),
        call("cudaLaunchKernel", 1, 1, correlation=big, tid=2**63 - 1),
        call("cudaLaunchKernel", 2, 1, correlation=5, tid=2**63),
    ]
    trace = read_bytes(tmp_path, document(events))
    assert rows(trace, "gpu_ops", "stream", "correlation", "launch_id") == [(big, big, 0), (None, None, None)]
    assert trace.calls["tid"].to_list() == [2**63 - 1, None]
    assert codes(trace)["numbers_out_of_range"] >= 3


@pytest.mark.parametrize(
    "args", [[], "text", 5, {"stream": [1], "device": {}, "correlation": 1.5, "grid": "x", "block": [1, 2]}, None]
)
def test_arguments_of_any_kind(tmp_path: Path, args: object) -> None:
    trace = read_bytes(tmp_path, document([{**kernel("odd", 1, 1), "args": args}, kernel("good", 5, 1)]))
    columns = ("name", "device", "stream", "correlation", "grid_x", "block_x")
    assert rows(trace, "gpu_ops", *columns) == [("odd", 0, 7, None, None, None), ("good", 0, 7, 1, 4, 128)]
    assert ("unreadable_arguments" in codes(trace)) == (args is not None and not isinstance(args, dict))


def test_the_last_of_duplicate_keys_counts(tmp_path: Path) -> None:
    data = document([kernel("k", 5, 1)]).replace(b'"name": "k"', b'"name": "first", "name": "k"')
    assert names(read_bytes(tmp_path, data)) == ["k"]


def test_elements_that_are_no_events_are_stepped_over(tmp_path: Path) -> None:
    odd = ["{}", "null", "5", '"text"', "[1, {}]", "true", "1.5", '{"ph": 5, "name": [], "ts": {}, "cat": {"a": 1}}']
    trace = read_bytes(tmp_path, document([*odd, kernel("k", 5, 1), *odd]))
    assert (names(trace), trace.events, trace.complete) == (["k"], 17, True)
    assert [one.count for one in trace.caveats if one.code == "not_events"] == [12]


def test_no_kernel_at_all(tmp_path: Path) -> None:
    trace = read_bytes(tmp_path, document([plain("cpu_op", "aten::mm")] * 3000))
    (caveat,) = trace.caveats
    assert (caveat.code, caveat.severity, trace.gpu_ops.height) == ("no_gpu_ops", "error", 0)


def test_a_capture_sidecar_is_told(tmp_path: Path) -> None:
    crowd = [plain("cpu_op", "aten::mm")] * 1_000
    few = [kernel("fill", 5, 1), call("cudaLaunchKernel", 1, 1)]
    for mark in (annotation("capture_32_FULL", 1, 9), call("hipStreamBeginCapture", 1, 1, correlation=5)):
        assert "capture_sidecar" in codes(read_bytes(tmp_path, document([mark, *few, *crowd])))
    assert "capture_sidecar" not in codes(read_bytes(tmp_path, document([*few, *crowd])))
    assert "capture_sidecar" not in codes(
        read_bytes(tmp_path, document([annotation("capture_1", 1, 1), *few, *crowd[:900]]))
    )
