"""The described run as torch_npu's profiler and msprof write kernels of an Ascend NPU."""

from __future__ import annotations

import json
from typing import Any

from sample_traces.make import run_description as described

HEADER = (
    "Step Id,Device_id,Model ID,Task ID,Stream ID,Name,Type,OP State,Accelerator Core,Start Time(us),Duration(us),"
    "Wait Time(us),Block Dim,Mix Block Dim,HF32 Eligible,Input Shapes"
)
SUMMARY = (
    "Device_id,Model ID,Task ID,Stream ID,Op Name,OP Type,OP State,Task Type,Task Start Time(us),Task Duration(us),"
    "Task Wait Time(us),Block Dim"
)
NO_MODEL = 4_294_967_295
MODEL, CAPTURED = 9, 77
HARDWARE, CANN = described.PID << 10 | 13 << 5 | described.DEVICE, described.PID << 10 | 10 << 5 | 31
_ACL = {"memcpy": "aclrtMemcpyAsync", "graph_launch": "aclmdlRIExecuteAsync", "sync": "aclrtSynchronizeStream"}


def kernel_details_csv(run: described.Run) -> str:
    """Times with a tab behind them, so that no spreadsheet rounds them; shapes in quotes that hold commas."""
    rows = [
        f"{op.step},{described.DEVICE},{NO_MODEL},{number},{described.STREAM},{op.name},{_type(op)},dynamic,{_core(op)},"
        f'{_us(op.start_ns)}\t,{_us(op.end_ns - op.start_ns)},0.0,24,0,NO,"""1,4096;4096"""'
        for number, op in enumerate(run.ops)
    ]
    return "\n".join([HEADER, *rows, ""])


def op_summary_csv(run: described.Run) -> str:
    """msprof's own table: no steps, other titles."""
    rows = [
        f"{described.DEVICE},{NO_MODEL},{number},{described.STREAM},{op.name},{_type(op)},dynamic,{_core(op)},"
        f"{_us(op.start_ns)}\t,{_us(op.end_ns - op.start_ns)},0.0,24"
        for number, op in enumerate(run.ops)
    ]
    return "\n".join([SUMMARY, *rows, ""])


def _type(op: described.Op) -> str:
    return "MEMCPY_ASYNC" if op.kernel is None else "MatMulV2" if "gemm" in op.name else "RmsNorm"


def _core(op: described.Op) -> str:
    return "N/A" if op.kernel is None else "AI_CORE" if "gemm" in op.name else "AI_VECTOR_CORE"


def _us(ns: int) -> str:
    return f"{ns // 1_000}.{ns % 1_000:03d}"


def trace_view_json(run: described.Run) -> str:
    """torch_npu: ranges of the framework first, as doubles; graph tasks keep the connection of their capture."""
    ranges = [_range(marker) for marker in run.markers]
    meta = [_named(described.PID, "Python", "CPU"), _named(CANN, "CANN", "CPU")]
    meta.append(_named(HARDWARE, "Ascend Hardware", f"NPU {described.DEVICE}"))
    events = [*ranges, *(event for pair in meta for event in pair), *map(_call, run.calls), *_tasks(run)]
    return json.dumps(events)


def _range(marker: described.Marker) -> dict[str, Any]:
    times = {"ts": marker.start_ns / 1_000, "dur": (marker.end_ns - marker.start_ns) / 1_000}
    place = {"ph": "X", "name": marker.name, "pid": described.PID, "tid": described.TID}
    return {**place, **times, "cat": "cpu_op", "args": {"Sequence number": -1, "Fwd thread id": 0}}


def _named(pid: int, name: str, label: str) -> list[dict[str, Any]]:
    texts = {"process_name": {"name": name}, "process_labels": {"labels": label}}
    return [{"name": what, "pid": pid, "tid": 0, "ph": "M", "args": args} for what, args in texts.items()]


def _span(name: str, pid: int, tid: int, start_ns: int, end_ns: int, args: dict[str, Any]) -> dict[str, Any]:
    times = {"ts": _us(start_ns), "dur": (end_ns - start_ns) / 1_000}
    return {"name": name, "pid": pid, "tid": tid, **times, "ph": "X", "args": args}


def _call(call: described.Call) -> dict[str, Any]:
    place = {"Thread Id": described.TID, "Mode": "", "level": "acl", "id": "0", "item_id": "0"}
    args = {**place, "connection_id": call.correlation}
    return _span(f"AscendCL@{_ACL[call.kind]}", CANN, described.TID, call.start_ns, call.end_ns, args)


def _task(name: str, task: str, start_ns: int, end_ns: int, model: int, connection: int) -> dict[str, Any]:
    args = {"Model Id": model, "Task Type": task, "Physic Stream Id": described.STREAM, "Task Id": 1, "Batch Id": 0}
    args |= {"Subtask Id": NO_MODEL, "connection_id": connection}
    return _span(name, HARDWARE, described.STREAM, start_ns, end_ns, args)


def _tasks(run: described.Run) -> list[dict[str, Any]]:
    """Copies and kernels; around those of a replay the task that starts it, and the wait for its end."""
    tasks: list[dict[str, Any]] = []
    for op in run.ops:
        if op.kernel:
            tasks.append(_task(op.name, _core(op), op.start_ns, op.end_ns, MODEL, CAPTURED))
            continue
        copy = _task("MEMCPY_ASYNC", "SDMA_SQE", op.start_ns, op.end_ns, NO_MODEL, op.correlation)
        copy["args"] |= {"size(B)": op.bytes, "bandwidth(GB/s)": 4.1, "operation": "host to device"}
        tasks.append(copy)
    for call in (call for call in run.calls if call.kind == "graph_launch"):
        ops = [op for op in run.ops if op.correlation == call.correlation]
        begin, end = ops[0].start_ns, max(op.end_ns for op in ops)
        steering = (call.correlation,)
        tasks.append(_task("MODEL_EXECUTE", "PLACE_HOLDER_SQE", begin - 500, begin - 480, NO_MODEL, *steering))
        tasks.append(_task("NOTIFY_WAIT", "NOTIFY_WAIT_SQE", begin - 400, end, NO_MODEL, *steering))
    return tasks
