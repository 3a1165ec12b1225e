"""The described run as torch_npu's profiler and msprof write kernels of an Ascend NPU."""

from __future__ import annotations

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
