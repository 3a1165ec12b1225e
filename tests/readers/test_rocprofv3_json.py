"""rocprofv3 JSON against the json module on a real file, and its own string tables, processes and cuts."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from sample_traces.make import rocprofv3_text

import same_run as run
from shared_traces import SHARED, needs_shared
from trace_budget.contracts import ReadOptions
from trace_budget.errors import InputError
from trace_budget.inputs.detect import detect
from trace_budget.io.json import parts as json_parts
from trace_budget.readers.rocprof.rocprofv3_json import READER
from trace_budget.schema.trace import Trace

SAMPLES = run.SAMPLES / "rocprofv3_json"
REAL = SHARED / "rocprofv3_json" / "mi350_train_results.json.gz"


def read(path: Path) -> Trace:
    assert detect(path).name == "rocprofv3_json"
    return READER.read(path, ReadOptions())


def codes(trace: Trace) -> dict[str, int]:
    return {caveat.code: caveat.count for caveat in trace.caveats}


def changed(tmp_path: Path, change: object) -> Path:
    """The described run with a change to its only process."""
    document = json.loads(rocprofv3_text.results_json(run.RUN))
    change(document["rocprofiler-sdk-tool"][0])  # type: ignore[operator]
    path = tmp_path / "changed_results.json"
    path.write_text(json.dumps(document, indent=2))
    return path


def test_everything_the_run_holds() -> None:
    trace = read(SAMPLES / "same_run.json")
    assert trace.device_name == "AMD Instinct MI300X"
    assert set(trace.gpu_ops["device"]) == {rocprofv3_text.GPU_AGENT}
    copies = trace.gpu_ops.filter(pl.col("kind") == "memcpy")
    assert set(copies.select("name", "bytes", "stream").rows()) == {("MEMORY_COPY_HOST_TO_DEVICE", 8_192, 7)}
    gemm = trace.gpu_ops.filter(pl.col("name").cast(pl.String) == "gemm_bf16_MT64x32x64")
    assert set(gemm.select("grid_x", "grid_y", "block_x", "queue").rows()) == {(72 * 256, 1, 256, 2)}
    assert trace.caveats == ()


def test_two_processes_keep_their_launches_apart() -> None:
    trace = read(SAMPLES / "two_processes.json")
    assert Counter(trace.gpu_ops["pid"]) == {4242: 66, 4343: 66}
    owned = trace.gpu_ops.join(trace.calls, on="launch_id", how="inner")
    assert owned.height == 132
    assert (owned["pid"] == owned["pid_right"]).all()
    assert codes(trace) == {"several_processes": 2}


def test_names_follow_the_symbols_from_best_to_worst(tmp_path: Path) -> None:
    def change(process: dict[str, Any]) -> None:
        by_id = {symbol["kernel_id"]: symbol for symbol in process["kernel_symbols"]}
        by_id[10]["formatted_kernel_name"] = ""
        by_id[11] |= {"formatted_kernel_name": "", "demangled_kernel_name": "", "truncated_kernel_name": ""}
        process["kernel_symbols"].remove(by_id[12])

    trace = read(changed(tmp_path, change))
    names = Counter(trace.gpu_ops.filter(pl.col("kind") == "kernel")["name"].cast(pl.String))
    assert names["rms_norm_kernel(void*)"] == 12
    assert names["gemm_bf16_MT64x32x64.kd"] == 12
    assert names["kernel 12"] == 12
    assert codes(trace)["nameless_kernels"] == 12


def test_kinds_and_operations_are_found_by_name_not_by_number(tmp_path: Path) -> None:
    def change(process: dict[str, Any]) -> None:
        process["strings"]["buffer_records"].insert(1, {"kind": "A_NEW_KIND", "operations": ["a"]})
        for part in ("hip_api", "marker_api", "memory_copy", "kernel_dispatch"):
            for record in process["buffer_records"][part]:
                record["kind"] += 1

    trace = read(changed(tmp_path, change))
    assert run.call_rows(trace) == run.expected_calls()
    assert run.marker_rows(trace) == run.expected_markers()
    assert set(trace.gpu_ops["name"].cast(pl.String)) >= {"MEMORY_COPY_HOST_TO_DEVICE"}


def test_before_rocm_7_there_are_no_streams(tmp_path: Path) -> None:
    def change(process: dict[str, Any]) -> None:
        for part in ("memory_copy", "kernel_dispatch"):
            for record in process["buffer_records"][part]:
                del record["stream_id"]

    assert read(changed(tmp_path, change)).gpu_ops["stream"].null_count() == 66


def test_parts_in_another_order_with_names_last(tmp_path: Path) -> None:
    def change(process: dict[str, Any]) -> None:
        for key in ("kernel_symbols", "strings", "agents"):
            process[key] = process.pop(key)

    trace = read(changed(tmp_path, change))
    assert run.kernel_rows(trace) == run.expected_kernels()
    assert run.marker_rows(trace) == run.expected_markers()


def test_handles_beyond_the_positive_range(tmp_path: Path) -> None:
    def change(process: dict[str, Any]) -> None:
        for record in process["buffer_records"]["kernel_dispatch"]:
            record["dispatch_info"]["queue_id"]["handle"] = 2**64 - 2

    queues = read(changed(tmp_path, change)).gpu_ops.filter(pl.col("kind") == "kernel")["queue"]
    assert set(queues) == {-2}


def test_a_counter_run_is_refused(tmp_path: Path) -> None:
    path = changed(tmp_path, lambda process: process["callback_records"].update(counter_collection=[{"x": 1}]))
    with pytest.raises(InputError, match="performance-counter run"):
        read(path)


def test_no_dispatches_is_refused(tmp_path: Path) -> None:
    path = changed(tmp_path, lambda process: process["buffer_records"].update(kernel_dispatch=[]))
    with pytest.raises(InputError, match="no kernel dispatches"):
        read(path)


def test_a_cut_document_keeps_every_whole_dispatch() -> None:
    path = run.SAMPLES / "broken" / "rocprofv3_truncated.json"
    text = path.read_text()
    whole = text[text.index('"kernel_dispatch":[') :].count('"stream_id":{"handle":7}}')
    trace = read(path)
    assert not trace.complete
    assert codes(trace)["partial_file"] == 1
    assert trace.gpu_ops.height == whole
    assert set(run.kernel_rows(trace)) < set(run.expected_kernels())


@pytest.mark.parametrize("share", [0.05, 0.2, 0.35, 0.5, 0.8, 0.95, 0.999])
def test_a_cut_anywhere_is_partial_or_refused(tmp_path: Path, share: float) -> None:
    text = (SAMPLES / "same_run.json").read_text()
    cut = text[: int(len(text) * share)]
    path = tmp_path / "cut.json"
    path.write_text(cut)
    whole = cut.partition('"kernel_dispatch":[')[2].partition('"hip_api"')[0].count('"stream_id":{"handle":7}}')
    if not whole:
        with pytest.raises(InputError, match="no kernel dispatches"):
            read(path)
        return
    trace = read(path)
    assert not trace.complete
    assert len(run.kernel_rows(trace)) == whole
    assert set(run.kernel_rows(trace)) <= set(run.expected_kernels())


def test_pieces_do_not_change_the_result(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = read(SAMPLES / "two_processes.json")
    monkeypatch.setattr(json_parts.PartStream.__init__, "__defaults__", (1_000,))
    pieces = read(SAMPLES / "two_processes.json")
    assert pieces.gpu_ops.equals(whole.gpu_ops)
    assert pieces.calls.equals(whole.calls)
    assert pieces.markers.equals(whole.markers)
    assert pieces.complete


@needs_shared
def test_a_real_run_dispatch_by_dispatch() -> None:
    trace = read(REAL)
    with gzip.open(REAL) as handle:
        process = json.load(handle)["rocprofiler-sdk-tool"][0]
    names = {symbol["kernel_id"]: symbol["formatted_kernel_name"] for symbol in process["kernel_symbols"]}
    devices = {agent["id"]["handle"]: agent["logical_node_id"] for agent in process["agents"]}
    expected = []
    for record in process["buffer_records"]["kernel_dispatch"]:
        info = record["dispatch_info"]
        place = (devices[info["agent_id"]["handle"]], info["queue_id"]["handle"], record["stream_id"]["handle"])
        times = (record["start_timestamp"], record["end_timestamp"])
        sizes = (*info["grid_size"].values(), *info["workgroup_size"].values())
        expected.append((*times, names[info["kernel_id"]], *place, record["correlation_id"]["internal"], *sizes))
    sizes = [f"{what}_{axis}" for what in ("grid", "block") for axis in "xyz"]
    columns = ["start_ns", "end_ns", "name", "device", "queue", "stream", "correlation", *sizes]
    assert sorted(trace.gpu_ops.select(columns).rows()) == sorted(expected)
    assert trace.gpu_ops.height == 43_915
    assert trace.gpu_ops["queue"].n_unique() == 5
    assert (trace.gpu_ops["end_ns"] - trace.gpu_ops["start_ns"]).sum() == 4_441_741_378
    assert trace.device_name == "AMD Instinct MI350X"
    assert list(codes(trace)) == ["no_calls"]


def test_records_of_another_shape_are_dropped_and_counted(tmp_path: Path) -> None:
    def change(process: dict[str, Any]) -> None:
        records = process["buffer_records"]["kernel_dispatch"]
        records[3]["start_timestamp"] = "soon"
        del records[7]["end_timestamp"]
        records[9]["dispatch_info"]["agent_id"] = None

    trace = read(changed(tmp_path, change))
    assert codes(trace) == {"damaged_lines_dropped": 3}
    assert len(run.kernel_rows(trace)) == 60
    assert trace.complete
