"""trace_view.json of Ascend NPUs: replays, operators launched by a second thread, collectives, waits, old layouts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from sample_traces.make import run_description as described
from sample_traces.make.ascend_text import CANN, HARDWARE, NO_MODEL

import same_run as run
from trace_budget import api
from trace_budget.errors import InputError
from trace_budget.schema.trace import Trace

SAMPLE = run.SAMPLES / "ascend_json" / "same_run.json"
EPOCH_US = 1_723_545_784_000_000
HCCL = described.PID << 10 | 14 << 5
Event = dict[str, Any]


def events() -> list[Event]:
    found: list[Event] = json.loads(SAMPLE.read_text(encoding="utf-8"))
    return found


def opened(folder: Path, content: list[Event]) -> Trace:
    (folder / "trace_view.json").write_text(json.dumps(content), encoding="utf-8")
    return api.open_trace(folder / "trace_view.json")


def process(pid: int, name: str, label: str = "CPU") -> list[Event]:
    texts = {"process_name": {"name": name}, "process_labels": {"labels": label}}
    return [{"name": what, "pid": pid, "tid": 0, "ph": "M", "args": args} for what, args in texts.items()]


def span(name: str, place: tuple[int, int], start_us: float, us: float, **args: Any) -> Event:
    """Times as CANN writes them, behind the epoch."""
    times = {"ts": f"{EPOCH_US + int(start_us)}.{round(start_us % 1 * 1_000):03d}", "dur": us}
    return {"name": name, "pid": place[0], "tid": place[1], **times, "ph": "X", "args": args}


def task(name: str, start_us: float, us: float, kind: str = "AI_CORE", connection: int = -1, stream: int = 46) -> Event:
    told = {"Model Id": NO_MODEL, "Task Type": kind, "Physic Stream Id": stream, "connection_id": connection}
    return span(name, (HARDWARE, stream), start_us, us, **told)


def framework(name: str, start_us: float, us: float, tid: int = 1) -> Event:
    place = {"ph": "X", "name": name, "pid": described.PID, "tid": tid, "ts": EPOCH_US + start_us, "dur": us}
    return {**place, "cat": "cpu_op", "args": {"Sequence number": -1, "Fwd thread id": 0}}


def flow(number: int, start_us: float, task_us: float) -> list[Event]:
    ends = (("s", described.PID, 1, start_us), ("f", HARDWARE, 46, task_us))
    named = {"bp": "e", "name": "torch_to_npu", "id": number, "cat": "async_npu"}
    return [{"ph": ph, **named, "pid": pid, "tid": tid, "ts": EPOCH_US + us} for ph, pid, tid, us in ends]


def eager(steps: int = 4, layers: int = 3, behind_us: float = 700.0) -> list[Event]:
    """Steps of 1 ms: the first thread enqueues three kernels a layer, the second launches them half a step later."""
    found = [*process(CANN, "CANN"), *process(HARDWARE, "Ascend Hardware", "NPU 0")]
    number = 100
    for step in range(steps):
        base = 1_000.0 * step
        found.append(framework(f"ProfilerStep#{step}", base, 990))
        for at in range(3 * layers):
            number += 1
            host, device = base + 20 * at, base + behind_us + 30 * at
            found.append(framework("aten::mm", host, 10))
            found.append(span("Node@launch", (CANN, 2), host + 300, 5, level="node", connection_id=number))
            found.append(task(("matmul", "norm", "rope")[at % 3], device, 20 + at % 3, connection=number))
            found += flow(number, host, device)
    return found


def test_kernels_copies_calls_and_replays_to_the_nanosecond() -> None:
    trace = api.open_trace(SAMPLE)
    assert (trace.format, trace.vendor, trace.resolution_ns) == ("ascend_json", "Ascend", 1)
    assert not trace.dispatch_gap_in_duration
    assert run.kernel_rows(trace) == run.expected_kernels()
    assert run.launched_kernels(trace) == [21] * described.STEPS
    assert run.call_rows(trace) == run.expected_calls()
    places = trace.gpu_ops.select("device", "stream", "pid").unique().rows()
    assert places == [(described.DEVICE, described.STREAM, described.PID)]
    assert trace.gpu_ops.filter(pl.col("kind") == "memcpy")["bytes"].to_list() == [8_192] * described.STEPS


def test_what_the_capture_launched_is_not_taken_for_the_launch(tmp_path: Path) -> None:
    """Without the task that starts a replay nothing tells which replay a task is of."""
    trace = opened(tmp_path, [event for event in events() if event.get("name") != "MODEL_EXECUTE"])
    assert run.launched_kernels(trace) == [0, 0, 0]
    assert {caveat.code for caveat in trace.caveats} >= {"orphan_ops"}


def test_replays_that_may_overlap_share_nothing(tmp_path: Path) -> None:
    content = events()
    second = [event for event in content if event.get("name") == "MODEL_EXECUTE"][1]
    first = next(event for event in content if event.get("name") == "NOTIFY_WAIT")
    first["dur"] = (float(second["ts"]) - float(first["ts"])) + 100.0
    launched = run.launched_kernels(opened(tmp_path, content))
    assert launched[0] == launched[2] == 21
    assert 0 < launched[1] < 21


def test_steps_of_operators_that_a_second_thread_launches(tmp_path: Path) -> None:
    trace = opened(tmp_path, eager())
    ranges = trace.markers.filter(pl.col("kind") == "gpu_annotation").select(pl.col("name").cast(pl.String), "start_ns")
    assert [name for name, _ in ranges.rows()] == [f"ProfilerStep#{step}" for step in range(4)]
    analysed = api.analyse(trace)
    assert analysed.steps.frame["kernels"].to_list() == [9, 9, 9, 9]
    assert (analysed.steps.method, analysed.steps.confidence) == ("gpu_annotations", "medium")
    assert trace.gpu_ops["launch_id"].null_count() == 0
    assert trace.calls["kind"].cast(pl.String).unique().to_list() == ["launch"]


def test_flows_that_reach_too_few_kernels_make_no_ranges(tmp_path: Path) -> None:
    """A range around a part of the kernels would be a shorter step."""
    content = eager()
    gone = {event["id"] for event in content if event.get("cat") == "async_npu"}
    keep = set(sorted(gone)[: len(gone) // 2])
    cut = [event for event in content if event.get("cat") != "async_npu" or event["id"] in keep]
    cut = [event for event in cut if event.get("name") != "Node@launch" or event["args"]["connection_id"] in keep]
    trace = opened(tmp_path, cut)
    assert trace.markers.filter(pl.col("kind") == "gpu_annotation").height == 0


def test_waits_are_no_work_and_collectives_are_one(tmp_path: Path) -> None:
    content = [*eager(), *process(HCCL, "Communication", "NPU 0")]
    for step in range(4):
        base, name = 1_000.0 * step + 990, f"hcom_allReduce__661_{step}_1"
        content.append(span(name, (HCCL, 3), base, 8, connection_id=900 + step, alg_type="RING"))
        content.append(span("Notify_Wait", (HCCL, 4), base, 3, **{"notify_id": "1", "task type": "Notify_Wait"}))
        content += [task("NOTIFY_WAIT", base, 3, "NOTIFY_WAIT_SQE", 900 + step, 50)]
        content += [task("SDMA", base + 3, 5, "SDMA_SQE", 900 + step, 50)]
        content += [task("EVENT_RECORD", base, 0.1, "EVENT_RECORD_SQE"), task("X", base, 0.1, "PLACE_HOLDER_SQE")]
    rows = opened(tmp_path, content).gpu_ops
    names = rows["name"].cast(pl.String).value_counts().sort("name").rows()
    assert names == [("hcom_allReduce", 4), ("matmul", 12), ("norm", 12), ("rope", 12)]
    assert rows["kind"].cast(pl.String).unique().to_list() == ["kernel"]


def test_a_collective_that_runs_as_a_kernel_counts_once(tmp_path: Path) -> None:
    content = [*eager(), *process(HCCL, "HCCL", "NPU 0")]
    content.append(span("hcom_allReduce__661_0_1", (HCCL, 3), 990, 8, connection_id=900))
    content.append(task("hcom_allReduce_", 990, 8, "KERNEL_AIVEC", 900))
    content.append(task("MatmulAllReduce", 980, 18, "MIX_AIC", 900))
    names = opened(tmp_path, content).gpu_ops["name"].cast(pl.String).to_list()
    assert (names.count("hcom_allReduce"), names.count("hcom_allReduce_"), names.count("MatmulAllReduce")) == (1, 0, 1)


def test_the_device_is_that_of_the_label_else_of_the_process(tmp_path: Path) -> None:
    labelled = json.dumps(events()).replace("NPU 0", "NPU 5")
    packed = json.dumps(events()).replace("NPU 0", "NPU").replace(f'"pid": {HARDWARE}', f'"pid": {HARDWARE + 3}')
    for text, device in ((labelled, 5), (packed, 3)):
        trace = opened(tmp_path, json.loads(text))
        assert trace.gpu_ops["device"].unique().to_list() == [device]
        assert run.launched_kernels(trace) == [21] * described.STEPS


def test_tasks_without_names_of_their_own_are_nameless(tmp_path: Path) -> None:
    """Level none: the type of the task stands for its name."""
    content = eager()
    for event in content:
        if event["name"] in ("matmul", "norm", "rope"):
            event["name"] = event["args"]["Task Type"] = "KERNEL_AIVEC"
    trace = opened(tmp_path, content)
    assert trace.gpu_ops["name"].cast(pl.String).unique().to_list() == ["<unnamed>"]
    assert [caveat.count for caveat in trace.caveats if caveat.code == "nameless_kernels"] == [36]


def test_doubles_of_older_writers_are_as_coarse_as_they_are(tmp_path: Path) -> None:
    content = events()
    for event in content:
        if isinstance(event.get("ts"), str):
            event["ts"] = float(event["ts"])
    trace = opened(tmp_path, content)
    assert trace.resolution_ns == 250
    found = trace.gpu_ops.filter(pl.col("kind") == "kernel")["start_ns"].to_list()
    assert all(abs(at - start) <= 250 for at, (_, start, _) in zip(found, run.expected_kernels(), strict=True))


def test_msprof_alone_has_no_framework(tmp_path: Path) -> None:
    trace = opened(tmp_path, [event for event in events() if event.get("cat") != "cpu_op"])
    assert run.kernel_rows(trace) == run.expected_kernels()
    assert trace.markers.height == 0


def test_a_long_beginning_of_framework_operators_is_known(tmp_path: Path) -> None:
    filler = [framework(f"aten::op_{at}", at, 0.5) for at in range(3_000)]
    trace = opened(tmp_path, [*filler, *events()])
    assert (trace.format, trace.markers.height) == ("ascend_json", described.STEPS)


def test_waits_alone_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no kernels"):
        opened(tmp_path, [*process(HARDWARE, "Ascend Hardware"), task("NOTIFY_WAIT", 1, 5, "NOTIFY_WAIT_SQE")])
