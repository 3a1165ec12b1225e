"""The described run as the PyTorch profiler writes it: CUDA graph replays with node ids, times relative to a base."""

from __future__ import annotations

from dataclasses import replace

from sample_traces.make import run_description as described
from sample_traces.make.devices import H100, cuda_copy, cuda_node
from sample_traces.make.kineto_text import Style, kineto_text, three_decimals
from sample_traces.make.run_description import Op, Run
from sample_traces.make.timeline import Call, GpuOp, Range, Timeline

BASE_NS = 1_712_188_800_000_000_000
GRAPH = 9
_DEVICE = replace(H100, metadata={**H100.metadata, "baseTimeNanoseconds": BASE_NS})


def trace_json(run: Run) -> str:
    """The whole file."""
    calls = tuple(
        Call(
            described.API_NAMES["cuda"][call.kind],
            call.start_ns - BASE_NS,
            call.end_ns - BASE_NS,
            call.correlation,
            enqueues=call.kind != "sync",
        )
        for call in run.calls
    )
    ranges = tuple(Range(marker.name, marker.start_ns - BASE_NS, marker.end_ns - BASE_NS) for marker in run.markers)
    timeline = Timeline(_DEVICE, described.LAYERS, described.TID, (), tuple(map(_op, run.ops)), calls, ranges)
    return kineto_text(timeline, Style(three_decimals))


def _op(op: Op) -> GpuOp:
    place = (op.start_ns - BASE_NS, op.end_ns - BASE_NS, op.correlation)
    if op.kernel is None:
        copy = cuda_copy(described.STREAM, op.correlation, op.bytes or 0, op.end_ns - op.start_ns)
        return GpuOp("Memcpy HtoD (Pageable -> Device)", "memcpy", op.step, None, described.STREAM, *place, copy)
    blocks, block = op.kernel.blocks, op.kernel.block
    args = cuda_node(described.STREAM, op.correlation, blocks[0], block[0], graph=GRAPH, node=op.node or 0)
    args |= {"grid": list(blocks), "block": list(block)}
    return GpuOp(op.name, "kernel", op.step, None, described.STREAM, *place, args)
